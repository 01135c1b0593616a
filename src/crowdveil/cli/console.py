"""Print results on stdout and everything else on stderr; turn errors into one line and exit code 2.

The libraries that draw tables and progress bars are loaded when something is drawn: a help text needs none of them.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from crowdveil.errors import CrowdveilError

BAD_INPUT = 2
NOT_PRIVATE = 1

# The base of every complaint about options; newer releases of typer no longer say where it is defined.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]

ReportProgress = Callable[[int, int], None]


def new_app(**settings: Any) -> typer.Typer:
    """Make a verb, or a group of verbs, that prints plain help texts and one-line errors."""
    return typer.Typer(
        cls=Verbs, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False, **settings
    )


class Verb(TyperCommand):
    """A verb whose usage line names its arguments without braces."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """List what follows the verb's name in the usage line."""
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]

    def invoke(self, ctx: Any) -> Any:
        """Run the verb with one thread for linear algebra.

        Our matrices are small: on busy cores a second thread costs far more than it brings.
        """
        import numpy  # noqa: F401  (limits apply to the libraries that are loaded)
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1, user_api="blas"):
            return super().invoke(ctx)


class Verbs(TyperGroup):
    """A group of verbs whose errors are one line each."""

    def invoke(self, ctx: Any) -> Any:
        """Run the verb; turn every error that the user can fix into one line on stderr and exit code 2."""
        try:
            return super().invoke(ctx)
        except CrowdveilError as error:
            fail(str(error), error.figures)
        except UsageError as error:
            if type(error).__name__ == "NoArgsIsHelpError":
                raise
            fail(error.format_message() if hasattr(error, "format_message") else str(error))
        except BrokenPipeError:
            # The reader of our output has ended (`crowdveil ... | head`).
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(1) from None
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            fail(f"{where}{error.strerror or error}")
        except MemoryError:
            fail("not enough memory for an area of this size; use larger cells")


def fail(message: str, figures: str = "") -> NoReturn:
    """Print on one line what was wrong, on the next the exact numbers if there are any, and end with exit code 2."""
    typer.echo(f"crowdveil: {_one_line(message)}", err=True)
    if figures:
        typer.echo(_one_line(figures), err=True)
    raise typer.Exit(BAD_INPUT)


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    # Names of files and fields may hold control characters, or bytes that a terminal cannot show.
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in line)


def warn(message: str) -> None:
    """Print a warning on stderr and go on."""
    from rich.console import Console

    Console(stderr=True, soft_wrap=True, highlight=False).print(f"WARNING: {message}", style="bold red", markup=False)


def note(message: str) -> None:
    """Print something on stderr that is not part of the result."""
    typer.echo(message, err=True)


def show(title: str, facts: Mapping[str, str]) -> None:
    """Print facts: a small table for people at a terminal, `name: value` lines for programs."""
    if not sys.stdout.isatty():
        for name, value in facts.items():
            typer.echo(f"{name}: {value}")
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, show_header=False, title_justify="left")
    for name, value in facts.items():
        table.add_row(name, Text(value))
    Console().print(table)


def show_rows(title: str, header: list[str], rows: list[list[str]], *, err: bool = False) -> None:
    """Print a table with a header: boxed for people, aligned columns for programs; with `err`, not as a result."""
    if (sys.stderr if err else sys.stdout).isatty():
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(*header, title=title, title_justify="left")
        for row in rows:
            table.add_row(*(Text(entry) for entry in row))
        Console(stderr=err).print(table)
        return
    widths = [max(len(line[i]) for line in [header, *rows]) for i in range(len(header))]
    for line in [header, *rows]:
        typer.echo("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip(), err=err)


def show_json(document: Mapping[str, Any]) -> None:
    """Print one JSON object; a number that JSON cannot hold (infinity) becomes null."""
    typer.echo(json.dumps(_finite(document), allow_nan=False))


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(entry) for key, entry in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


# --- while it works -----------------------------------------------------------------------------------------


@contextmanager
def progress_bar(what: str) -> Iterator[ReportProgress]:
    """Show a bar on stderr during long work; it disappears at the end, and never appears in a pipe."""
    with _bar() as (progress, task):
        progress.update(task, description=what)
        yield lambda done, total: progress.update(task, completed=done, total=total)


@contextmanager
def steps_bar() -> Iterator[Callable[[str, float], None]]:
    """Show a bar for the step that runs, by its name and the share of it that is done."""
    with _bar() as (progress, task):
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
    """Show on stderr what is being done if it is not known how long it takes; never in a pipe."""
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    with _progress(SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()) as progress:
        progress.add_task(what, total=None)
        yield


@contextmanager
def _bar() -> Iterator[tuple[Any, Any]]:
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    percent = TaskProgressColumn("{task.percentage:.0f} %", text_format_no_percentage="")
    left = (TextColumn("left:"), TimeRemainingColumn())
    with _progress(TextColumn("{task.description}"), BarColumn(), percent, TimeElapsedColumn(), *left) as progress:
        yield progress, progress.add_task("starting", total=None)


def _progress(*columns: Any) -> Any:
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


# --- sizes --------------------------------------------------------------------------------------------------


def in_bytes(size: int) -> str:
    """Write a size for people."""
    return f"{size:,} bytes" if size < 10_000 else f"{size / 1000:,.0f} kB"
