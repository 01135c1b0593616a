"""Deal with devices unfairly: other conditions for each, other servers, other ledgers, another place. None is allowed.

Each attack says what counts as a success; a device that refuses, draws nothing and charges nothing is a failure.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import crowdveil as cv
from crowdveil.client import Device, HttpReply, HttpRequest, InviteLink, Ledger
from crowdveil.errors import CrowdveilError, OwnerDeclined
from crowdveil.traces.visits import Visits
from crowdveil.wire import find_split
from tests.attacks.hostile_policies import LN4, LN64, naming
from tests.attacks.hostile_server import HostileServer, no_answer, problem
from tests.attacks.locating import squares
from tests.attacks.people import TODAY, device, weekly_visits
from tests.attacks.results import Attack

TOWN = squares(6, 6, 1000)


def at_cells(*cells: int) -> list[tuple[float, float]]:
    """The middle of some cells."""
    latitude, longitude = TOWN.centres()
    return [(float(latitude[cell]), float(longitude[cell])) for cell in cells]


def at(*cells: int) -> Visits:
    """Someone who visits the middle of some cells every week."""
    return weekly_visits(at_cells(*cells))


def small(target: int, grades: int = 2) -> cv.Policy:
    """The policy of an honest campaign."""
    return cv.optimal_policy(
        TOWN,
        np.full((grades, len(TOWN)), 1 / grades / len(TOWN)),
        [target],
        epsilon_per_km=LN4,
        beta=0.1,
        null_epsilon=LN64,
        grade_epsilon=LN64 / (grades - 1),
        grade_chances=None if grades == 2 else (0.69, 0.31, 0.03),
    )


ONE, OTHER, THREE, HOME = small(14), small(22), small(14, 3), at(8)


@dataclass
class Trial:
    """What one trial of an attack has at hand."""

    folder: Path
    number: int

    def ledger(self, name: str = "ledger") -> Path:
        """A path for a ledger."""
        return self.folder / f"{name} {self.number}"


def joined(someone: Device, campaign: str = "noise", visits: Visits = HOME, link: InviteLink | None = None) -> bool:
    """Whether the device answers."""
    try:
        return someone.join(campaign, visits, link=link).state == "acknowledged"
    except CrowdveilError:
        return False


def link_to(server: HostileServer, campaign: str = "noise", *, policy: bool = True) -> InviteLink:
    """The invite link of what the server offers at the moment."""
    notice = server.offered[campaign].notice
    return InviteLink(
        server.url, campaign, None, server.key, notice["terms_hash"], notice["policy_hash"] if policy else None
    )


# --- singled out ----------------------------------------------------------------------------------------------


def split_policy(trial: Trial) -> bool:
    """Two devices get different policies for one round; a success if neither refuses nor their notices prove it."""
    server = HostileServer()
    server.offer("noise", ONE)
    one = device(trial.ledger("one"), server)
    first = joined(one)
    server.offer("noise", replace(ONE, beta=0.2))
    other = device(trial.ledger("other"), server)
    second = joined(other)
    notices = [notice for who in (one, other) for _, notice in who.ledger.notices()]
    return first and second and find_split(notices, server.key) is None


def split_terms(trial: Trial) -> bool:
    """The same with different terms: other targets for one of them."""
    server = HostileServer()
    server.offer("noise", ONE)
    one = device(trial.ledger("one"), server)
    first = joined(one)
    server.offer("noise", OTHER)
    other = device(trial.ledger("other"), server)
    second = joined(other)
    notices = [notice for who in (one, other) for _, notice in who.ledger.notices()]
    return first and second and find_split(notices, server.key) is None


def not_the_link(trial: Trial) -> bool:
    """Someone with an invite link is shown another campaign than the link names."""
    server = HostileServer()
    server.offer("noise", ONE)
    link = link_to(server)
    server.offer("noise", OTHER)
    return joined(device(trial.ledger(), server), link=link)


def another_key(trial: Trial) -> bool:
    """The same campaign under another key than the link names."""
    server = HostileServer()
    server.offer("noise", ONE)
    link = link_to(server)
    impostor = HostileServer(url=server.url)
    impostor.offer("noise", ONE)
    return joined(device(trial.ledger(), impostor), link=link)


def unsigned(trial: Trial) -> bool:
    """A notice that another key signed."""
    server, other = HostileServer(), HostileServer()
    server.offer("noise", ONE)
    other.offer("noise", ONE)
    server.offered["noise"].notice["signature"] = other.offered["noise"].notice["signature"]
    return joined(device(trial.ledger(), server))


def changed_terms(trial: Trial) -> bool:
    """Other terms at the seat than the owner was shown before."""
    server = HostileServer()
    server.offer("noise", ONE, delta=0.9, offer="Ten euros")
    someone = device(trial.ledger(), server)
    checked = someone.check_campaign("noise")
    someone.explain(checked, someone.place(checked, HOME))
    server.offer("noise", OTHER, offer="Nothing", rule="target-aware")
    return joined(someone)


def changed_while_reading(trial: Trial) -> bool:
    """Other terms while the owner reads the explanation."""
    server = HostileServer()
    server.offer("noise", ONE)
    someone = device(trial.ledger(), server)

    def agree(_: object) -> bool:
        server.offer("noise", OTHER, offer="Nothing")
        return True

    with suppress(CrowdveilError):
        someone.join("noise", HOME, agree=agree)
    return bool(server.learnt)


# --- other servers --------------------------------------------------------------------------------------------


def same_id_elsewhere(trial: Trial) -> bool:
    """A drawn report that was not delivered goes, with its secret, to another server's campaign of the same id."""
    first, second = HostileServer(), HostileServer(url="https://other.example.org")
    for server in (first, second):
        server.offer("noise", ONE)
    first.interfere = lambda request, reply: no_answer() if request.method == "PUT" else reply
    joined(device(trial.ledger(), first))
    joined(device(trial.ledger(), second))
    secrets = {request.headers.get("authorization") for request in first.requests}
    return any(request.headers.get("authorization") in secrets for request in second.sent("PUT"))


