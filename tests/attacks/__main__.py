"""Attack devices as a hostile operator would, and print how often each attack works.

    python -m tests.attacks                 all of it
    python -m tests.attacks --quick         seconds instead of minutes
    python -m tests.attacks --only locating --seed 7

The server is modified code; devices and ledgers are real. Prints one table: attack, promises (of the table in
docs/explanations/privacy.md), trials, how often it worked on the code before (measured at the commit that before.json
names), how often it works now, and the bound. Exits with 1 if an attack works more often than its bound allows.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic

from tests.attacks import dealing, locating, operating
from tests.attacks.results import Attack, render

PARTS: dict[str, Callable[[Path, int, bool], Iterator[Callable[[], Attack]]]] = {
    "locating": locating.attacks,
    "dealing": dealing.attacks,
    "operating": operating.attacks,
}


def run(names: list[str], seed: int, quick: bool) -> list[Attack]:
    """Play some parts."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            for play in PARTS[name](Path(folder), seed, quick):
                began = monotonic()
                row = play()
                row.seconds = monotonic() - began
                rows.append(row)
                sys.stderr.write(f"{name}: {row.name}: {row.successes} of {row.trials}, bound {row.bound:.2%}\n")
    return rows


def main() -> int:
    """Play the attacks and print the table."""
    options = argparse.ArgumentParser(prog="python -m tests.attacks", description=__doc__.splitlines()[0])
    options.add_argument("--only", choices=PARTS, action="append", help="one part; may be given several times")
    options.add_argument("--quick", action="store_true", help="few trials, and not every attack")
    options.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    given = options.parse_args()
    began = monotonic()
    rows = run(given.only or list(PARTS), given.seed, given.quick)
    sys.stdout.write(render(rows))
    sys.stdout.write(f"seed {given.seed}; {monotonic() - began:.0f} s in all\n")
    return int(not rows or not all(row.holds for row in rows))


if __name__ == "__main__":
    sys.exit(main())
