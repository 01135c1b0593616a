"""Runs the cases of a study on every core, and keeps what is finished, so that an interrupted study goes on.

Finished portions of cases are lines of `cases.jsonl` in the study's folder: a key, the portion, the result. The key is
a hash of the portion, of the traces and of the version of the code, so nothing stale is ever taken for fresh. A line
that was cut off is ignored and done again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, replace
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from crowdveil.paper.cases import Case, CaseResult, combine_portions, run_case
from crowdveil.paper.cities import CitySource
from crowdveil.vocabulary import Progress

CODE = 3
"""Raised when the same case would give another result."""
SEEDS_AT_ONCE = 10

_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def run_cases(
    source: CitySource,
    cases: Sequence[Case],
    folder: Path,
    progress: Progress | None = None,
    workers: int | None = None,
) -> list[CaseResult]:
    """Return results in the order of the cases; those found in the folder are not computed again."""
    kept = folder / "cases.jsonl"
    traces = digest_of(source)
    parts = [_parts(case) for case in cases]
    keys = [[_key(part, traces) for part in some] for some in parts]
    asked = {key: part for some, names in zip(parts, keys, strict=True) for part, key in zip(some, names, strict=True)}
    known = _read(kept)
    todo = [(key, part) for key, part in asked.items() if key not in known]
    done = len(asked) - len(todo)
    if progress is not None:
        progress(done, len(asked))
    with kept.open("a", encoding="utf-8") as lines:
        lines.write("\n" * _is_cut_off(kept))
        for key, part, result in _run(source, todo, workers or os.cpu_count() or 1):
            known[key] = result
            document = {"key": key, "case": part.to_json(), "result": asdict(result)}
            lines.write(json.dumps(document, ensure_ascii=False) + "\n")
            lines.flush()
            done += 1
            if progress is not None:
                progress(done, len(asked))
    return [combine_portions([known[key] for key in names]) for names in keys]


def _parts(case: Case) -> list[Case]:
    """Split a case into portions of a few seeds, so that all cores finish together and an interruption loses little."""
    first, end = case.seeds
    return [replace(case, seeds=(seed, min(seed + SEEDS_AT_ONCE, end))) for seed in range(first, end, SEEDS_AT_ONCE)]


def digest_of(source: CitySource) -> str:
    """Return the SHA-256 of the traces, the towers and how they are read; a synthetic city is known by its name."""
    how = {
        **asdict(source),
        "data": None,
        "more_data": len(source.more_data),
        "towers": None,
    }  # where files are does not matter, what is in them does
    digest = hashlib.sha256(json.dumps(how, sort_keys=True).encode())
    for path in (source.data, *source.more_data, source.towers):
        for file in _files(path):
            with file.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()


def _files(path: str | None) -> list[Path]:
    if path is None:
        return []
    at = Path(path)
    return sorted(file for file in at.rglob("*") if file.is_file()) if at.is_dir() else [at]


def _key(case: Case, traces: str) -> str:
    asked = case.to_json()
    del asked["figure"], asked["label"]  # what it is shown as does not change it: figures share their cases
    made = [CODE, version("crowdveil"), version("numpy"), traces, asked]
    return hashlib.sha256(json.dumps(made, sort_keys=True).encode()).hexdigest()[:32]


def _read(path: Path) -> dict[str, CaseResult]:
    known: dict[str, CaseResult] = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                document = json.loads(line)
                known[document["key"]] = CaseResult.from_json(document["result"])
            except (ValueError, KeyError, TypeError):
                continue
    return known


def _is_cut_off(path: Path) -> bool:
    text = path.read_bytes()
    return bool(text) and not text.endswith(b"\n")


def _run(source: CitySource, todo: Sequence[tuple[str, Case]], workers: int) -> Iterator[tuple[str, Case, CaseResult]]:
    if len(todo) <= 1 or workers == 1:
        for key, case in todo:
            yield key, case, run_case(source, case)
        return
    # One thread of linear algebra per process, or they fight for the cores; read when a worker loads numpy.
    before = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    try:
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            waiting = {pool.submit(run_case, source, case): (key, case) for key, case in _longest_first(todo)}
            try:
                for finished in as_completed(waiting):
                    yield *waiting[finished], finished.result()
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _longest_first(todo: Sequence[tuple[str, Case]]) -> list[tuple[str, Case]]:
    """Put the slow cases of our method first, so that no core is idle at the end; within these, grid after grid."""
    heavy = np.array([case.method in ("crowdveil", "each") for _, case in todo])
    offset = np.array([case.offset for _, case in todo])
    return [todo[i] for i in np.lexsort((offset, ~heavy))]
