"""An audit repeats an honest campaign to the last bit, and finds out whoever did not keep to the rules."""

from __future__ import annotations

from collections.abc import Callable
from math import log
from typing import Any

import numpy as np
import pytest

import crowdveil as cv
from crowdveil.campaign import audit, begin, next_policy, resume
from crowdveil.campaign.from_wire import plan_from_wire
from crowdveil.campaign.selection import Reports
from crowdveil.campaign.state import select_so_far
from crowdveil.policy.policy import Policy
from crowdveil.prior import Round, count_symbols
from crowdveil.wire import PROTOCOL, AuditRecord, AuditRound, AuditSelection, CampaignPlan
from tests.town import live, people_around, square_town

AREA = square_town(5)
SEED = 11
ROUNDS = 3
EACH = 40
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
    rows: list[tuple[int, int, int | None]] = []
    for number in range(closed):
        policy = next_policy(resume(plan, rounds))
        places = live(people_around(AREA, 1), EACH, dice)
        symbols = cv.draw_many(policy, places, cv.certify(policy), dice).tolist()
        sent = [None if who % 5 == 0 else symbol for who, symbol in enumerate(symbols)]
        rows += [(number * EACH + who, number, symbol) for who, symbol in enumerate(sent)]
        one = count_symbols(policy, [symbol for symbol in sent if symbol is not None], sent.count(None))
        rounds.append(one)
        told.append(AuditRound.of(number, policy.to_bytes(), tuple(one.counts.tolist()), one.nulls))
    columns = np.array([row for row in rows if row[2] is not None], dtype=np.int64).reshape(-1, 3)
    chosen = select_so_far(resume(plan, rounds), Reports(columns[:, 0], columns[:, 1], columns[:, 2]))
    return AuditRecord(
        protocol=PROTOCOL,
        campaign="noise",
        plan=new,
        seed=SEED,
        rounds=tuple(told),
        rows=tuple(rows),
        selection=AuditSelection(
            participants=tuple(chosen.participants.tolist()),
            chances=tuple(chosen.chances.tolist()),
            hits=chosen.hits,
            short=chosen.short,
        ),
    )


RECORD = honest()


def altered(change: Change, record: AuditRecord = RECORD) -> AuditRecord:
    document = record.model_dump(mode="json")
    change(document)
    return AuditRecord.model_validate(document)


def failures(record: AuditRecord) -> list[audit.Finding]:
    verdict = audit.check_record(record)
    found = [finding for finding in verdict.findings if finding.grade == "failure"]
    assert verdict.reproduced == (not found)
    return found


def test_an_honest_campaign_is_reproduced_and_every_step_is_told() -> None:
    verdict = audit.check_record(RECORD)
    assert verdict.reproduced
    assert [finding.step for finding in verdict.findings] == [
        *["private"] * ROUNDS,
        "counted",
        "selected",
        *["made"] * ROUNDS,
    ]
    assert {finding.grade for finding in verdict.findings} == {"ok"}


def test_the_selection_is_repeated_from_what_was_written_to_a_file() -> None:
    again = audit.repeat_selection(AuditRecord.from_bytes(RECORD.to_bytes()))
    assert tuple(again.participants.tolist()) == RECORD.selection.participants
    assert tuple(again.chances.tolist()) == RECORD.selection.chances


@pytest.mark.parametrize("closed", [0, 1, 2])
def test_a_campaign_that_was_ended_early_is_reproduced(closed: int) -> None:
    assert not failures(honest(closed))


def test_algorithm_2_is_reproduced_too() -> None:
    assert not failures(honest(algorithm="algorithm-2"))


def test_progress_is_told_until_the_end() -> None:
    told: list[tuple[int, int]] = []
    audit.check_record(RECORD, lambda done, total: told.append((done, total)))
    assert told == [(done, 2 * ROUNDS + 2) for done in range(1, 2 * ROUNDS + 3)]


def swap_two(record: dict[str, Any]) -> None:
    chosen = record["selection"]["participants"]
    chosen[0], chosen[1] = chosen[1], chosen[0]


def favour(record: dict[str, Any]) -> None:
    outsider = next(row[0] for row in record["rows"] if row[0] not in record["selection"]["participants"])
    record["selection"]["participants"][-1] = outsider


def forget_one(record: dict[str, Any]) -> None:
    record["selection"]["participants"].pop()
    record["selection"]["chances"].pop()
    record["selection"]["short"] += 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (swap_two, "participants: at rank 1 the record has"),
        (favour, "participants: at rank 9"),
        (forget_one, "participants: the record has 8, the repetition gives 9"),
        (lambda record: record["selection"]["chances"].__setitem__(2, 0.99), "chances: at rank 3 the record has 0.99"),
        (lambda record: record["selection"].update(hits=0), "hits: the record has 0"),
        (lambda record: record["selection"].update(short=4), "short: the record has 4"),
    ],
)
def test_another_selection_is_found_out(change: Change, said: str) -> None:
    (found,) = failures(altered(change))
    assert found.step == "selected"
    assert said in found.text


def another_symbol(record: dict[str, Any]) -> None:
    row = next(row for row in record["rows"] if row[2] not in (None, 0))
    row[2] = 0


def other_symbol_count(record: dict[str, Any]) -> None:
    record["rounds"][1]["nulls"] += 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (another_symbol, "rows have 'hit'"),
        (other_symbol_count, "round 2: 8 rows have NULL, but 9 were counted"),
        (lambda record: record["rows"].pop(), "round 3: "),
        (lambda record: record["rows"][1].__setitem__(1, 7), "a row belongs to round 8, but only 3 were closed"),
        (lambda record: record["rows"][1].__setitem__(2, 10_000), "round 1: symbol 10000 was sent"),
    ],
)
def test_rows_that_do_not_add_up_are_found_out(change: Change, said: str) -> None:
    found = failures(altered(change))
    assert found[0].step == "counted"
    assert said in found[0].text


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda record: record["plan"].update(seed=SEED + 1), "seed = 11: should be 12, the seed of the plan"),
        (lambda record: record["rounds"][0].update(number=1), "numbered from 0"),
        (lambda record: record["plan"].update(rounds=2), "rounds = 3: should be at most 2"),
        (lambda record: record["rows"].append(record["rows"][0]), "another participant"),
        (lambda record: record["rounds"][0]["counts"].pop(), "counts"),
        (lambda record: record["rounds"][0].update(policy="AAAA"), "policy"),
        (lambda record: record["plan"].update(targets=[99]), "targets = 99"),
    ],
)
def test_a_record_that_makes_no_sense_is_a_failure_with_its_reason(change: Change, said: str) -> None:
    (found,) = failures(altered(change))
    assert found.step == "record"
    assert said in found.text


def test_another_seed_than_the_published_one_selects_others() -> None:
    assert [finding.step for finding in failures(altered(lambda record: record.update(seed=SEED + 1)))] == ["selected"]


def replaced(policy: Policy) -> AuditRecord:
    """The first round under another policy with as many symbols."""
    return altered(
        lambda record: record["rounds"][0].update(
            AuditRound.of(0, policy.to_bytes(), (), 0).model_dump(include={"policy"})
        )
    )


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
    grades = {(finding.step, finding.grade) for finding in audit.check_record(claimed).findings}
    assert ("made", "warning") in grades
    assert ("private", "failure") not in grades
    assert ("counted", "failure") not in grades
