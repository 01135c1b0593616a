"""A device in a panel: it answers once, is used often, and answers anew only if its owner says so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from crowdveil.client import Device, DeviceSettings, Ledger
from crowdveil.client.explain import ONCE, Explanation, describe_use_of_answer
from crowdveil.errors import CampaignRefused, NoOpenRound, OwnerDeclined
from crowdveil.store import open_store
from crowdveil.wire import PROTOCOL, CampaignPlan, PanelRequest, ParticipantState, ParticipantStatus
from tests.server.harness import AREA, NAME, ServerHarness, plan

HISTORY = {5: 0.9}
DAY_S = 86_400


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerHarness]:
    with open_store(f"sqlite:///{tmp_path / 'server.sqlite'}") as store, ServerHarness(store) as opened:
        yield opened


def panel(rounds: int = 1) -> CampaignPlan:
    renewal_s = None if rounds == 1 else 90 * DAY_S
    places = tuple(range(len(AREA)))
    return plan(
        panel=True, targets=places, wanted=None, rounds=rounds, seed=None, renewal_s=renewal_s, deadline_s=DAY_S
    )


def device(path: Path, server: ServerHarness) -> Device:
    ledger = path / "mine.ledger"
    Ledger.create(ledger)
    return Device(DeviceSettings(seat_interval_s=0), ledger, server, server="http://server", sleep=lambda _: None)


def select(server: ServerHarness, number: int) -> None:
    targets = tuple(sorted({5, number % len(AREA)}))
    body = PanelRequest(protocol=PROTOCOL, targets=targets, wanted=1)
    answer = server.operate("PUT", f"/campaigns/{NAME}/selections/{number}", body.to_bytes())
    assert answer.status_code == 200, answer.text


def test_fifty_two_selections_use_one_answer_and_the_ledger_has_one_charge(
    server: ServerHarness, tmp_path: Path
) -> None:
    server.start(panel())
    mine, told = device(tmp_path, server), list[Explanation]()

    def agree(explanation: Explanation) -> bool:
        told.append(explanation)
        return True

    mine.join(NAME, HISTORY, agree=agree)
    spent = mine.ledger.spent()
    server.step(DAY_S)
    for number in range(52):
        select(server, number)
    assert mine.join(NAME, HISTORY).state == "acknowledged"
    assert (mine.ledger.spent(), len(mine.ledger.entries())) == (spent, 1)
    status = mine.status(NAME)
    assert (status.selections, status.state) == (52, "selected")
    assert ONCE in told[0].text
    assert "uses for any number of selections" in told[0].text
    assert "used 52 times" in describe_use_of_answer(status)


def test_an_answer_is_renewed_only_in_a_later_round_with_the_owners_yes_and_a_charge_of_its_own(
    server: ServerHarness, tmp_path: Path
) -> None:
    server.start(panel(rounds=2))
    mine = device(tmp_path, server)
    first = mine.join(NAME, HISTORY)
    with pytest.raises(NoOpenRound, match="still in use"):
        mine.renew(NAME, HISTORY)
    server.step(DAY_S)
    with pytest.raises(NoOpenRound, match="nothing to renew"):
        mine.renew(NAME, HISTORY)
    server.step(90 * DAY_S)
    assert mine.join(NAME, HISTORY) == first
    with pytest.raises(OwnerDeclined):
        mine.renew(NAME, HISTORY, agree=lambda _: False)
    renewed = mine.renew(NAME, HISTORY)
    assert (renewed.key.report, renewed.state) == (1, "acknowledged")
    assert renewed.secret != first.secret
    assert renewed.participant != first.participant
    assert mine.ledger.spent().epsilon_per_km == pytest.approx(2 * panel().epsilon_per_km)
    assert mine.status(NAME).state == "reported"


def test_a_campaign_that_asks_once_cannot_be_renewed_nor_one_that_was_left(
    server: ServerHarness, tmp_path: Path
) -> None:
    server.start(plan(deadline_s=DAY_S))
    mine = device(tmp_path, server)
    mine.join(NAME, HISTORY)
    with pytest.raises(CampaignRefused, match="asks once"):
        mine.renew(NAME, HISTORY)
    mine.leave(NAME)
    with pytest.raises(CampaignRefused, match="You left"):
        mine.renew(NAME, HISTORY)


@pytest.mark.parametrize(
    ("selections", "chosen", "said"),
    [
        (0, (), "was not used for a selection yet"),
        (1, (), "was used once; you were not chosen"),
        (3, (2,), "was used 3 times; you were chosen by selection 3."),
        (9, (0, 8), "chosen by selections 1, 9."),
    ],
)
def test_what_an_answer_was_used_for_is_said(selections: int, chosen: tuple[int, ...], said: str) -> None:
    state: ParticipantState = "selected" if chosen else "reported"
    status = ParticipantStatus.of(NAME, 4, state, "Tea", selections=selections, chosen=chosen)
    assert said in describe_use_of_answer(status)
