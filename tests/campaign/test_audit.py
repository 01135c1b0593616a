"""An audit repeats an honest campaign to the last bit, and finds out whoever did not keep to the rules."""

from __future__ import annotations

from collections.abc import Callable
from math import log
from typing import Any

import numpy as np
import pytest

import crowdveil as cv
from crowdveil.campaign import audit, begin, next_policy, resume
from crowdveil.campaign.from_wire import plan_from_wire, selection_message
from crowdveil.campaign.selection import Reports
from crowdveil.campaign.state import select_so_far
from crowdveil.policy.policy import Policy
from crowdveil.prior import Round, count_symbols
from crowdveil.server.terms import make_terms
from crowdveil.wire import (
    PROTOCOL,
    AuditRecord,
    AuditRound,
    CampaignPlan,
    RoundNotice,
    public_key,
    secret_digest,
)
from tests.town import live, people_around, square_town

AREA = square_town(5)
SEED = "5eed" * 16
KEY = "4b" * 32
"""The server's private key."""
ROUNDS = 3
EACH = 40
OTHER = "0123" * 16
Change = Callable[[dict[str, Any]], None]


def new_campaign(**changes: Any) -> CampaignPlan:
    given: dict[str, Any] = {
        "protocol": PROTOCOL,
        "name": "Noise",
        "offer": "A coffee",
        "area": AREA.describe(),
        "targets": (12,),
        "epsilon_per_km": log(4),
        "delta": 0.5,
        "users": ROUNDS * EACH,
        "wanted": 9,
        "rounds": ROUNDS,
        "null_epsilon": None,
        "grade_epsilon": None,
        **changes,
    }
    return CampaignPlan.model_validate(given)


def honest(closed: int = ROUNDS, **changes: Any) -> AuditRecord:
    """The record of a campaign that was run as it should, or ended after some of its rounds."""
    new = new_campaign(**changes)
    plan = plan_from_wire(new, SEED)
    dice = np.random.default_rng(3)
    rounds: list[Round] = []
    told: list[AuditRound] = []
    rows: list[tuple[int, str, int, int | None]] = []
    terms = make_terms("noise", new, server_key=public_key(KEY), seed=SEED)
    notices: list[RoundNotice] = []
    for number in range(closed):
        policy = next_policy(resume(plan, rounds))
        places = live(people_around(AREA, 1), EACH, dice)
        symbols = cv.draw_many(policy, places, cv.certify(policy), dice).tolist()
        clear = new.null_epsilon is None
        sent = [None if clear and who % 5 == 0 else symbol for who, symbol in enumerate(symbols)]
        first = number * EACH
        rows += [(who, secret_digest(f"{who}"), number, symbol) for who, symbol in enumerate(sent, first)]
        notices.append(RoundNotice.of(terms, number, policy.hash, KEY))
        one = count_symbols(policy, [symbol for symbol in sent if symbol is not None], sent.count(None))
        rounds.append(one)
        told.append(AuditRound.of(number, policy.to_bytes(), tuple(one.counts.tolist()), one.nulls))
    told_symbols = [row for row in rows if row[3] is not None]
    columns = np.array([(row[0], row[2], row[3]) for row in told_symbols], dtype=np.int64).reshape(-1, 3)
    tickets = tuple(row[1] for row in told_symbols)
    chosen = select_so_far(resume(plan, rounds), Reports(columns[:, 0], columns[:, 1], columns[:, 2], tickets))
    return AuditRecord(
        protocol=PROTOCOL,
        campaign="noise",
        plan=new,
        terms=terms,
        notices=tuple(notices),
        rounds=tuple(told),
        rows=tuple(rows),
        selections=(selection_message(chosen, request=None, made=9, rounds=closed, seed=SEED),),
    )


RECORD = honest()


def altered(change: Change, record: AuditRecord = RECORD) -> AuditRecord:
    document = record.model_dump(mode="json")
    change(document)
    return AuditRecord.model_validate(document)


def failures(record: AuditRecord) -> list[audit.Finding]:
    verdict = audit.check_record(record)
    found = [finding for finding in verdict.findings if finding.verdict == "failure"]
    assert verdict.reproduced == (not found)
    return found


def test_an_honest_campaign_is_reproduced_and_every_step_is_told() -> None:
    verdict = audit.check_record(RECORD)
    assert verdict.reproduced
    assert [finding.step for finding in verdict.findings] == [
        "announced",
        *["private"] * ROUNDS,
        "counted",
        "selected",
        *["made"] * ROUNDS,
    ]
    assert {finding.verdict for finding in verdict.findings} == {"ok"}


