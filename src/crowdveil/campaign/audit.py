"""Repeat a finished campaign from its public record, and check that it was run as planned. No network, no clock.

    record      the plan, every round's policy and counts, one row per participant (participant, commitment, round,
                symbol)
    announced   the terms are those of the plan, the seeds are those whose hash they name, and every round's policy is
                the one in its signed notice
    private     every policy is certified at the plan's ε, and is for the plan's area and targets
    counted     the rows of each round add up to its counts
    selected    the same counts, rows and seed select the same people, in the same order, with the same chances; of a
                panel each selection, after those before it, of which none was made later or used more rounds. Their
                numbers are their places in the record: the seeds, each the hash of the next one, leave no gap
    made        each policy is the one that the counts before it lead to

A server that violates one of the first five is detected. The last one may differ on another machine, because solvers
and mathematical libraries round differently. That is a warning only: `selected` alone decides who was chosen, and
`private` how private the policies were.

A record is what the operator says happened. The audit shows that it is consistent, not that it is the only one: who
asked what of a panel, and when, is signed by nobody, so an operator can write a history that nobody else has seen
anew. Participants see in their status how often their answer was used and by which selections they were chosen;
whoever keeps an earlier record can compare it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from crowdveil.campaign import Plan, PlanComparison, SelectionRequest, State, compare_with_plan, next_policy, resume
from crowdveil.campaign.from_wire import NO_SEED, plan_from_wire, request_from_wire, selection_message
from crowdveil.campaign.selection import Reports, Selection
from crowdveil.campaign.state import select_from_panel, select_so_far
from crowdveil.certify import certify
from crowdveil.errors import CrowdveilError, InputError
from crowdveil.policy.policy import Policy
from crowdveil.prior import Round
from crowdveil.vocabulary import Progress
from crowdveil.wire import AuditRecord, secret_digest

AuditStep = Literal["record", "announced", "private", "counted", "selected", "made"]
FindingVerdict = Literal["ok", "warning", "failure"]
ANNOUNCED = (
    "name",
    "offer",
    "area",
    "targets",
    "target_names",
    "epsilon_per_km",
    "null_epsilon",
    "grade_epsilon",
    "thresholds",
    "profile_constants",
    "rule",
    "period",
    "enrolment",
    "rounds",
    "panel",
    "renewal_s",
)
"""What terms and plan both say."""


@dataclass(frozen=True)
class Finding:
    """The result of one check."""

    step: AuditStep
    verdict: FindingVerdict
    text: str


@dataclass(frozen=True)
class AuditVerdict:
    """The findings of an audit, in the order of its steps."""

    findings: tuple[Finding, ...]

    @property
    def reproduced(self) -> bool:
        """Whether the campaign was run as its record says; warnings are allowed."""
        return all(finding.verdict != "failure" for finding in self.findings)


@dataclass(frozen=True, eq=False)
class _ReadRecord:
    """A record with its plan, rounds and reports as values."""

    record: AuditRecord
    plan: Plan
    rounds: tuple[Round, ...]
    reports: Reports

    def state_at(self, number: int) -> State:
        """The state from which a selection was made."""
        return resume(self.plan, self.rounds[: self.record.selections[number].rounds])

    def select(self, number: int) -> Selection:
        """Repeat a selection, from the rounds that were closed then and the selections before it."""
        told, state = self.record.selections[number], self.state_at(number)
        then = self.reports.in_order(np.flatnonzero(self.reports.round < told.rounds))
        if told.request is None:
            return select_so_far(state, then)
        earlier = [(one.made, np.array(one.participants, dtype=np.int64)) for one in self.record.selections[:number]]
        request = request_from_wire(told.request)
        return select_from_panel(state, then, request, seed=told.seed, made=told.made, earlier=earlier)


def repeat_selection(record: AuditRecord, number: int = 0) -> Selection:
    """Make one of the selections again, from the record alone."""
    _check_number(record, number)
    return _read(record).select(number)


def compare_record_with_plan(record: AuditRecord, number: int = 0) -> PlanComparison:
    """Explain why one of the selections brings more or fewer people than was planned."""
    _check_number(record, number)
    read, asked = _read(record), record.selections[number].request
    return compare_with_plan(read.state_at(number), None if asked is None else request_from_wire(asked))


def _check_number(record: AuditRecord, number: int) -> None:
    if not 0 <= number < len(record.selections):
        raise InputError("number", number, f"should be below {len(record.selections)}, the number of selections")


def check_record(record: AuditRecord, progress: Progress | None = None) -> AuditVerdict:
    """Check every step; steps that depend on an unreadable record are left out."""
    try:
        read = _read(record)
    except CrowdveilError as error:
        return AuditVerdict((Finding("record", "failure", str(error)),))
    findings = []
    total = 2 * len(read.rounds) + 2 + len(record.selections)
    for finding in _steps(read):
        findings.append(finding)
        if progress is not None:
            progress(len(findings), total)
    return AuditVerdict(tuple(findings))


def _steps(read: _ReadRecord) -> Iterator[Finding]:
    record = read.record
    yield _announced(read)
    for number, one in enumerate(read.rounds):
        yield _private(read.plan, number, one.policy)
    yield _counted(read)
    for number in range(len(record.selections)):
        yield _selected(read, number)
    for number in range(len(read.rounds)):
        yield _made(read, number)


def _read(record: AuditRecord) -> _ReadRecord:
    if not record.plan.panel and len(record.selections) != 1:
        raise InputError("selections", len(record.selections), "should be one, of a campaign that is asked once")
    seed = NO_SEED if record.plan.panel else record.selections[0].seed
    plan = plan_from_wire(record.plan, seed)
    if record.plan.seed not in (None, seed):
        raise InputError("seed", seed, f"should be {record.plan.seed}, the seed of the plan")
    for number, one in enumerate(record.selections):
        if (one.request is None) == record.plan.panel:
            raise InputError(
                f"selections[{number}].request", one.request, "should be given for a panel, and only there"
            )
        if one.rounds > len(record.rounds):
            raise InputError(f"selections[{number}].rounds", one.rounds, f"should be at most {len(record.rounds)}")
    if [one.number for one in record.rounds] != list(range(len(record.rounds))):
        raise InputError("rounds", [one.number for one in record.rounds], "should be numbered from 0, without a gap")
    if len(record.rounds) > plan.rounds:
        raise InputError("rounds", len(record.rounds), f"should be at most {plan.rounds}, the rounds of the plan")
    rounds = tuple(
        Round(Policy.from_bytes(one.policy_bytes), np.array(one.counts, dtype=np.int64), one.nulls)
        for one in record.rounds
    )
    for name, told in (("participant", [row[0] for row in record.rows]), ("secret", [row[1] for row in record.rows])):
        if len(set(told)) != len(told):
            raise InputError("rows", len(told), f"should each be of another {name}; these are of {len(set(told))}")
    sent = [row for row in record.rows if row[3] is not None]
    columns = np.array([(who, number, symbol) for who, _, number, symbol in sent], dtype=np.int64).reshape(-1, 3)
    tickets = tuple(row[1] for row in sent)
    return _ReadRecord(record, plan, rounds, Reports(columns[:, 0], columns[:, 1], columns[:, 2], tickets))


def _announced(read: _ReadRecord) -> Finding:
    """Compare what was announced with what was done."""
    record, terms = read.record, read.record.terms
    if terms.campaign != record.campaign:
        return Finding("announced", "failure", f"the terms are of campaign {terms.campaign}, not {record.campaign}")
    for name in ANNOUNCED:
        planned, told = getattr(record.plan, name), getattr(terms, name)
        if planned != told:
            return Finding("announced", "failure", f"the terms have {name} = {told!r}; the plan has {planned!r}")
    announced = terms.seed_hash
    for number, one in enumerate(record.selections):
        if secret_digest(one.seed) != announced:
            text = f"the seed of selection {number + 1} is not the one whose hash was announced, {announced[:12]}"
            return Finding("announced", "failure", text)
        announced = one.seed
    hashes = [one.policy.hash for one in read.rounds]
    if [notice.round for notice in record.notices] != list(range(len(hashes))):
        text = f"there are notices of {len(record.notices)} rounds, but {len(hashes)} were closed"
        return Finding("announced", "failure", text)
    for notice, policy_hash in zip(record.notices, hashes, strict=True):
        which = f"round {notice.round + 1}"
        if (notice.campaign, notice.terms_hash) != (record.campaign, terms.hash):
            return Finding("announced", "failure", f"{which}: the notice is of other terms")
        if notice.policy_hash != policy_hash:
            return Finding("announced", "failure", f"{which}: the notice names another policy")
        try:
            notice.verify(terms.server_key)
        except InputError as error:
            return Finding("announced", "failure", f"{which}: {error}")
    text = f"terms {terms.hash[:12]}, signed by {terms.server_key[:12]}; the seeds are those announced"
    return Finding("announced", "ok", text)


def _private(plan: Plan, number: int, policy: Policy) -> Finding:
    which = f"round {number + 1}, policy {policy.hash[:12]}"
    for name in ("area", "targets", "epsilon_per_km", "null_epsilon", "grade_epsilon"):
        planned, found = getattr(plan, name), getattr(policy, name)
        if planned != found:
            return Finding("private", "failure", f"{which}: has {name} = {found!r}; the plan has {planned!r}")
    certificate = certify(policy, epsilon_per_km=plan.epsilon_per_km)
    if not certificate.ok:
        return Finding("private", "failure", f"{which}: {certificate.explain()}")
    return Finding("private", "ok", f"{which}: private at ε ≥ {certificate.smallest_shown} per km")


def _counted(read: _ReadRecord) -> Finding:
    """Compare the rows with the counts, symbol by symbol."""
    reports, told = read.reports, read.record.rows
    beyond = [number for _, _, number, _ in told if number >= len(read.rounds)]
    if beyond:
        return Finding(
            "counted", "failure", f"a row belongs to round {beyond[0] + 1}, but only {len(read.rounds)} were closed"
        )
    without = np.array([number for _, _, number, symbol in told if symbol is None], dtype=np.int64)
    nulls = np.bincount(without, minlength=len(read.rounds))
    for number, one in enumerate(read.rounds):
        sent = reports.symbol[reports.round == number]
        if sent.size and int(sent.max()) >= one.policy.symbol_count:
            text = f"round {number + 1}: symbol {int(sent.max())} was sent; its policy has {one.policy.symbol_count}"
            return Finding("counted", "failure", text)
        counts = np.bincount(sent, minlength=one.policy.symbol_count)
        wrong = np.flatnonzero(counts != one.counts)
        if wrong.size:
            symbol = int(wrong[0])
            name = one.policy.symbol_name(symbol)
            text = f"round {number + 1}: {counts[symbol]} rows have '{name}', but {one.counts[symbol]} were counted"
            return Finding("counted", "failure", text)
        if nulls[number] != one.nulls:
            text = f"round {number + 1}: {nulls[number]} rows have NULL, but {one.nulls} were counted"
            return Finding("counted", "failure", text)
    sums = f"{len(reports):,} symbols and {int(nulls.sum()):,} NULL"
    return Finding("counted", "ok", f"{len(told):,} rows add up to the counts of {len(read.rounds)} rounds: {sums}")


def _selected(read: _ReadRecord, number: int) -> Finding:
    told = read.record.selections[number]
    which = f"selection {number + 1}: " if read.plan.panel else ""
    if number:
        before = read.record.selections[number - 1]
        if told.made < before.made:
            text = f"was made at {told.made}, earlier than the selection before it, at {before.made}"
            return Finding("selected", "failure", f"{which}{text}")
        if told.rounds < before.rounds:
            text = f"used {told.rounds} closed rounds, fewer than the selection before it, {before.rounds}"
            return Finding("selected", "failure", f"{which}{text}")
    try:
        found = read.select(number)
    except CrowdveilError as error:
        return Finding("selected", "failure", f"{which}{error}")
    again = selection_message(found, request=told.request, made=told.made, rounds=told.rounds, seed=told.seed)
    for name in ("participants", "targets", "chances", "chosen"):
        mine, theirs = getattr(again, name), getattr(told, name)
        if mine != theirs:
            return Finding("selected", "failure", f"{which}{name}: {_difference(mine, theirs)}")
    if again.missing != told.missing:
        text = f"missing: the record has {told.missing}, the repetition gives {again.missing}"
        return Finding("selected", "failure", f"{which}{text}")
    text = f"{which}the same {len(found):,} people in the same order, {found.hits} by a selecting symbol"
    request = read.plan.request if told.request is None else request_from_wire(told.request)
    return Finding("selected", "ok", f"{text}{_short(request, found)}")


def _short(request: SelectionRequest, found: Selection) -> str:
    """Say how many fewer were selected than wanted, and where."""
    if request.numbers is None or not found.short:
        return f", {found.short} fewer than wanted" if found.short else ""
    where = (f"{few} at place {request.place_name(target)}" for target, few in enumerate(found.missing) if few)
    return f", fewer than wanted: {', '.join(where)}"


def _difference(mine: tuple[object, ...], theirs: tuple[object, ...]) -> str:
    if len(mine) != len(theirs):
        return f"the record has {len(theirs)}, the repetition gives {len(mine)}"
    rank = next(rank for rank, pair in enumerate(zip(mine, theirs, strict=True)) if pair[0] != pair[1])
    return f"at rank {rank + 1} the record has {theirs[rank]}, the repetition gives {mine[rank]}"


def _made(read: _ReadRecord, number: int) -> Finding:
    published = read.rounds[number].policy
    which = f"round {number + 1}, policy {published.hash[:12]}"
    try:
        made = next_policy(resume(read.plan, read.rounds[:number]))
    except CrowdveilError as error:
        return Finding("made", "warning", f"{which}: cannot be made again ({error})")
    if made == published:
        return Finding("made", "ok", f"{which}: the counts before it give exactly this policy")
    mine, theirs = made.table(), published.table()
    if mine.shape == theirs.shape:
        most = float(np.abs(mine - theirs).max())
        if most == 0:
            return Finding("made", "ok", f"{which}: the counts before it give the same weights")
        how = f"probabilities differ by at most {most:.2g}"
    else:
        how = f"there are {made.symbol_count} symbols, not {published.symbol_count}"
    text = f"{which}: made again from the counts before it, {how}; another machine or version may round differently"
    return Finding("made", "warning", text)