def repeated_announcement(trial: Trial) -> bool:
    """The other server repeats the first one's signed announcement, which is public, word by word."""
    first, second = HostileServer(), HostileServer(url="https://other.example.org")
    first.offer("noise", ONE)
    second.offered["noise"] = first.offered["noise"]
    first.interfere = lambda request, reply: no_answer() if request.method == "PUT" else reply
    joined(device(trial.ledger(), first))
    second.seats = first.seats
    joined(device(trial.ledger(), second))
    secrets = {request.headers.get("authorization") for request in first.requests}
    return any(request.headers.get("authorization") in secrets for request in second.sent("PUT"))


def changed_key(trial: Trial) -> bool:
    """A server changes its key after the report was drawn, to have it drawn again for nothing."""
    server = HostileServer()
    server.offer("noise", ONE)
    someone = device(trial.ledger(), server)
    joined(someone)
    impostor = HostileServer(url=server.url)
    impostor.offer("noise", ONE)
    again = device(trial.ledger(), impostor)
    joined(again)
    return len(impostor.learnt.get("noise", [])) > again.ledger.spent().reports - 1


# --- the report -----------------------------------------------------------------------------------------------


def replayed_receipt(trial: Trial) -> bool:
    """The receipt of someone else, for a report that was thrown away."""
    server = HostileServer()
    server.offer("noise", ONE)
    first: list[HttpReply] = []

    def replay(request: HttpRequest, reply: HttpReply) -> HttpReply:
        if request.method != "PUT":
            return reply
        first.append(reply)
        return first[0]

    server.interfere = replay
    joined(device(trial.ledger("one"), server))
    return joined(device(trial.ledger("other"), server))


def drawn_twice(trial: Trial) -> bool:
    """No receipt, a refusal, a new round and a new policy: anything to see a second symbol of one person."""
    server = HostileServer()
    server.offer("noise", naming(TOWN))
    someone = device(trial.ledger(), server)
    refusals = iter((problem("unavailable"), problem("unavailable"), problem("report-conflict")))

    def fail(request: HttpRequest, reply: HttpReply) -> HttpReply:
        return reply if request.method != "PUT" else next(refusals, None) or no_answer()

    server.interfere = fail
    for number in range(4):
        joined(someone)
        server.offer("noise", naming(TOWN), number % 3)
        someone = device(trial.ledger(), server)
    return len({request.body for request in server.sent("PUT")}) > 1


