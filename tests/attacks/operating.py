"""Attack by way of the real server: its database, lottery, connections and tokens, and made-up participants."""

from __future__ import annotations

import resource
import secrets
import socket
import sqlite3
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import numpy as np

import crowdveil as cv
from crowdveil.campaign import audit
from crowdveil.campaign.from_wire import selection_message
from crowdveil.campaign.selection import Reports, lottery_number
from crowdveil.server.local import local_server
from crowdveil.server.settings import ServerSettings
from crowdveil.store import open_store
from crowdveil.wire import AuditRecord, Invites, PanelRequest, secret_digest
from tests.attacks.hostile_policies import LN4
from tests.attacks.people import device
from tests.attacks.results import Attack
from tests.server.harness import NAME, ServerHarness, kind_of, plan
from tests.town import live, people_around, square_town

PEOPLE = 40
FAKES = 0.05


def names_by_invites(folder: Path, trials: int, seed: int) -> Attack:
    """The operator knows whom each invite was given to, and reads the server's own database."""
    attack = Attack("names found by their invites", "9")
    generator = np.random.default_rng(seed)
    path = folder / "invites.sqlite"
    with open_store(f"sqlite:///{path}") as store, ServerHarness(store) as server:
        server.start(plan(enrolment="invite", users=trials, rounds=1, wanted=5))
        body = f'{{"protocol":1,"count":{trials}}}'.encode()
        invites = Invites.from_bytes(server.operate("POST", f"/campaigns/{NAME}/invites", body).content).invites
        for who in generator.permutation(trials).tolist():
            someone = device(folder / f"invited {who}", server, server="http://server")
            someone.join(NAME, {int(generator.integers(16)): 0.9}, invite=invites[who])
        rows = _all_rows(path)
    for invite in invites:
        known = {invite, secret_digest(invite)}
        attack.count(any(known & {str(value) for value in row} for row in rows))
    return attack


def names_by_order(folder: Path, trials: int, seed: int) -> Attack:
    """The operator knows who came when, and sorts the database by number, or takes it as it lies."""
    attack = Attack("names found by the order of seats", "9")
    generator = np.random.default_rng(seed)
    path = folder / "order.sqlite"
    with open_store(f"sqlite:///{path}") as store, ServerHarness(store) as server:
        server.start(plan(users=trials, rounds=1, wanted=5))
        numbers = []
        for who in range(trials):
            someone = device(folder / f"in order {who}", server, server="http://server")
            numbers.append(someone.join(NAME, {int(generator.integers(16)): 0.9}).participant)
        with sqlite3.connect(path) as connection:
            orders = [
                [number for (number,) in connection.execute(f"SELECT {column} FROM {table}")]
                for table, column in (("participants", "number"), ("reports", "participant"))
            ]
        connection.close()
    guesses = [*orders, *(sorted(order) for order in orders)]
    right = [sum(one == other for one, other in zip(guess, numbers, strict=True)) for guess in guesses]
    for trial in range(trials):
        attack.count(trial < max(right))
    attack.bound = 3 / trials  # a random order has one fixed point on average; the best of a few has seldom more
    return attack


def seed_chosen_late(folder: Path, trials: int, seed: int) -> Attack:
    """The operator tries seeds until a friend wins, and publishes a record with that seed."""
    attack = Attack("a seed chosen after the reports", "18")
    generator = np.random.default_rng(seed)
    for trial in range(trials):
        record, _ = _finished(folder / f"lottery {trial}.sqlite")
        friend = int(generator.choice([row[0] for row in record.rows]))
        attack.count(audit.check_record(_rigged(record, friend)).reproduced)
    return attack


def secret_chosen_to_win(folder: Path, trials: int, seed: int) -> Attack:
    """A participant tries secrets until one would win, knowing all that is announced: the seed's hash, not the seed."""
    attack = Attack("a secret chosen to win the lottery", "18")
    for trial in range(trials):
        record, commitment = _finished(folder / f"grinding {trial}.sqlite", tries=200)
        mine = next(who for who, told, *_ in record.rows if told == commitment)
        attack.count(mine in record.selections[0].participants)
    attack.bound = 3 / 12  # three of twelve win, whatever the secret
    return attack


def _finished(path: Path, tries: int = 1) -> tuple[AuditRecord, str]:
    """The record of a campaign in which all are equal, and the commitment of whoever chose the best of some secrets."""
    with open_store(f"sqlite:///{path}") as store, ServerHarness(store) as server:
        server.start(plan(users=12, rounds=1, wanted=3, seed=None))
        announced = server.announcement().terms.seed_hash
        tried = [secrets.token_urlsafe(8) for _ in range(tries)]
        best = min(tried, key=lambda secret: lottery_number(announced, secret_digest(secret)))
        for secret in [best, *(f"secret-{number}" for number in range(11))]:
            assert server.report(secret, 0).status_code == 200
        while server.step():
            pass
        record = AuditRecord.from_bytes(server.operate("GET", f"/campaigns/{NAME}/record").content)
        return record, secret_digest(best)


