"""Pack the project's own code into one file, for workers of a cluster that do not have it."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

PACKAGE = Path(__file__).parent.parent
NAME = "crowdveil.zip"


def pack_code(folder: Path) -> Path:
    """Write every module of the package into a zip file from which Python can import it; returns its path.

    The same code gives the same bytes: times are left out, names are in order.
    """
    archive = folder / NAME
    with ZipFile(archive, "w", ZIP_DEFLATED) as packed:
        for module in sorted(PACKAGE.rglob("*.py")):
            name = str(module.relative_to(PACKAGE.parent))
            packed.writestr(ZipInfo(name), module.read_bytes(), ZIP_DEFLATED)
    return archive
