"""Warn when a wheel or source archive is built before the pages, which its server could then not show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PAGES = ("console.html", "join.html")


class PagesHook(BuildHookInterface):  # type: ignore[type-arg]
    """Look for the built pages; everything but the server's pages works without them."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Warn if a page is missing; an editable installation finds pages that are built later."""
        folder = Path(self.root, "src", "crowdveil", "server", "pages")
        if version != "editable" and not all((folder / page).is_file() for page in PAGES):
            self.app.display_warning(
                "The pages are not built, so this build contains none: `make wheel` builds and includes them."
            )
