"""What an audit says, word by word, and how it repeats a panel's selections."""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np
import pytest

import crowdveil as cv
from crowdveil.campaign import audit, begin, next_policy, resume
from crowdveil.campaign.from_wire import NO_SEED, plan_from_wire, request_from_wire, selection_message
from crowdveil.campaign.selection import Reports
from crowdveil.campaign.state import select_from_panel
from crowdveil.errors import CrowdveilError
from crowdveil.policy.policy import Policy
from crowdveil.prior import Round, count_symbols
from crowdveil.server.terms import make_terms
from crowdveil.wire import (
    MAX_SELECTIONS,
    PROTOCOL,
    AuditRecord,
    AuditRound,
    AuditSelection,
    PanelRequest,
    RoundNotice,
    public_key,
    secret_digest,
    selection_seed,
)
from tests.campaign.test_audit import EACH, KEY, RECORD, ROUNDS, SEED, altered, failures, honest, new_campaign
from tests.town import live, people_around, square_town

AREA = square_town(5)
PEOPLE = 30


def asked(**changes: Any) -> PanelRequest:
    return PanelRequest(protocol=PROTOCOL, **{"targets": (12,), "wanted": 4, **changes})


def panel(*requests: tuple[int, int, PanelRequest], closed: int = 2) -> AuditRecord:
    """The record of a panel that was asked at these times, after so many rounds, one request after the other."""
    new = new_campaign(
        panel=True, wanted=None, rounds=2, renewal_s=9 * 10**6, targets=(12, 3), null_epsilon=log(64), users=PEOPLE
    )
    plan = plan_from_wire(new, NO_SEED)
    terms = make_terms("noise", new, server_key=public_key(KEY), seed=SEED)
    dice = np.random.default_rng(4)
    rounds: list[Round] = []
    told: list[AuditRound] = []
    rows: list[tuple[int, str, int, int | None]] = []
    for number in range(closed):
        policy = next_policy(resume(plan, rounds))
        symbols = cv.draw_many(policy, live(people_around(AREA, 1), PEOPLE, dice), cv.certify(policy), dice).tolist()
        first = number * PEOPLE
        rows += [(who, secret_digest(f"{who}"), number, symbol) for who, symbol in enumerate(symbols, first)]
        rounds.append(count_symbols(policy, symbols))
        told.append(AuditRound.of(number, policy.to_bytes(), tuple(rounds[-1].counts.tolist()), 0))
    notices = [RoundNotice.of(terms, number, one.policy.hash, KEY) for number, one in enumerate(rounds)]
    columns = np.array([(row[0], row[2], row[3]) for row in rows], dtype=np.int64)
    selections: list[AuditSelection] = []
    for number, (made, after, request) in enumerate(requests):
        then = columns[columns[:, 1] < after]
        reports = Reports(then[:, 0], then[:, 1], then[:, 2], tuple(row[1] for row in rows[: len(then)]))
        seed = selection_seed(SEED, number, MAX_SELECTIONS)
        found = select_from_panel(
            resume(plan, rounds[:after]),
            reports,
            request_from_wire(request),
            seed=seed,
            made=made,
            earlier=[(one.made, np.array(one.participants, dtype=np.int64)) for one in selections],
        )
        selections.append(selection_message(found, request=request, made=made, rounds=after, seed=seed))
    return AuditRecord(
        protocol=PROTOCOL,
        campaign="noise",
        plan=new,
        terms=terms,
        notices=tuple(notices),
        rounds=tuple(told),
        rows=tuple(rows),
        selections=tuple(selections),
    )


PANEL = panel(
    (100, 1, asked()),
    (200, 1, asked(at_most=1)),
    (300, 1, asked(at_most=1, within_s=150, wanted=26)),
    (400, 2, asked(targets=(3, 12), wanted=None, numbers=(20, 40), target_names=("Zoo", "Market"))),
)


def texts(record: AuditRecord, step: str) -> list[str]:
    return [one.text for one in audit.check_record(record).findings if one.step == step]