def test_the_selection_is_repeated_from_what_was_written_to_a_file() -> None:
    again = audit.repeat_selection(AuditRecord.from_bytes(RECORD.to_bytes()))
    assert tuple(again.participants.tolist()) == RECORD.selections[0].participants
    assert tuple(again.chances.tolist()) == RECORD.selections[0].chances


@pytest.mark.parametrize("closed", [0, 1, 2])
def test_a_campaign_that_was_ended_early_is_reproduced(closed: int) -> None:
    assert not failures(honest(closed))


def test_algorithm_2_is_reproduced_too() -> None:
    assert not failures(honest(algorithm="algorithm-2"))


def test_a_campaign_with_a_number_for_each_target_is_reproduced_and_a_shortfall_is_named() -> None:
    asked: dict[str, Any] = {"targets": (12, 3), "wanted": None, "target_names": ("Market", "Zoo")}
    record = honest(**asked, numbers=(4, 2))
    assert not failures(record)
    assert record.selections[0].targets == (0,) * 4 + (1,) * 2

    def exchange(document: dict[str, Any]) -> None:
        document["selections"][0]["targets"][3:5] = [1, 0]

    (found,) = failures(altered(exchange, record))
    assert "targets: at rank 4 the record has 1, the repetition gives 0" in found.text
    (found,) = failures(altered(lambda document: document["terms"].update(target_names=["Market", "Park"]), record))
    assert "target_names" in found.text
    short = honest(closed=1, **asked, numbers=(40, 40))
    assert not failures(short)
    (told,) = (one.text for one in audit.check_record(short).findings if one.step == "selected")
    missing = short.selections[0].missing
    assert sum(missing) > 0
    assert all(f"{few} at place {target + 1} (" in told for target, few in enumerate(missing) if few)


def test_progress_is_told_until_the_end() -> None:
    told: list[tuple[int, int]] = []
    audit.check_record(RECORD, lambda done, total: told.append((done, total)))
    assert told == [(done, 2 * ROUNDS + 3) for done in range(1, 2 * ROUNDS + 4)]


def swap_two(record: dict[str, Any]) -> None:
    chosen = record["selections"][0]["participants"]
    chosen[0], chosen[1] = chosen[1], chosen[0]


def favour(record: dict[str, Any]) -> None:
    outsider = next(row[0] for row in record["rows"] if row[0] not in record["selections"][0]["participants"])
    record["selections"][0]["participants"][-1] = outsider


def forget_one(record: dict[str, Any]) -> None:
    for column in ("participants", "targets", "chances", "chosen"):
        record["selections"][0][column].pop()
    record["selections"][0]["missing"][0] += 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (swap_two, "participants: at rank 1 the record has"),
        (favour, "participants: at rank 9"),
        (forget_one, "participants: the record has 8, the repetition gives 9"),
        (
            lambda record: record["selections"][0]["chances"].__setitem__(2, 0.99),
            "chances: at rank 3 the record has 0.99",
        ),
        (lambda record: record["selections"][0]["targets"].__setitem__(0, 7), "targets: at rank 1 the record has 7"),
        (
            lambda record: record["selections"][0]["chosen"].__setitem__(1, "filled"),
            "chosen: at rank 2 the record has filled",
        ),
        (lambda record: record["selections"][0].update(missing=[4]), "missing: the record has (4,)"),
    ],
)
def test_another_selection_is_found_out(change: Change, said: str) -> None:
    (found,) = failures(altered(change))
    assert found.step == "selected"
    assert said in found.text


def another_symbol(record: dict[str, Any]) -> None:
    row = next(row for row in record["rows"] if row[3] not in (None, 0))
    row[3] = 0


def other_symbol_count(record: dict[str, Any]) -> None:
    record["rounds"][1]["nulls"] += 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (another_symbol, "rows have 'hit'"),
        (other_symbol_count, "round 2: 8 rows have NULL, but 9 were counted"),
        (lambda record: record["rows"].pop(), "round 3: "),
        (lambda record: record["rows"][1].__setitem__(2, 7), "a row belongs to round 8, but only 3 were closed"),
        (lambda record: record["rows"][1].__setitem__(3, 10_000), "round 1: symbol 10000 was sent"),
    ],
)
def test_rows_that_do_not_add_up_are_found_out(change: Change, said: str) -> None:
    found = failures(altered(change))
    assert found[0].step == "counted"
    assert said in found[0].text


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda record: record["plan"].update(seed=OTHER), "should be 0123012301230123"),
        (lambda record: record["rounds"][0].update(number=1), "numbered from 0"),
        (lambda record: record["plan"].update(rounds=2), "rounds = 3: should be at most 2"),
        (lambda record: record["rows"].append(record["rows"][0]), "another participant"),
        (lambda record: record["rows"][1].__setitem__(1, record["rows"][0][1]), "another secret"),
        (lambda record: record["rounds"][0]["counts"].pop(), "counts"),
        (lambda record: record["rounds"][0].update(policy="AAAA"), "policy"),
        (lambda record: record["plan"].update(targets=[99]), "targets = 99"),
    ],
)
def test_a_record_that_makes_no_sense_is_a_failure_with_its_reason(change: Change, said: str) -> None:
    (found,) = failures(altered(change))
    assert found.step == "record"
    assert said in found.text