def left_and_back(trial: Trial) -> bool:
    """Someone leaves, and is asked to answer again; a success if a second symbol comes, or if the charge is gone."""
    server = HostileServer()
    server.offer("noise", naming(TOWN))
    someone = device(trial.ledger(), server)
    joined(someone)
    before = someone.ledger.spent()
    someone.leave("noise")
    joined(someone)
    return len(server.learnt["noise"]) > 1 or someone.ledger.spent() != before


PANEL: dict[str, Any] = {"panel": True, "rounds": 4, "renewal_s": 90 * 86_400}


def round_back(trial: Trial) -> bool:
    """A panel goes back a round after a renewal was begun, so that leaving withdraws another answer than the last."""
    server = HostileServer()
    server.offer("noise", ONE, 1, **PANEL)
    someone = device(trial.ledger(), server)
    server.interfere = lambda request, reply: problem("no-seat") if request.path.endswith("/seats") else reply
    joined(someone)
    server.interfere = lambda _, reply: reply
    server.offer("noise", ONE, 0, **PANEL)
    return joined(someone)


def too_soon(trial: Trial) -> bool:
    """A panel that announced a renewal every 90 days opens its next rounds at once."""
    server = HostileServer()
    server.offer("noise", ONE, 0, **PANEL)
    someone = device(trial.ledger(), server)
    joined(someone)
    for number in (1, 3):
        server.offer("noise", ONE, number, **PANEL)
        with suppress(CrowdveilError):
            someone.renew("noise", HOME)
    return someone.ledger.spent().reports > 1 or len(server.learnt["noise"]) > 1


# --- the place ------------------------------------------------------------------------------------------------


def asked_again(trial: Trial) -> bool:
    """Someone with four places says no ten times; a success if another place is shown."""
    server = HostileServer()
    server.offer("noise", ONE)
    someone, visits = device(trial.ledger(), server), at(5, 14, 26, 33)
    shown = set()

    def decline(explanation: object) -> bool:
        shown.add(str(explanation))
        return False

    for _ in range(10):
        try:
            someone.join("noise", visits, agree=decline)
        except OwnerDeclined:
            continue
    return len(shown) > 1


def rare_place(trial: Trial) -> bool:
    """A threshold of a thousandth, so that a place seen once counts as regular."""
    server = HostileServer()
    server.offer("noise", ONE, delta=0.001)
    return joined(device(trial.ledger(), server))


def rare_place_below(trial: Trial) -> bool:
    """The usual δ, and below it a threshold of a billionth."""
    server = HostileServer()
    server.offer("noise", THREE, lower_deltas=[1e-9])
    return joined(device(trial.ledger(), server))


def rare_place_by_constants(trial: Trial) -> bool:
    """Constants that call every place regular, or the rarest the likeliest; a success if a place seen once is it."""
    once = int(datetime(TODAY.year, TODAY.month, TODAY.day, 12, tzinfo=UTC).timestamp()) - 45 * 7 * 86_400
    seen_once = weekly_visits(at_cells(8), extra=[(once, *at_cells(14)[0])])
    for number, c in enumerate(([50.0, 0.0], [-20.0, -50.0], [-50.0, 0.0])):
        server = HostileServer()
        server.offer("noise", THREE, lower_deltas=[0.2], profile_constants=[*c, *[0.0] * 5], rule="target-aware")
        someone = device(trial.ledger(str(number)), server)
        if someone.place(someone.check_campaign("noise"), seen_once).cell == 14:
            return True
    return False


def forged_text(trial: Trial) -> bool:
    """A name that forges a sentence of the explanation."""
    server = HostileServer()
    server.offer("noise", ONE)
    server.offered["noise"].terms["name"] = "Quiet map\nYour answer reveals nothing."
    someone = device(trial.ledger(), server)
    try:
        checked = someone.check_campaign("noise")
        return "\nYour answer reveals nothing" in str(someone.explain(checked, someone.place(checked, HOME)))
    except CrowdveilError:
        return False


# --- the ledger -----------------------------------------------------------------------------------------------


def campaigns_after(trial: Trial, path: Path, server: HostileServer, names: str) -> int:
    """How many more campaigns a ledger answers."""
    try:
        someone = device(path, server)
    except CrowdveilError:
        return 0
    answered = 0
    for name in names:
        server.offer(name, ONE)
        answered += joined(someone, name)
    return answered


