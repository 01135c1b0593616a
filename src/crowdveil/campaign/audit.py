"""Repeat a finished campaign from its public record, and check that it was run as planned. No network, no clock.

    record      the plan, every round's policy and counts, one row per participant (participant, round, symbol)
    private     every policy is certified at the plan's ε, and is for the plan's area and targets
    counted     the rows of each round add up to its counts
    selected    the same counts, rows and seed select the same people, in the same order, with the same chances
    made        each policy is the one that the counts before it lead to

A server that violates one of the first four is detected. The last one may differ on another machine, because solvers
and mathematical libraries round differently. That is a warning only: `selected` alone decides who was chosen, and
`private` how private the policies were.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from crowdveil.campaign import Plan, next_policy, resume
from crowdveil.campaign.from_wire import plan_from_wire
from crowdveil.campaign.selection import Reports, Selection
from crowdveil.campaign.state import select_so_far
from crowdveil.certify import certify
from crowdveil.errors import CrowdveilError, InputError
from crowdveil.policy.policy import Policy
from crowdveil.prior import Round
from crowdveil.vocabulary import Progress
from crowdveil.wire import AuditRecord, AuditSelection

AuditStep = Literal["record", "private", "counted", "selected", "made"]
Grade = Literal["ok", "warning", "failure"]


@dataclass(frozen=True)
class Finding:
    """The result of one check."""

    step: AuditStep
    grade: Grade
    text: str


@dataclass(frozen=True)
class AuditVerdict:
    """The findings of an audit, in the order of its steps."""

    findings: tuple[Finding, ...]

    @property
    def reproduced(self) -> bool:
        """Whether the campaign was run as its record says; warnings are allowed."""
        return all(finding.grade != "failure" for finding in self.findings)


@dataclass(frozen=True, eq=False)
class _ReadRecord:
    """A record with its plan, rounds and reports as values."""

    record: AuditRecord
    plan: Plan
    rounds: tuple[Round, ...]
    reports: Reports

    def select(self) -> Selection:
        return select_so_far(resume(self.plan, self.rounds), self.reports)


def repeat_selection(record: AuditRecord) -> Selection:
    """Select again, from the record alone."""
    return _read(record).select()


def check_record(record: AuditRecord, progress: Progress | None = None) -> AuditVerdict:
    """Check every step; steps that depend on an unreadable record are left out."""
    try:
        read = _read(record)
    except CrowdveilError as error:
        return AuditVerdict((Finding("record", "failure", str(error)),))
    findings = []
    total = 2 * len(read.rounds) + 2
    for finding in _steps(read):
        findings.append(finding)
        if progress is not None:
            progress(len(findings), total)
    return AuditVerdict(tuple(findings))


def _steps(read: _ReadRecord) -> Iterator[Finding]:
    for number, one in enumerate(read.rounds):
        yield _private(read.plan, number, one.policy)
    yield _counted(read)
    yield _selected(read)
    for number in range(len(read.rounds)):
        yield _made(read, number)


def _read(record: AuditRecord) -> _ReadRecord:
    plan = plan_from_wire(record.plan, record.seed)
    if record.plan.seed not in (None, record.seed):
        raise InputError("seed", record.seed, f"should be {record.plan.seed}, the seed of the plan")
    if [one.number for one in record.rounds] != list(range(len(record.rounds))):
        raise InputError("rounds", [one.number for one in record.rounds], "should be numbered from 0, without a gap")
    if len(record.rounds) > plan.rounds:
        raise InputError("rounds", len(record.rounds), f"should be at most {plan.rounds}, the rounds of the plan")
    rounds = tuple(
        Round(Policy.from_bytes(one.policy_bytes), np.array(one.counts, dtype=np.int64), one.nulls)
        for one in record.rounds
    )
    who = [participant for participant, _, _ in record.rows]
    if len(set(who)) != len(who):
        raise InputError("rows", len(who), f"should each be of another participant; these are of {len(set(who))}")
    sent = [row for row in record.rows if row[2] is not None]
    columns = np.array(sent, dtype=np.int64).reshape(len(sent), 3)
    return _ReadRecord(record, plan, rounds, Reports(columns[:, 0], columns[:, 1], columns[:, 2]))


def _private(plan: Plan, number: int, policy: Policy) -> Finding:
    which = f"round {number + 1}, policy {policy.hash[:12]}"
    for name in ("area", "targets", "epsilon_per_km", "null_epsilon"):
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
    beyond = [number for _, number, _ in told if number >= len(read.rounds)]
    if beyond:
        return Finding(
            "counted", "failure", f"a row belongs to round {beyond[0] + 1}, but only {len(read.rounds)} were closed"
        )
    without = np.array([number for _, number, symbol in told if symbol is None], dtype=np.int64)
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


def _selected(read: _ReadRecord) -> Finding:
    told = read.record.selection
    try:
        found = read.select()
    except CrowdveilError as error:
        return Finding("selected", "failure", str(error))
    again = AuditSelection(
        participants=tuple(found.participants.tolist()),
        chances=tuple(found.chances.tolist()),
        hits=found.hits,
        short=found.short,
    )
    for name in ("participants", "chances", "hits", "short"):
        mine, theirs = getattr(again, name), getattr(told, name)
        if mine != theirs:
            return Finding("selected", "failure", f"{name}: {_difference(mine, theirs)}")
    few = f", {told.short} fewer than wanted" if told.short else ""
    text = f"the same {len(told.participants):,} people in the same order, {told.hits} by a selecting symbol{few}"
    return Finding("selected", "ok", text)


def _difference(mine: object, theirs: object) -> str:
    if not isinstance(mine, tuple) or not isinstance(theirs, tuple):
        return f"the record has {theirs}, the repetition gives {mine}"
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