def test_an_honest_panel_is_reproduced_selection_by_selection() -> None:
    verdict = audit.check_record(PANEL)
    assert verdict.reproduced
    steps = [(one.step, one.verdict) for one in verdict.findings]
    assert steps == [
        ("announced", "ok"),
        *[("private", "ok")] * 2,
        ("counted", "ok"),
        *[("selected", "ok")] * 4,
        *[("made", "ok")] * 2,
    ]
    for number, told in enumerate(PANEL.selections):
        again = audit.repeat_selection(PANEL, number)
        assert tuple(again.participants.tolist()) == told.participants
    assert set(PANEL.selections[0].participants).isdisjoint(PANEL.selections[1].participants)
    assert all(who >= PEOPLE for who in PANEL.selections[3].participants)
    assert audit.check_record(panel(closed=0)).reproduced


def test_of_every_selection_it_is_said_how_many_were_selected_and_how_many_are_missing() -> None:
    first, second, third, last = (one.participants for one in PANEL.selections)
    hits = [one.chosen.count("symbol") for one in PANEL.selections]
    few = PANEL.selections[3].missing
    assert (len(first), len(second), len(third), len(last)) == (4, 4, 26, 30)
    assert few[0] + few[1] == 30
    named = [f"{few[0]} at place 1 (Zoo)"] * (few[0] > 0) + [f"{few[1]} at place 2 (Market)"] * (few[1] > 0)
    assert texts(PANEL, "selected") == [
        f"selection 1: the same 4 people in the same order, {hits[0]} by a selecting symbol",
        f"selection 2: the same 4 people in the same order, {hits[1]} by a selecting symbol",
        f"selection 3: the same 26 people in the same order, {hits[2]} by a selecting symbol",
        f"selection 4: the same 30 people in the same order, {hits[3]} by a selecting symbol, fewer than wanted: "
        + ", ".join(named),
    ]
    both = panel((100, 1, asked(targets=(3, 12), wanted=None, numbers=(20, 40))))
    few = both.selections[0].missing
    assert min(few) > 0
    assert texts(both, "selected")[0].endswith(f", fewer than wanted: {few[0]} at place 1, {few[1]} at place 2")
    assert texts(panel((100, 1, asked(wanted=37))), "selected")[0].endswith(" selecting symbol, 7 fewer than wanted")


def test_a_selection_that_forgot_those_before_it_is_found_out() -> None:
    def forget(document: dict[str, Any]) -> None:
        document["selections"][1]["request"]["at_most"] = 2

    (found,) = failures(altered(forget, PANEL))
    assert found.step == "selected"
    assert found.text.startswith("selection 2: participants: at rank ")


def test_a_selection_that_cannot_be_repeated_is_a_failure_with_its_reason() -> None:
    def elsewhere(document: dict[str, Any]) -> None:
        document["selections"][0]["request"]["targets"] = [7]

    found = failures(altered(elsewhere, PANEL))[0]
    assert (found.step, found.verdict) == ("selected", "failure")
    assert found.text.startswith("selection 1: targets = 'cell 7': should be one of the 2 places of the panel")


@pytest.mark.parametrize("number", [-1, 4, 5])
def test_only_selections_that_were_made_are_repeated(number: int) -> None:
    with pytest.raises(cv.InputError) as refused:
        audit.repeat_selection(PANEL, number)
    assert str(refused.value) == f"number = {number}: should be below 4, the number of selections"


def test_seeds_follow_from_each_other() -> None:
    def skip(document: dict[str, Any]) -> None:
        document["selections"][2]["seed"] = selection_seed(SEED, 3, MAX_SELECTIONS)

    before = selection_seed(SEED, 1, MAX_SELECTIONS)[:12]
    (found, *_) = failures(altered(skip, PANEL))
    assert (found.step, found.text) == (
        "announced",
        f"the seed of selection 3 is not the one whose hash was announced, {before}",
    )


def test_of_a_campaign_every_step_is_told_in_words() -> None:
    hashes = [next_policy(resume(plan_from_wire(new_campaign(), SEED), [])).hash[:12]]
    hashes += [Policy.from_bytes(one.policy_bytes).hash[:12] for one in RECORD.rounds[1:]]
    sent = [row[3] for row in RECORD.rows]
    hits = RECORD.selections[0].chosen.count("symbol")
    verdict = audit.check_record(RECORD)
    told = [one.text for one in verdict.findings]
    assert told[0] == (
        f"terms {RECORD.terms.hash[:12]}, signed by {public_key(KEY)[:12]}; the seeds are those announced"
    )
    for number in range(ROUNDS):
        assert told[1 + number].startswith(f"round {number + 1}, policy {hashes[number]}: private at ε ≥ 1.386")
        assert (
            told[6 + number]
            == f"round {number + 1}, policy {hashes[number]}: the counts before it give exactly this policy"
        )
    nulls = sent.count(None)
    assert nulls == ROUNDS * EACH // 5
    assert told[4] == (
        f"{ROUNDS * EACH} rows add up to the counts of 3 rounds: {ROUNDS * EACH - nulls} symbols and {nulls} NULL"
    )
    assert told[5] == f"the same 9 people in the same order, {hits} by a selecting symbol"


