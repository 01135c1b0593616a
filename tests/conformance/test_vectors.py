"""The vectors are able to tell a wrong device from a right one."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.conformance.vectors import write_vectors

pytestmark = pytest.mark.xdist_group("vectors")  # they are written once


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("vectors")
    write_vectors(out, policies=240)
    return out


def read(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_policies_lie_on_both_sides_of_the_bound_and_on_it(vectors: Path) -> None:
    cases = read(vectors / "policies.jsonl")
    verdicts = Counter((case["ok"], case["boundary"]) for case in cases)
    assert len(cases) == 240
    assert min(verdicts[True, True], verdicts[False, True], verdicts[False, False]) > 10
    assert len({case["hash"] for case in cases}) > 200
    assert {case["ok"] for case in cases if case["has_peaks"]} == {True, False}


def test_every_kind_of_vector_has_cases_that_pass_and_cases_that_are_refused(vectors: Path) -> None:
    for name, field in (
        ("areas", "digest"),
        ("canonical", "canonical"),
        ("traces", "visits"),
        ("profiles", "place"),
        ("descriptions", "hash"),
    ):
        found = [case[field] is None for case in read(vectors / f"{name}.jsonl")]
        assert any(found), name
        assert not all(found), name
    assert {case["ok"] for case in read(vectors / "messages.jsonl") if "ok" in case} == {True, False}
    refusals = [case["refused"] for case in read(vectors / "limits.jsonl") if "refused" in case]
    assert {refusal is None for refusal in refusals} == {True, False}


@pytest.mark.long
def test_the_same_seed_writes_the_same_vectors(vectors: Path, tmp_path: Path) -> None:
    write_vectors(tmp_path, policies=240)
    for path in sorted(vectors.iterdir()):
        assert (tmp_path / path.name).read_bytes() == path.read_bytes(), path.name