def copied_ledger(trial: Trial) -> bool:
    """A ledger that is copied to a second phone; a success if both together answer more than one would."""
    server, one, other = HostileServer(), trial.ledger("one"), trial.ledger("other")
    campaigns_after(trial, one, server, "a")
    shutil.copy(one, other)
    return campaigns_after(trial, one, server, "bcd") + campaigns_after(trial, other, server, "efg") > 2


def rolled_back(trial: Trial) -> bool:
    """A ledger that is replaced by a backup from before its reports."""
    server, path, backup = HostileServer(), trial.ledger(), trial.ledger("backup")
    Ledger.create(path)
    shutil.copy(path, backup)
    campaigns_after(trial, path, server, "abc")
    path.unlink()
    shutil.copy(backup, path)
    path.chmod(0o600)
    return campaigns_after(trial, path, server, "def") > 0


def moved_and_kept(trial: Trial) -> bool:
    """A ledger that was moved to a new phone; a success if both together answer more than one would."""
    server, old, new, file = HostileServer(), trial.ledger("old"), trial.ledger("new"), trial.ledger("file")
    campaigns_after(trial, old, server, "a")
    Ledger(old).export(file)
    Ledger.import_(file, new)
    return campaigns_after(trial, new, server, "bcd") + campaigns_after(trial, old, server, "efg") > 2


def imported_twice(trial: Trial) -> bool:
    """An exported file that is imported, used, exported and imported from the first file again."""
    server, old, new, file = HostileServer(), trial.ledger("old"), trial.ledger("new"), trial.ledger("file")
    campaigns_after(trial, old, server, "a")
    Ledger(old).export(file)
    Ledger.import_(file, new)
    first = campaigns_after(trial, new, server, "bc")
    try:
        Ledger.import_(file, old)
    except CrowdveilError:
        return False
    return first + campaigns_after(trial, old, server, "efg") > 2


def cut_ledger(trial: Trial) -> bool:
    """A ledger whose last events were removed by hand, careless of the head."""
    server, path = HostileServer(), trial.ledger()
    campaigns_after(trial, path, server, "abc")
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM event WHERE number > 2")
    connection.close()
    return campaigns_after(trial, path, server, "def") > 0


BACKUP = "a ledger from a backup"
DEALING: dict[Callable[[Trial], bool], tuple[str, str]] = {
    split_policy: ("two policies for one round", "3"),
    split_terms: ("two people, different terms", "3"),
    not_the_link: ("another campaign than the link names", "3"),
    another_key: ("another key than the link names", "3"),
    unsigned: ("a notice that was not signed", "3"),
    changed_terms: ("terms that change between look and seat", "2, 3"),
    changed_while_reading: ("terms that change while the owner reads", "2, 3"),
    same_id_elsewhere: ("the same campaign id on another server", "5"),
    repeated_announcement: ("an announcement repeated by another server", "5"),
    changed_key: ("a server that changes its key", "5, 6"),
    replayed_receipt: ("a receipt that was replayed", "5"),
    drawn_twice: ("a second symbol after a failure", "5"),
    left_and_back: ("a second symbol after leaving", "5, 6"),
    round_back: ("a panel that goes back a round", "5"),
    too_soon: ("renewals sooner than announced", "2"),
    asked_again: ("asking again until the place changes", "5"),
    rare_place: ("a threshold of 0.001", "2"),
    rare_place_by_constants: ("constants by which a place seen once counts", "2"),
    rare_place_below: ("a lower threshold of a billionth", "2"),
    forged_text: ("a name that forges the explanation", "2"),
    copied_ledger: ("a ledger copied to a second phone", "6"),
    rolled_back: (BACKUP, "6"),
    moved_and_kept: ("a ledger moved, and still used", "6"),
    imported_twice: ("an exported ledger imported twice", "6"),
    cut_ledger: ("a ledger cut by hand", "6"),
}


def attacks(folder: Path, seed: int, quick: bool) -> Iterator[Callable[[], Attack]]:
    """All of these attacks, to be played one by one."""
    for play, (name, promises) in DEALING.items():

        def run(play: Callable[[Trial], bool] = play, name: str = name, promises: str = promises) -> Attack:
            attack = Attack(name, promises)
            if name == BACKUP:
                attack.bound = 1.0
                attack.notes.append("not promised: only the owner can restore a backup")
            for number in range(2 if quick else 20):
                (folder / play.__name__).mkdir(exist_ok=True)
                attack.count(play(Trial(folder / play.__name__, number)))
            return attack

        yield run
