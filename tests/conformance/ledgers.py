"""Vectors of exported ledgers, of files that are no exports, of invite links, and of the keys of reports."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from math import log
from pathlib import Path
from typing import Any

from crowdveil.area import Grid
from crowdveil.certify import certify
from crowdveil.client.device import CheckedCampaign
from crowdveil.client.events import ReportKey
from crowdveil.client.excluded import ExcludedPlace
from crowdveil.client.invite_link import InviteLink
from crowdveil.client.ledger import DrawTerms, Ledger
from crowdveil.errors import CrowdveilError
from crowdveil.limits import Charge, Lattice, PrivacyLimits, Spent
from crowdveil.policy.solver.optimal import optimal_policy
from crowdveil.profile.place import Place
from crowdveil.wire import RoundNotice, Terms, public_key
from tests.conformance.limits import doubles
from tests.conformance.messages import HASH, OTHER_KEY, PANELS, PRIVATE_KEY, TERMS, announced

Case = dict[str, Any]
TIMES = ("2025-01-01T00:00:00+00:00", "2026-03-01T10:00:00+00:00", "2026-03-02T10:00:00+00:00")


def ledger_cases() -> Iterator[Case]:
    """Exported ledgers with what they say, files that are refused, invite links, and keys of reports."""
    with tempfile.TemporaryDirectory() as folder:
        for number, span in enumerate(("lifetime", "twelve-months")):
            yield from _ledger(Path(folder) / str(number), span)
    yield from _links()
    yield from _keys()


def _keys() -> Iterator[Case]:
    """What a device's report is known by, in a campaign that is asked once and in panels."""
    grid = Grid.on_lattice(48.10, 11.50, 48.13, 11.54, cell_km=1.0)
    policy = optimal_policy(grid, None, [1], epsilon_per_km=1.0, beta=0.1, null_epsilon=2.0, grade_epsilon=2.0)
    certificate, charge = certify(policy), Charge(1.0, 2.0, False)
    for given in ({}, *PANELS):
        terms = Terms.model_validate({**TERMS, **given})
        for number in range(terms.rounds):
            announcement = announced(terms, number=number)
            assert announcement.notice is not None, "a round is open"
            checked = CheckedCampaign(
                announcement, announcement.notice, grid, policy, certificate, charge, Lattice.of(grid)
            )
            yield {"kind": "key", "announcement": announcement.to_bytes().decode(), "key": list(checked.key)}


def _ledger(path: Path, span: str) -> Iterator[Case]:
    now = [TIMES[0]]
    limits = PrivacyLimits(span=span, least_charge=0.125, total_epsilon_per_km=4.0)  # type: ignore[arg-type]
    spent = Spent(0.1, 1e-7, 0, 2)
    ledger = Ledger.create(path.with_suffix(".db"), limits=limits, already_spent=spent, clock=lambda: now[0])
    for server, private_key in (("https://a.example", PRIVATE_KEY), ("https://b.example", OTHER_KEY)):
        _report(ledger, private_key, server)
        now[0] = TIMES[1]
    key = ReportKey(public_key(PRIVATE_KEY), "winter-air")
    ledger.acknowledge(key, HASH)
    ledger.withdraw(ReportKey(public_key(OTHER_KEY), "winter-air"))
    ledger.exclude(ExcludedPlace(48.123456, -11.5, 0.25))
    ledger.keep_place(ReportKey(public_key(OTHER_KEY), "noise"), HASH, set(), lambda: Place(7, 1))
    ledger.export(path.with_suffix(".json"))
    text = path.with_suffix(".json").read_text()
    now[0] = TIMES[2]
    again = Ledger.import_(path.with_suffix(".json"), path.with_suffix(".moved"), clock=lambda: now[0])
    entries = again.entries().values()
    expected = {
        "spent": doubles(asdict(again.spent())),
        "spent_ever": doubles(asdict(again.spent_ever())),
        "limits": again.limits().as_dict(),
        "entries": [
            [*one.key, one.state, one.symbol, one.symbol_name, one.secret, one.invite, one.server, one.at]
            for one in entries
        ],
    }
    again.export(path.with_suffix(".again"))
    # A span of twelve months is set back at the import, by an event in which each language writes whole reals its way.
    moved = path.with_suffix(".again").read_text() if span == "lifetime" else None
    yield {"kind": "ledger", "text": text, "now": TIMES[2], "again": moved, "error": None, **expected}
    yield from _not_exports(path, json.loads(text))


