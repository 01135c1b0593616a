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
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text
from typer.core import TyperCommand, TyperGroup

from crowdveil.errors import CrowdveilError

BAD_INPUT = 2
NOT_PRIVATE = 1

# The base of every complaint about options; newer releases of typer no longer say where it is defined.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]

ReportProgress = Callable[[int, int], None]


class Verb(TyperCommand):
    """A verb whose usage line names its arguments without braces."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """What stands behind the verb's name."""
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]


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
    line = " ".join(message.split())
    # Names of files and fields may hold what a terminal would obey or cannot show.
    shown = "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in line)
    typer.echo(f"crowdveil: {shown}", err=True)
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


# --- while it works -----------------------------------------------------------------------------------------


class _Percent(ProgressColumn):
    """How far it is, once that is known."""

    def render(self, task: Task) -> Text:
        return Text("" if task.total is None else f"{task.percentage:.0f} %")


@contextmanager
def progress_bar(what: str) -> Iterator[ReportProgress]:
    """Show a bar on stderr while something long runs; it vanishes when done, and never appears in a pipe."""
    with _progress(TextColumn("{task.description}"), BarColumn(), _Percent(), TimeElapsedColumn()) as progress:
        task = progress.add_task(what, total=None)

        def report(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)

        yield report


@contextmanager
def steps_bar() -> Iterator[Callable[[str, float], None]]:
    """Show a bar for the step that runs, by its name and the share of it that is done."""
    with _progress(TextColumn("{task.description}"), BarColumn(), _Percent(), TimeElapsedColumn()) as progress:
        task = progress.add_task("beginning", total=None)
        running = ""

        def report(step: str, share: float) -> None:
            nonlocal running
            if step != running:
                progress.reset(task, description=step, total=1.0)
                running = step
            progress.update(task, completed=share)

        yield report


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show on stderr what is being done when nobody can say how far it is; gone when done, never in a pipe."""
    with _progress(SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()) as progress:
        progress.add_task(what, total=None)
        yield


def _progress(*columns: ProgressColumn) -> Progress:
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


# --- sizes --------------------------------------------------------------------------------------------------


def in_bytes(size: int) -> str:
    """A size for people."""
    return f"{size:,} bytes" if size < 10_000 else f"{size / 1000:,.0f} kB"
