"""Write visits that were read in Python as Parquet, once, for formats that the engines cannot read."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from crowdveil.batch.inputs import Inputs, find_inputs
from crowdveil.batch.store import COLUMN_NAMES, save_fixes
from crowdveil.codec import write_atomically
from crowdveil.traces import Visits


def converted_inputs(
    read: Callable[[], Visits], sources: Sequence[Path], settings: Sequence[object], out: Path
) -> Inputs:
    """Read visits and write them to `out`/fixes.parquet, unless an earlier run did so from the same files.

    `sources` are the files and folders that `read` reads, `settings` what else decides what it gives. The columns of
    the result are those of `COLUMN_NAMES`.
    """
    converted, description = out / "fixes.parquet", out / "fixes.json"
    made_from = [*(_stamps(path, out) for path in sources), *settings]
    known = _read_description(description) if converted.exists() else {}
    if known.get("made_from") != made_from:
        visits = read()
        half = out / "fixes.parquet.half"
        save_fixes([visits], half)
        description.unlink(missing_ok=True)
        half.replace(converted)
        known = {"made_from": made_from, "dropped": dict(visits.dropped)}
        write_atomically(description, lambda temporary: temporary.write_text(json.dumps(known)))
    return replace(find_inputs([str(converted)], COLUMN_NAMES), dropped=known["dropped"])


def _read_description(path: Path) -> dict[str, Any]:
    """Read what the fixes were made from; nothing if that cannot be read, so that they are made again."""
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
        return {"made_from": known["made_from"], "dropped": {str(why): int(n) for why, n in known["dropped"].items()}}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return {}


def _stamps(path: Path, out: Path) -> list[list[Any]]:
    """Take name, size and time of change of a file, or of all files in a folder except results in `out`."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    if path.is_dir() and path.resolve() in out.resolve().parents:
        files = [one for one in files if not one.resolve().is_relative_to(out.resolve())]
    return [[str(one.resolve()), one.stat().st_size, one.stat().st_mtime_ns] for one in files if one.is_file()]
