"""Which notebooks there are, and where their executed forms are kept.

Notebooks are kept as Python files in Jupytext's percent format: they have no outputs, so what changes in them can be
read line by line, and ruff and mypy check them like all other code. Executed, they are ordinary .ipynb files.

This module and `pages` need nothing but Python, because the site is built where no notebook could run.
"""

from __future__ import annotations

from pathlib import Path

EXAMPLES = Path(__file__).parents[1]
EXECUTED = EXAMPLES / "executed"
"""Not in git."""
NOTEBOOKS = sorted(EXAMPLES.glob("*.py"))


def executed(notebook: Path) -> Path:
    """Where a notebook is kept with its outputs."""
    return EXECUTED / f"{notebook.stem}.ipynb"


def page_name(stem: str) -> str:
    """The page of the site that shows a notebook: `five_minutes` is `examples/five-minutes.md`."""
    return f"examples/{stem.replace('_', '-')}.md"