def _rigged(record: AuditRecord, friend: int) -> AuditRecord:
    """The record as it would be under the first seed with which the friend wins."""
    for number in range(10_000):
        seed, told = f"{number:064x}", record.selections[0]
        found = audit.repeat_selection(
            record.model_copy(update={"selections": (told.model_copy(update={"seed": seed}),)})
        )
        if friend in found.participants.tolist():
            rigged = selection_message(found, request=None, made=told.made, rounds=told.rounds, seed=seed)
            return record.model_copy(update={"selections": (rigged,)})
    raise AssertionError("no seed lets the friend win")


def fifty_two_selections(folder: Path, trials: int, seed: int) -> Attack:
    """The operator asks a panel 52 times, for one part of the map after another, and guesses where everyone lives.

    Who is chosen follows from the symbols, the commitments and the seeds, which the operator has anyway. So the best
    guess from all that the devices ever sent is that of one report, and the ledger has one charge.
    """
    attack = Attack("52 selections of a panel", "6")
    generator = np.random.default_rng(seed)
    path = folder / "selections.sqlite"
    town = square_town(4)
    with open_store(f"sqlite:///{path}") as store, ServerHarness(store) as server:
        everywhere: dict[str, Any] = {"panel": True, "targets": tuple(range(len(town))), "wanted": None, "seed": None}
        server.start(plan(users=trials, rounds=1, **everywhere))
        homes, charges = {}, set()
        for who in range(trials):
            someone = device(folder / f"panel {who}", server, server="http://server")
            home = int(generator.integers(len(town)))
            homes[someone.join(NAME, {home: 0.9}).participant] = home
        server.step()
        for number in range(52):
            targets = tuple(sorted({number % len(town), (3 * number + 1) % len(town)}))
            body = PanelRequest(protocol=1, targets=targets, wanted=1 + number % 7).to_bytes()
            assert server.operate("PUT", f"/campaigns/{NAME}/selections/{number}", body).status_code == 200
        for who in range(trials):
            charges.add(len(device(folder / f"panel {who}", server, server="http://server").ledger.entries()))
        record = AuditRecord.from_bytes(server.operate("GET", f"/campaigns/{NAME}/record").content)
    assert charges == {1}
    policy = cv.Policy.from_bytes(record.rounds[0].policy_bytes)
    table = policy.table()[: len(town)]
    for participant, _, _, symbol in record.rows:
        attack.count(int(table[:, symbol].argmax()) == homes[participant])
    report = cv.AcceptedReport(town, policy.epsilon_per_km, np.arange(len(town)), policy.null_epsilon)
    attack.bound = cv.guess_bound(cv.combined_loss([report]))
    return attack


def half_sent(folder: Path, trials: int, seed: int) -> Attack:
    """Requests of which half arrives, in the headers or in the body; a success is one that stays for 30 seconds."""
    attack = Attack("half-sent requests that stay", "17")
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, most), most))
    (folder / "server").mkdir()
    with local_server(folder / "server") as server:
        host, _, port = server.url.removeprefix("http://").rpartition(":")
        began = monotonic()
        lines = []
        for number in range(trials):
            line = socket.create_connection((host, int(port)))
            line.sendall(
                b"PUT /v1/campaigns/noise/report HTTP/1.1\r\nhost: x\r\ncontent-length: 200\r\n\r\n{"
                if number % 2
                else b"GET /v1/campaigns/noise HTTP/1.1\r\nhost: x\r\nx-slow: "
            )
            lines.append(line)
        sleep(max(0.0, 30 - (monotonic() - began)))
        for line in lines:
            attack.count(_is_open(line))
            line.close()
        files = [path for path in (folder / "server").iterdir() if stat.S_IMODE(path.stat().st_mode) & 0o077]
        attack.notes += [f"others can read {path.name}" for path in files if path.name != "server.log"]
    return attack


def _is_open(line: socket.socket) -> bool:
    line.setblocking(False)
    try:
        while received := line.recv(4096):
            assert received
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def files_of_others(folder: Path, trials: int, seed: int) -> Attack:
    """Another user of the machine reads the server's data; a success is a file that they can read."""
    attack = Attack("data files that others can read", "20")
    path = folder / "modes"
    path.mkdir()
    with local_server(path):
        for one in path.iterdir():
            attack.count(bool(stat.S_IMODE(one.stat().st_mode) & 0o077))
    return attack


def many_seats(folder: Path, trials: int, seed: int) -> Attack:
    """Someone takes seat after seat in an open campaign from one address; a success is a seat beyond the limit."""
    attack = Attack("seats beyond the limit of an address", "19")
    limit = ServerSettings().seats_per_address
    with (
        open_store(f"sqlite:///{folder}/seats.sqlite") as store,
        ServerHarness(store, client="198.51.100.7") as server,
    ):
        server.start(plan(users=1000, rounds=1))
        for number in range(limit + trials):
            taken = server.take_seat(f"secret-{number}").status_code == 200
            if number >= limit:
                attack.count(taken)
            else:
                assert taken
    return attack


