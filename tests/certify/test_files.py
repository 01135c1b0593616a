"""A table in a file is read as it stands there, and its symbols keep their names."""

from __future__ import annotations

from math import log
from pathlib import Path

import numpy as np
import pytest

from crowdveil.certify import certify_table
from crowdveil.certify.files import certify_file, read_symbol_table
from crowdveil.errors import FileFormatError
from tests.certify.good_policies import square

AREA = square(2)


def written(folder: Path, *lines: str) -> Path:
    path = folder / "table.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("lines", "names", "entries"),
    [
        (("hit,other", "1,3", "2,2"), ["hit", "other"], [[1, 3], [2, 2]]),
        (("1,3", "2,2"), [], [[1, 3], [2, 2]]),
        (("hit,other", "0.25,0.75", "1,0"), ["hit", "other"], [[0.25, 0.75], [1.0, 0.0]]),
        (("hit,hit", "1,3"), [], [[1, 3]]),
        (("hit,<b>", "1,3"), [], [[1, 3]]),
        (("hit,other,more", "1,3"), [], [[1, 3]]),
        (("999999999999999999,1",), [], [[999999999999999999, 1]]),
        (("1000000000000000000,1",), [], [[1e18, 1.0]]),
    ],
)
def test_names_and_numbers_are_those_of_the_file(
    tmp_path: Path, lines: tuple[str, ...], names: list[str], entries: list[list[float]]
) -> None:
    found_names, found = read_symbol_table(written(tmp_path, *lines))
    assert found_names == names
    assert found.tolist() == entries
    assert found.dtype == (np.int64 if isinstance(entries[0][0], int) else np.float64)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("hit,other",), "has a header but no rows"),
        (("hit,other", "1,3", "2"), "line 3: 1 columns: the first row has 2"),
        (("hit,other", "0.5,0.5", "0.5,half"), "line 3: probability = 'half': should be a number$"),
    ],
)
def test_a_file_that_is_no_table_is_refused_with_the_line(tmp_path: Path, lines: tuple[str, ...], said: str) -> None:
    with pytest.raises(FileFormatError, match=f"table.csv.*{said}"):
        read_symbol_table(written(tmp_path, *lines))


def test_the_certificate_of_a_file_names_its_symbols(tmp_path: Path) -> None:
    rows = ("4,4", "5,3", "4,4", "4,4")
    table = [[int(number) for number in row.split(",")] for row in rows]
    told: list[str] = []
    found = certify_file(
        written(tmp_path, "hit,other", *rows), AREA, log(4), progress=lambda *given: told.append(str(given))
    )
    bare = certify_table(AREA, table, log(4))
    assert told
    assert found.ok == bare.ok
    assert found.smallest_epsilon_per_km == bare.smallest_epsilon_per_km
    assert found.witness is not None
    assert bare.witness is not None
    assert (found.witness.symbol_name, bare.witness.symbol_name) == ("other", "column 1")
    assert (found.witness.cell, found.witness.other) == (bare.witness.cell, bare.witness.other)
    assert certify_file(written(tmp_path, *rows), AREA, log(4)) == bare
    assert bare.policy_hash == ""
    assert certify_file(written(tmp_path, "hit,other", *["1,1"] * 4), AREA, log(4)).witness is None
    assert not certify_file(written(tmp_path, "hit,other", *rows), AREA, 0.01).ok
