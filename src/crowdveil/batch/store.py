"""Visits that were read in Python, as Parquet that every engine reads: for published formats and synthetic cities."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from crowdveil.batch.fixes import ColumnNames
from crowdveil.traces import Visits

COLUMN_NAMES = ColumnNames(offset_minutes="offset_minutes")
"""Of the files written here."""
SCHEMA = pa.schema(
    [
        ("user", pa.string()),
        ("time", pa.int64()),
        ("latitude", pa.float64()),
        ("longitude", pa.float64()),
        ("offset_minutes", pa.float64()),
    ]
)


def save_fixes(blocks: Iterable[Visits], path: Path) -> int:
    """Write visits, a block at a time, in the columns of `COLUMN_NAMES`; returns how many."""
    rows = 0
    with pq.ParquetWriter(path, SCHEMA) as writer:
        for visits in blocks:
            names = pa.array(visits.users, pa.string())
            user = pa.DictionaryArray.from_arrays(pa.array(visits.user.astype("int32")), names).cast(pa.string())
            columns = [user, visits.utc_s, visits.latitude, visits.longitude, visits.offset_s / 60]
            writer.write_table(pa.table(columns, schema=SCHEMA))
            rows += len(visits)
    return rows