def test_another_seed_than_the_announced_one_is_found_out_and_selects_others() -> None:
    found = failures(altered(lambda record: record["selections"][0].update(seed=OTHER)))
    assert [finding.step for finding in found] == ["announced", "selected"]
    assert "the seed of selection 1 is not the one whose hash was announced" in found[0].text


def forged(record: dict[str, Any]) -> None:
    signed = RoundNotice.of(RECORD.terms, 1, record["notices"][1]["policy_hash"], "4c" * 32)
    record["notices"][1]["signature"] = signed.signature


def other_terms(record: dict[str, Any]) -> None:
    terms = RECORD.terms.model_copy(update={"name": "Silence"})
    policy_hash = record["notices"][0]["policy_hash"]
    record["notices"][0] = RoundNotice.of(terms, 0, policy_hash, KEY).model_dump(mode="json")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (forged, "round 2: notice.signature"),
        (other_terms, "round 1: the notice is of other terms"),
        (lambda record: record["notices"].pop(), "notices of 2 rounds, but 3 were closed"),
        (lambda record: record["notices"][0].update(policy_hash="0" * 64), "round 1: the notice names another policy"),
        (lambda record: record["terms"].update(delta=0.9), "the terms have thresholds"),
        (lambda record: record["terms"].update(campaign="silence"), "of campaign silence, not noise"),
        (lambda record: record["terms"].update(seed_hash="0" * 64), "the seed of selection 1 is not the one"),
    ],
)
def test_whoever_did_something_other_than_announced_is_found_out(change: Change, said: str) -> None:
    found = failures(altered(change))
    assert [one.step for one in found] == ["announced"]
    assert said in found[0].text


def test_a_protected_campaign_is_reproduced_too() -> None:
    assert not failures(honest(null_epsilon=log(64), grade_epsilon=log(64)))


def replaced(policy: Policy) -> AuditRecord:
    """The first round under another policy with as many symbols, announced like any other."""
    told = AuditRound.of(0, policy.to_bytes(), (), 0).policy

    def replace(record: dict[str, Any]) -> None:
        record["rounds"][0]["policy"] = told
        record["notices"][0] = RoundNotice.of(RECORD.terms, 0, policy.hash, KEY).model_dump(mode="json")

    return altered(replace)


def test_a_policy_that_is_not_private_is_found_out() -> None:
    made = next_policy(begin(plan_from_wire(new_campaign(), SEED)))
    weights = made.weights.copy()
    weights[0] = [made.total - 1, 1]
    bad = Policy(AREA, made.epsilon_per_km, made.targets, weights, completion=made.completion)
    found = failures(replaced(bad))
    assert found[0].step == "private"
    assert "round 1" in found[0].text
    assert "NOT private" in found[0].text


def test_a_policy_for_another_epsilon_or_other_targets_is_found_out() -> None:
    made = next_policy(begin(plan_from_wire(new_campaign(), SEED)))
    for epsilon, targets, name in ((log(8), (12,), "epsilon_per_km"), (log(4), (3,), "targets")):
        other = Policy(AREA, epsilon, targets, made.weights, completion=made.completion)
        found = failures(replaced(other))
        assert found[0].step == "private"
        assert f"has {name}" in found[0].text


def test_a_policy_that_the_counts_do_not_lead_to_is_a_warning_only() -> None:
    """Another machine may round differently; whom it selects, and whether it is private, is checked by itself."""
    other = honest(users=ROUNDS * EACH, wanted=9, prior=tuple(people_around(AREA, 1).tolist()))
    claimed = altered(lambda record: record["plan"].update(prior=None), other)
    grades = {(finding.step, finding.verdict) for finding in audit.check_record(claimed).findings}
    assert ("made", "warning") in grades
    assert ("private", "failure") not in grades
    assert ("counted", "failure") not in grades