def _report(ledger: Ledger, private_key: str, server: str) -> None:
    terms = Terms.model_validate({**TERMS, "server_key": public_key(private_key)})
    key = ReportKey(terms.server_key, terms.campaign)
    about = {"name": terms.name, "offer": terms.offer, "server": server, "terms_hash": terms.hash}
    ledger.begin(key, lambda: f"secret of {server}", about)
    ledger.seat(key, {"participant": 2**52 + 1, "round": 1, "policy_hash": HASH, "invite": f"invite to {server}"})
    lattice = Lattice.of(Grid.on_lattice(48.10, 11.50, 48.16, 11.58, cell_km=1.0))
    drawn = DrawTerms(Charge(log(4), 1e-7, False), lattice, RoundNotice.of(terms, 1, HASH, private_key))
    ledger.draw_once(key, drawn, lambda: (3, "cell 17, grade 2"))


def _not_exports(path: Path, document: Case) -> Iterator[Case]:
    """Files that are refused, each with one clear reason."""
    events = document["events"]
    altered = [*events[:-1], [*events[-1][:-1], "0" * 64]]
    body = [*events[3][:5], events[3][5].replace("1.386", "0.386"), *events[3][6:]]
    wrongs: tuple[Any, ...] = (
        {**document, "format": "other"},
        {**document, "version": 2},
        {**document, "more": 1},
        {**document, "events": events[:-1]},
        {**document, "events": events[:-1], "head": [len(events) - 2, events[-2][-1]]},
        {**document, "events": altered},
        {**document, "events": [*events[:3], body, *events[4:]]},
        {**document, "events": events[1:]},
        {**document, "events": []},
        {**document, "head": [0, events[0][-1]]},
        {**document, "excluded": [[91, 0, 1]]},
        [],
    )
    for wrong in wrongs:
        file = path.with_suffix(".wrong")
        file.write_text(json.dumps(wrong))
        try:
            Ledger.import_(file, path.with_suffix(".never"))
        except CrowdveilError as error:
            said = str(error).removeprefix(f"{file}: ")
        else:
            raise AssertionError(wrong)
        yield {"kind": "ledger", "text": json.dumps(wrong), "error": said}


def _links() -> Iterator[Case]:
    key, terms = public_key(PRIVATE_KEY), HASH
    for link in (
        InviteLink("https://crowd.example.org", "noise-map", "INV-1_2", key, terms),
        InviteLink("http://127.0.0.1:8765", "noise", None, key, terms, HASH[::-1]),
        InviteLink("https://example.org/crowd", "noise", "a b&c=d", key, terms),
    ):
        for page in (None, "https://page.example.net/", ""):
            yield _link(link.format(page))
    good = InviteLink("https://crowd.example.org", "noise", "x", key, terms).format()
    for wrong in (
        good.replace("https:", "http:"),
        good.replace("https:", "ftp:"),
        good.replace("/join/noise", "/join/Noise"),
        good.replace("/join/", "/"),
        good.replace(key, key[:-1]),
        good.replace("terms=", "term="),
        f"{good}&invite=y",
        f"{good}&server=https://a.example",
        good.split("#", maxsplit=1)[0],
        "",
        "x",
    ):
        yield _link(wrong)


def _link(text: str) -> Case:
    try:
        link = InviteLink.parse(text)
    except CrowdveilError:
        return {"kind": "link", "text": text, "link": None, "formatted": None}
    formatted = [link.format(), link.format("https://page.example.net/")]
    return {"kind": "link", "text": text, "link": asdict(link), "formatted": formatted}
