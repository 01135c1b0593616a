"""Repeats a finished campaign from its public record, and says whether it went as promised. Pure: no network, no clock.

    record      the plan, every round's policy and counts, one row per participant (participant, round, symbol)
    private     every policy is certified at the plan's ε, and is for the plan's area and targets
    counted     the rows of each round add up to its counts
    selected    the same counts, rows and seed select the same people, in the same order, with the same chances
    made        each policy is the one that the counts before it lead to

A server that does not keep to the first four is found out. The last one may differ on another machine: solvers and
mathematical libraries round differently. That is a warning: whom a policy favours is decided by `selected` alone, and
how private it is by `private`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from crowdveil.campaign import Plan, next_policy, resume
from crowdveil.campaign.from_wire import choose, plan_from_wire
from crowdveil.campaign.selection import Reports, Selection
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
    """One thing that was checked."""

    step: AuditStep
    grade: Grade
    said: str


@dataclass(frozen=True)
class AuditVerdict:
    """What an audit found, in the order of its steps."""

    findings: tuple[Finding, ...]

    @property
    def reproduced(self) -> bool:
        """Whether the campaign went as its record says; warnings do not count against it."""
        return all(finding.grade != "failure" for finding in self.findings)


@dataclass(frozen=True, eq=False)
class _Played:
    """A record, read."""

    record: AuditRecord
    plan: Plan
    rounds: tuple[Round, ...]
    reports: Reports

    def select(self) -> Selection:
        return choose(resume(self.plan, self.rounds), self.reports)


def repeat(record: AuditRecord) -> Selection:
    """Select again, from the record alone."""
    return _read(record).select()


def check(record: AuditRecord, progress: Progress | None = None) -> AuditVerdict:
    """Check every step; a step that cannot be checked, because an earlier one makes no sense, is left out."""
    try:
        played = _read(record)
    except CrowdveilError as error:
        return AuditVerdict((Finding("record", "failure", str(error)),))
    findings = []
    total = 2 * len(played.rounds) + 2
    for finding in _steps(played):
        findings.append(finding)
        if progress is not None:
            progress(len(findings), total)
    return AuditVerdict(tuple(findings))


def _steps(played: _Played) -> Iterator[Finding]:
    for number, one in enumerate(played.rounds):
        yield _private(played.plan, number, one.policy)
    yield _counted(played)
    yield _selected(played)
    for number in range(len(played.rounds)):
        yield _made(played, number)


def _read(record: AuditRecord) -> _Played:
    plan = plan_from_wire(record.plan, record.seed)
    if record.plan.seed not in (None, record.seed):
        raise InputError("seed", record.seed, f"the plan fixed {record.plan.seed} beforehand")
    if [one.number for one in record.rounds] != list(range(len(record.rounds))):
        raise InputError("rounds", [one.number for one in record.rounds], "should be numbered from 0, without a gap")
    if len(record.rounds) > plan.rounds:
        raise InputError("rounds", len(record.rounds), f"the plan has {plan.rounds}")
    rounds = tuple(
        Round(Policy.from_bytes(one.policy_bytes), np.array(one.counts, dtype=np.int64), one.nulls)
        for one in record.rounds
    )
    who = [participant for participant, _, _ in record.rows]
    if len(set(who)) != len(who):
        raise InputError("rows", len(who), f"should be of different participants; these are of {len(set(who))}")
    sent = [row for row in record.rows if row[2] is not None]
    columns = np.array(sent, dtype=np.int64).reshape(len(sent), 3)
    return _Played(record, plan, rounds, Reports(columns[:, 0], columns[:, 1], columns[:, 2]))


def _private(plan: Plan, number: int, policy: Policy) -> Finding:
    which = f"round {number + 1}, policy {policy.hash[:12]}"
    for name in ("area", "targets", "epsilon_per_km", "null_epsilon"):
        planned, found = getattr(plan, name), getattr(policy, name)
        if planned != found:
            return Finding("private", "failure", f"{which}: is for {name} = {found!r}; the plan says {planned!r}")
    certificate = certify(policy, epsilon_per_km=plan.epsilon_per_km)
    if not certificate.ok:
        return Finding("private", "failure", f"{which}: {certificate.explain()}")
    return Finding("private", "ok", f"{which}: private from ε = {certificate.smallest_shown} per km on")


def _counted(played: _Played) -> Finding:
    """Hold the rows against the counts, symbol by symbol."""
    reports, told = played.reports, played.record.rows
    beyond = [number for _, number, _ in told if number >= len(played.rounds)]
    if beyond:
        return Finding("counted", "failure", f"a row is of round {beyond[0] + 1}; {len(played.rounds)} were closed")
    without = np.array([number for _, number, symbol in told if symbol is None], dtype=np.int64)
    nulls = np.bincount(without, minlength=len(played.rounds))
    for number, one in enumerate(played.rounds):
        sent = reports.symbol[reports.round == number]
        if sent.size and int(sent.max()) >= one.policy.symbol_count:
            said = f"round {number + 1}: symbol {int(sent.max())} was sent; its policy has {one.policy.symbol_count}"
            return Finding("counted", "failure", said)
        counts = np.bincount(sent, minlength=one.policy.symbol_count)
        wrong = np.flatnonzero(counts != one.counts)
        if wrong.size:
            symbol = int(wrong[0])
            name = one.policy.symbol_name(symbol)
            said = f"round {number + 1}: {counts[symbol]} rows say '{name}', {one.counts[symbol]} were counted"
            return Finding("counted", "failure", said)
        if nulls[number] != one.nulls:
            said = f"round {number + 1}: {nulls[number]} rows say NULL, {one.nulls} were counted"
            return Finding("counted", "failure", said)
    sums = f"{len(reports):,} symbols and {int(nulls.sum()):,} times NULL"
    return Finding("counted", "ok", f"{len(told):,} rows add up to the counts of {len(played.rounds)} rounds: {sums}")


def _selected(played: _Played) -> Finding:
    told = played.record.selection
    try:
        found = played.select()
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
    said = f"the same {len(told.participants):,} people in the same order, {told.hits} by a selecting symbol{few}"
    return Finding("selected", "ok", said)


def _difference(mine: object, theirs: object) -> str:
    if not isinstance(mine, tuple) or not isinstance(theirs, tuple):
        return f"the record says {theirs}, repeated here it is {mine}"
    if len(mine) != len(theirs):
        return f"the record has {len(theirs)}, repeated here there are {len(mine)}"
    rank = next(rank for rank, pair in enumerate(zip(mine, theirs, strict=True)) if pair[0] != pair[1])
    return f"at rank {rank + 1} the record says {theirs[rank]}, repeated here it is {mine[rank]}"


def _made(played: _Played, number: int) -> Finding:
    published = played.rounds[number].policy
    which = f"round {number + 1}, policy {published.hash[:12]}"
    try:
        made = next_policy(resume(played.plan, played.rounds[:number]))
    except CrowdveilError as error:
        return Finding("made", "warning", f"{which}: cannot be made here ({error})")
    if made == published:
        return Finding("made", "ok", f"{which}: the counts before it lead to the same, to the last bit")
    mine, theirs = made.table(), published.table()
    if mine.shape == theirs.shape:
        most = float(np.abs(mine - theirs).max())
        if most == 0:
            return Finding("made", "ok", f"{which}: the counts before it lead to the same weights")
        how = f"chances differ by {most:.2g} at most"
    else:
        how = f"it has {made.symbol_count} symbols, not {published.symbol_count}"
    said = f"{which}: made here from the counts before it, {how}; another machine or version may well round differently"
    return Finding("made", "warning", said)