def locked_out(folder: Path, trials: int, seed: int) -> Attack:
    """Wrong tokens from the operator's own address, to lock the operator out; a success is a right token refused."""
    attack = Attack("an operator locked out by wrong tokens", "20")
    with (
        open_store(f"sqlite:///{folder}/tokens.sqlite") as store,
        ServerHarness(store, client="198.51.100.7") as server,
    ):
        for _ in range(ServerSettings().failures_per_minute + 5):
            wrong = server.ask("GET", "/v1/operator/campaigns", authorization="Bearer wrong")
        assert kind_of(wrong) == "too-many-requests"
        for _ in range(trials):
            attack.count(server.operate("GET", "/campaigns").status_code != 200)
    return attack


def useless_campaigns(folder: Path, trials: int, seed: int) -> Attack:
    """A campaign that every default device would refuse; a success is one that the server creates all the same."""
    attack = Attack("campaigns that no device would answer", "2")
    fine = cv.Grid.on_lattice(6.0, -4.0, 6.01, -3.99, cell_km=0.1).describe()
    changes: tuple[dict[str, Any], ...] = (
        {"area": fine, "targets": (3,)},
        {"epsilon_per_km": 20.0},
        {"null_epsilon": None, "grade_epsilon": None},
        {"null_epsilon": 9.0},
        {"grade_epsilon": 9.0},
        {"delta": 0.01},
        {"area": square_town(3).describe(), "targets": (3,)},
    )
    with open_store(f"sqlite:///{folder}/plans.sqlite") as store, ServerHarness(store) as server:
        for number, change in enumerate(changes):
            answer = server.operate("PUT", f"/campaigns/c{number}", plan(**change).to_bytes())
            attack.count(answer.status_code == 200)
    return attack


def fakes(folder: Path, trials: int, seed: int) -> Attack:
    """One in twenty of an open campaign's participants is made up and always says what is selected."""
    attack = Attack("slots taken by 5 % of fakes, open campaign", "19")
    attack.bound = 1.0
    for trial in range(trials):
        taken, slots = slots_of_fakes(seed + trial)
        attack.trials += slots
        attack.successes += taken
    attack.notes.append("not prevented in an open campaign; with invites there are no fakes beyond the invited")
    return attack


def slots_of_fakes(seed: int, users: int = 1080, wanted: int = 54, rounds: int = 6) -> tuple[int, int]:
    """How many slots the fakes take, of how many."""
    generator = np.random.default_rng(seed)
    area = square_town(12)
    prior = people_around(area, 3, centres=4)
    places = live(prior, users, generator)
    fake = np.zeros(users, dtype=bool)
    fake[generator.choice(users, round(FAKES * users), replace=False)] = True
    target = int(np.argsort(-prior)[5])
    state = cv.begin(cv.Plan(area, targets=(target,), epsilon_per_km=LN4, users=users, wanted=wanted, rounds=rounds))
    sent: list[tuple[np.ndarray, int, np.ndarray]] = []
    for number, who in enumerate(np.array_split(generator.permutation(users), rounds)):
        policy = cv.next_policy(state)
        state = cv.advance(state, cv.RoundOpened(policy))
        symbols = cv.draw_many(policy, places[who], cv.certify(policy), generator).astype(np.int64)
        symbols[fake[who]] = policy.selecting[0]
        state = cv.advance(state, cv.RoundClosed(cv.count_symbols(policy, symbols, 0)))
        sent.append((who, number, symbols))
    reports = Reports(
        np.concatenate([who for who, _, _ in sent]),
        np.concatenate([np.full(len(who), number) for who, number, _ in sent]),
        np.concatenate([symbols for _, _, symbols in sent]),
    )
    chosen = cv.select(state, reports).participants
    return int(fake[chosen].sum()), len(chosen)


def _all_rows(path: Path) -> list[tuple[object, ...]]:
    """Every row of every table."""
    with sqlite3.connect(path) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = [row for table in tables for row in connection.execute(f"SELECT * FROM {table}")]
    connection.close()
    return rows


OPERATING: dict[Callable[[Path, int, int], Attack], tuple[int, int]] = {
    names_by_invites: (PEOPLE, 8),
    names_by_order: (PEOPLE, 12),
    seed_chosen_late: (20, 1),
    secret_chosen_to_win: (40, 0),
    half_sent: (1100, 0),
    files_of_others: (1, 0),
    many_seats: (20, 5),
    locked_out: (20, 5),
    useless_campaigns: (1, 1),
    fifty_two_selections: (200, 20),
    fakes: (10, 0),
}
"""How many trials, and how many in the quick part."""


def attacks(folder: Path, seed: int, quick: bool) -> Iterator[Callable[[], Attack]]:
    """All of these attacks, to be played one by one."""
    for play, sizes in OPERATING.items():
        trials = sizes[quick]
        if trials:
            yield lambda play=play, trials=trials: play(folder, trials, seed)  # type: ignore[misc]
