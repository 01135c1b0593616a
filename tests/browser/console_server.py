"""Run a real server on this machine for browsers: `python -m tests.browser.console_server FOLDER TOKEN`."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path

from crowdveil.server import app, page_files, pages, previews
from crowdveil.server.run import serve
from crowdveil.store import add_operator, open_store
from crowdveil.wire import secret_digest

NEVER_S = 1e6
"""A limit that no test reaches."""
PAGES = "CROWDVEIL_PAGES"
"""Environment variable that names a folder of pages outside the package."""


def pages_folder() -> Path:
    """Return the folder of the pages to serve."""
    return Path(os.environ.get(PAGES, page_files.FOLDER))


def main(folder: str, token: str) -> None:
    """Serve from a folder, print the address, and stop at SIGTERM."""
    database = f"sqlite:///{folder}/crowdveil.sqlite"
    with open_store(database) as store:
        add_operator(store, "operator", secret_digest(token))
    # The package serves its own pages; tests may serve others.
    vars(app)["add_pages"] = lambda to, tiles: pages.add_pages(to, tiles, pages_folder())
    # However busy the machine is, curves are complete.
    vars(app)["Previews"] = partial(previews.Previews, timeout_s=NEVER_S, curves_s=NEVER_S)
    serve(database, ready=lambda url: print(url, flush=True))  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