def test_a_shortfall_of_a_campaign_for_any_target_is_said_in_all() -> None:
    short = honest(closed=1, wanted=50)
    missing = 50 - sum(row[3] is not None for row in short.rows)
    assert texts(short, "selected")[0].endswith(f" by a selecting symbol, {missing} fewer than wanted")


def test_one_selection_belongs_to_a_campaign_that_is_asked_once() -> None:
    for change in (lambda one: one["selections"].clear(), lambda one: one["selections"].append(one["selections"][0])):
        (found,) = failures(altered(change))
        assert found.step == "record"
        assert "should be one, of a campaign that is asked once" in found.text


def test_rows_of_the_first_round_that_was_not_closed_and_of_the_first_symbol_beyond_are_found_out() -> None:
    found = failures(altered(lambda one: one["rows"][1].__setitem__(2, ROUNDS)))
    assert found[0].text == "a row belongs to round 4, but only 3 were closed"
    symbols = Policy.from_bytes(RECORD.rounds[0].policy_bytes).symbol_count
    found = failures(altered(lambda one: one["rows"][1].__setitem__(3, symbols)))
    assert found[0].text == f"round 1: symbol {symbols} was sent; its policy has {symbols}"


# --- made again -------------------------------------------------------------------------------------------------


def published(policy: Policy) -> AuditRecord:
    """The record of a campaign of one round under another policy, announced like any other."""
    record = honest(closed=0)
    rounds = (AuditRound.of(0, policy.to_bytes(), (0,) * policy.symbol_count, 0),)
    notices = (RoundNotice.of(record.terms, 0, policy.hash, KEY),)
    selections = tuple(one.model_copy(update={"rounds": 1}) for one in record.selections)
    return record.model_copy(update={"rounds": rounds, "notices": notices, "selections": selections})


FIRST = next_policy(begin(plan_from_wire(new_campaign(), SEED)))


def made(policy: Policy) -> tuple[str, str]:
    (finding,) = (one for one in audit.check_record(published(policy)).findings if one.step == "made")
    which = f"round 1, policy {policy.hash[:12]}: "
    assert finding.text.startswith(which)
    return finding.verdict, finding.text.removeprefix(which)


def test_the_same_weights_with_other_words_beside_them_are_the_same() -> None:
    completion = FIRST.completion
    renamed = Policy(AREA, FIRST.epsilon_per_km, FIRST.targets, FIRST.weights, completion=completion, value=0.5)
    assert made(FIRST) == ("ok", "the counts before it give exactly this policy")
    assert made(renamed) == ("ok", "the counts before it give the same weights")


def test_other_weights_are_a_warning_that_says_how_far_they_are() -> None:
    weights = FIRST.weights.copy()
    weights[3] += np.array([1, -1]) << (FIRST.bits - 10)
    other = Policy(AREA, FIRST.epsilon_per_km, FIRST.targets, weights, completion=FIRST.completion)
    most = np.abs(other.table() - FIRST.table()).max()
    assert made(other) == (
        "warning",
        f"made again from the counts before it, probabilities differ by at most {most:.2g}; another machine or version "
        "may round differently",
    )


def test_another_number_of_symbols_is_a_warning_that_says_both() -> None:
    plain = Policy(AREA, FIRST.epsilon_per_km, FIRST.targets, FIRST.weights)
    assert made(plain) == (
        "warning",
        f"made again from the counts before it, there are {FIRST.symbol_count} symbols, not 2; another machine or "
        "version may round differently",
    )


def test_a_policy_that_cannot_be_made_again_is_a_warning_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(state: object) -> Policy:
        raise CrowdveilError("no solver")

    monkeypatch.setattr(audit, "next_policy", fails)
    assert made(FIRST) == ("warning", "cannot be made again (no solver)")
