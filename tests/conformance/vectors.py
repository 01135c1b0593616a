"""What the device in TypeScript must agree with: `python -m tests.conformance.vectors --out web/vectors`.

Everything here is made by the Python side and read by the tests in web/tests/conformance. Reals that have to agree
to the last bit are written as the 16 hexadecimal digits of their double.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from tests.conformance.attacks import attack_cases
from tests.conformance.ledgers import ledger_cases
from tests.conformance.limits import limit_cases
from tests.conformance.messages import canonical_cases, message_cases, notice_cases
from tests.conformance.places import area_cases, draw_cases, profile_cases
from tests.conformance.policies import large_cases, policy_cases
from tests.conformance.stacks import description_cases
from tests.conformance.traces import trace_cases
from tests.conformance.words import exponential_cases, word_cases

SEED = 20_261
LOT = 500


def write_vectors(out: Path, policies: int) -> None:
    """Write all vectors; each kind has a generator of its own, so that one does not change with another."""
    out.mkdir(parents=True, exist_ok=True)
    _write(out / "policies.jsonl", _policies(policies))
    _write(out / "large_policies.jsonl", large_cases())
    _write(out / "areas.jsonl", area_cases(np.random.default_rng(SEED + 1)))
    _write(out / "draws.jsonl", draw_cases(np.random.default_rng(SEED + 2)))
    _write(out / "profiles.jsonl", profile_cases(np.random.default_rng(SEED + 3)))
    _write(out / "traces.jsonl", trace_cases(out))
    _write(out / "messages.jsonl", message_cases())
    _write(out / "canonical.jsonl", canonical_cases())
    _write(out / "notices.jsonl", notice_cases())
    _write(out / "limits.jsonl", limit_cases())
    _write(out / "ledgers.jsonl", ledger_cases())
    _write(out / "attacks.jsonl", attack_cases())
    _write(out / "words.jsonl", word_cases(np.random.default_rng(SEED + 4)))
    _write(out / "exponentials.jsonl", exponential_cases(np.random.default_rng(SEED + 5)))
    _write(out / "descriptions.jsonl", description_cases(np.random.default_rng(SEED + 6)))


def _policies(count: int) -> Iterator[Any]:
    """In lots, each with a generator of its own, made by as many processes as there are processors."""
    lots = [(number, min(LOT, count - number * LOT)) for number in range(-(-count // LOT))]
    workers = min(len(lots), os.cpu_count() or 1)
    with ProcessPoolExecutor(workers, get_context("spawn")) as processes:
        for lot in processes.map(_lot, *zip(*lots, strict=True)):
            yield from lot


def _lot(number: int, count: int) -> list[Any]:
    return list(policy_cases(np.random.default_rng([SEED, number]), count))


def _write(path: Path, cases: Iterable[Any]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for case in cases:
            file.write(json.dumps(case, ensure_ascii=True) + "\n")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    parser.add_argument("--policies", type=int, default=10_000, help="how many policies")
    given = parser.parse_args()
    write_vectors(given.out, given.policies)


if __name__ == "__main__":
    main()
