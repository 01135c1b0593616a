"""Change the code that guards participants, one thing at a time, and count how often the tests notice.

    python -m tests.mutants                 the rooms that changed since this branch left main
    python -m tests.mutants --all           every room of rooms.py
    python -m tests.mutants limits draw     some rooms
    python -m tests.mutants limits --again  what the last run did not notice, against the tests of today

Prints, for each room, how many mutants there were and how many were noticed, and every one that was not, with the
judgement in survivors.json: either no test can tell it from the original, or why it does not matter. Exits with 1 if
a room notices a smaller share than it should, or if a survivor was not judged.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from time import monotonic

from tests.mutants import constants, functions
from tests.mutants.rooms import ROOMS, changed_rooms

JUDGED = Path(__file__).parent / "survivors.json"


def main() -> int:
    """Run some rooms and print what survived."""
    options = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__.splitlines()[0])
    options.add_argument("rooms", nargs="*", choices=[*ROOMS, []], help="by default those that changed")
    options.add_argument("--all", action="store_true", help="every room")
    options.add_argument("--since", help="the commit to compare with, to find the rooms that changed")
    options.add_argument("--children", type=int, default=2, help="processes at a time")
    options.add_argument("--only", choices=("functions", "constants"), help="one kind of change alone")
    options.add_argument("--again", action="store_true", help="only what the last run did not notice")
    given = options.parse_args()
    names = list(ROOMS) if given.all else given.rooms or changed_rooms(given.since)
    judged: dict[str, str] = json.loads(JUDGED.read_text(encoding="utf-8"))
    failed = False
    for name in names:
        began, found, survivors, room = monotonic(), 0, dict[str, str](), ROOMS[name]
        for kind in (functions, constants):
            if given.only is None or kind.__name__.endswith(given.only):
                number, left = kind.run(name, room, given.children, again=given.again)
                found, survivors = found + number, survivors | left
        share = 1 - len(survivors) / max(1, found)
        unjudged = sum(text not in judged for text in survivors)
        failed = failed or share < room.least_share or unjudged > 0
        sys.stdout.write(
            f"{name}: {found} mutants, {share:.1%} noticed of at least {room.least_share:.0%}, "
            f"{len(survivors) - unjudged} survivors judged, {unjudged} not, {monotonic() - began:.0f} s; "
            f"{functions.left_alone(room)} statements that raise left alone\n"
        )
        for text in survivors:
            sys.stdout.write(f"  {text}\n      {judged.get(text, 'NOT JUDGED')}\n")
        sys.stdout.flush()
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
