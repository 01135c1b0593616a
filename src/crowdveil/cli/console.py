"""How every verb speaks: results on stdout, the rest on stderr; an error is one line and exit code 2."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text
from typer.core import TyperGroup

from crowdveil.errors import CrowdveilError

BAD_INPUT = 2
NOT_PRIVATE = 1

# The base of every complaint about options; newer releases of typer no longer say where it is defined.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]

ReportProgress = Callable[[int, int], None]


class Verbs(TyperGroup):
    """A group of verbs whose errors are one line each."""

    def invoke(self, ctx: Any) -> Any:
        """Run the verb; turn what the user can mend into one line on stderr and exit code 2."""
        try:
            return super().invoke(ctx)
        except CrowdveilError as error:
            fail(str(error))
        except UsageError as error:
            if type(error).__name__ == "NoArgsIsHelpError":
                raise
            fail(error.format_message() if hasattr(error, "format_message") else str(error))
        except BrokenPipeError:
            # Whoever reads our output has seen enough (`crowdveil ... | head`).
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(1) from None
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            fail(f"{where}{error.strerror or error}")
        except MemoryError:
            fail("not enough memory for an area of this size; use larger cells")


def fail(message: str) -> NoReturn:
    """Say on one line what was wrong, and end with exit code 2."""
    typer.echo(f"crowdveil: {' '.join(message.split())}", err=True)
    raise typer.Exit(BAD_INPUT)


def warn(message: str) -> None:
    """Say something loud on stderr and go on."""
    Console(stderr=True, soft_wrap=True, highlight=False).print(f"WARNING: {message}", style="bold red", markup=False)


def note(message: str) -> None:
    """Say something on stderr that is not part of the result."""
    typer.echo(message, err=True)


def show(title: str, facts: Mapping[str, str]) -> None:
    """Print facts: a small table for people at a terminal, `name: value` lines for programs."""
    if not sys.stdout.isatty():
        for name, value in facts.items():
            typer.echo(f"{name}: {value}")
        return
    table = Table(title=title, show_header=False, title_justify="left")
    for name, value in facts.items():
        table.add_row(name, Text(value))
    Console().print(table)


def show_rows(title: str, header: list[str], rows: list[list[str]]) -> None:
    """Print a table with a header: boxed for people, aligned columns for programs."""
    if sys.stdout.isatty():
        table = Table(*header, title=title, title_justify="left")
        for row in rows:
            table.add_row(*(Text(entry) for entry in row))
        Console().print(table)
        return
    widths = [max(len(line[i]) for line in [header, *rows]) for i in range(len(header))]
    for line in [header, *rows]:
        typer.echo("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())


def show_json(document: Mapping[str, Any]) -> None:
    """Print one JSON object; a number that JSON has no word for (infinity) becomes null."""
    typer.echo(json.dumps(_finite(document), allow_nan=False))


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(entry) for key, entry in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


@contextmanager
def progress_bar(what: str) -> Iterator[ReportProgress]:
    """Show a bar on stderr while something long runs; it vanishes when done, and never appears in a pipe."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(what, total=None)

        def report(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)

        yield report


def in_plain_words(epsilon_per_km: float) -> str:
    """What ε per km means for two places 1 km apart."""
    if epsilon_per_km > 100:
        return f"no practical protection at 1 km (a factor of e^{epsilon_per_km:.0f})"
    factor = _short(math.exp(epsilon_per_km))
    return f"a reply is at most {factor} times as likely from one place as from one 1 km away"


def _short(number: float) -> str:
    return f"{number:,.0f}" if number >= 1000 else f"{number:.4g}"


def in_bytes(size: int) -> str:
    """A size for people."""
    return f"{size:,} bytes" if size < 10_000 else f"{size / 1000:,.0f} kB"
