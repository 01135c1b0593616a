"""Execute the notebooks, each in a fresh kernel and an empty folder, and keep them with their outputs.

    python -m examples.tools.execute [five_minutes ...]

A cell that fails, a picture that nobody described, or a request to another host fails the run; the other notebooks are
executed all the same. Each is printed with its seconds.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from examples.tools.notebooks import EXECUTED, NOTEBOOKS, executed
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from traitlets.config import Config

SECONDS_PER_CELL = 300
ONLY_THIS_MACHINE = """
def _only_this_machine():
    import sys

    def check(event, arguments):
        if event == "socket.getaddrinfo":
            host = arguments[0]
        elif event == "socket.connect" and isinstance(arguments[1], tuple):
            host = arguments[1][0]
        else:
            return
        if host not in (None, "", "localhost", "127.0.0.1", "::1", b"localhost", b"127.0.0.1"):
            raise PermissionError(f"an example should make no request to another host: {host!r}")

    sys.addaudithook(check)


_only_this_machine()
del _only_this_machine
"""
"""Run in every kernel before the first cell. An audit hook cannot be removed, and sees every socket of Python."""


class UndescribedPictureError(ValueError):
    """A cell shows a picture and does not say what is on it."""


def execute(notebook: Path) -> Any:
    """Return a notebook with the outputs of a fresh kernel."""
    document = jupytext.read(notebook)
    document.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    del document.metadata["jupytext"]  # how the source is written is of no use to who opens the executed notebook
    with tempfile.TemporaryDirectory(prefix="example-") as folder:
        client = NotebookClient(
            document,
            # Sockets of the file system, so that nothing of a kernel can be reached over the network.
            config=Config(KernelManager={"transport": "ipc", "ip": f"{folder}/kernel"}),
            timeout=SECONDS_PER_CELL,
            coalesce_streams=True,  # what a cell prints is one output, however it arrives
            record_timing=False,  # the times of cells would make each execution another file
            resources={"metadata": {"path": _below(folder, "work")}},
            extra_arguments=[f"--IPKernelApp.exec_lines={ONLY_THIS_MACHINE}"],
        )
        own = {name: _below(folder, name) for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "MPLCONFIGDIR")}
        client.execute(env={**os.environ, **own})  # nobody's own settings
    _check_pictures(document)
    return document


def _below(folder: str, name: str) -> str:
    path = Path(folder, name)
    path.mkdir()
    return str(path)


def _check_pictures(document: Any) -> None:
    for cell in document.cells:
        pictures = [one for one in cell.get("outputs", []) if "image/png" in one.get("data", {})]
        described = all("text/html" in one["data"] for one in pictures)  # HTML says itself what its picture shows
        if pictures and not described and not cell.metadata.get("alt"):
            raise UndescribedPictureError(f'describe the picture, as `# %% alt="..."`, of the cell\n{cell.source}')


def main(names: list[str]) -> int:
    """Execute all notebooks, or those that are named, and return how many failed."""
    # A kernel of this environment, whatever kernels the user has.
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"
    EXECUTED.mkdir(exist_ok=True)
    chosen = [notebook for notebook in NOTEBOOKS if not names or notebook.stem in names]
    if unknown := set(names) - {notebook.stem for notebook in chosen}:
        print(f"no example has the name {', '.join(sorted(unknown))}", file=sys.stderr)
        return len(unknown)
    failed = 0
    for notebook in chosen:
        executed(notebook).unlink(missing_ok=True)  # never an old one beside a failure
        started = time.monotonic()
        try:
            document = execute(notebook)
        except (CellExecutionError, CellTimeoutError, DeadKernelError, UndescribedPictureError) as error:
            failed += 1
            print(f"{notebook.stem}: FAILED after {time.monotonic() - started:.1f} s\n{error}", file=sys.stderr)
        else:
            nbformat.write(document, executed(notebook))
            print(f"{notebook.stem}: {time.monotonic() - started:.1f} s", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
