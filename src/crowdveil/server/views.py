"""Turn what is stored into what an operator sees, and into the audit record."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from crowdveil.server.services import read_plan
from crowdveil.server.terms import read_terms
from crowdveil.store import (
    NULL,
    Campaign,
    Store,
    closed_rounds,
    last_estimate,
    policy_bytes,
    report_rows,
    round_progress,
    rounds_of,
    selection_of,
)
from crowdveil.wire import (
    PROTOCOL,
    AuditRecord,
    AuditRound,
    AuditSelection,
    CampaignView,
    RoundNotice,
    RoundView,
    SelectionRow,
)


def campaign_view(store: Store, campaign: Campaign) -> CampaignView:
    """Return a campaign as its operator sees it: counts, never single reports."""
    counted = {one.number: one for one in round_progress(store, campaign.id)}
    rounds = [
        RoundView(
            number=one.number,
            state=one.state,
            policy_hash=one.policy_hash,
            size=one.size,
            deadline=one.deadline,
            seated=counted[one.number].seated,
            accepted=counted[one.number].accepted,
            refused=counted[one.number].refused,
        )
        for one in rounds_of(store, campaign.id)
        if one.number in counted  # a round may have been opened between the two queries
    ]
    estimate = last_estimate(store, campaign.id)
    chosen = selection_of(store, campaign.id)
    terms = read_terms(campaign.terms)
    return CampaignView(
        protocol=PROTOCOL,
        campaign=campaign.id,
        state=campaign.state,
        plan=read_plan(campaign.plan),
        server_key=terms.server_key,
        terms_hash=terms.hash,
        created=campaign.created,
        rounds=tuple(rounds),
        estimate=None if estimate is None else estimate.prior,
        expected_coverage=None if estimate is None else estimate.expected_coverage,
        selected=None if chosen is None else len(chosen),
    )


def selection_rows(store: Store, campaign: Campaign) -> Iterator[SelectionRow]:
    """Yield the selection of a finished campaign, in order."""
    chosen = selection_of(store, campaign.id)
    assert chosen is not None, "the campaign is finished"
    rows = report_rows(store, campaign.id)
    at = np.searchsorted(rows.participant, chosen.participants)
    columns = (chosen.participants, rows.round[at], rows.symbol[at], chosen.chances)
    for rank, (who, number, symbol, chance) in enumerate(zip(*(one.tolist() for one in columns), strict=True)):
        yield SelectionRow(rank=rank, participant=who, round=number, symbol=symbol, chance=chance)


def audit_record(store: Store, campaign: Campaign) -> AuditRecord:
    """Return all that is needed to repeat the selection of a finished campaign."""
    chosen = selection_of(store, campaign.id)
    assert chosen is not None, "the campaign is finished"
    rounds = []
    for number, one in enumerate(closed_rounds(store, campaign.id)):
        data = policy_bytes(store, campaign.id, number)
        assert data is not None, "a closed round has a policy"
        rounds.append(AuditRound.of(number, data, tuple(one.counts.tolist()), one.nulls))
    rows = report_rows(store, campaign.id)
    return AuditRecord(
        protocol=PROTOCOL,
        campaign=campaign.id,
        plan=read_plan(campaign.plan),
        terms=read_terms(campaign.terms),
        seed=campaign.seed,
        notices=tuple(
            RoundNotice.from_bytes(one.notice.encode())
            for one in rounds_of(store, campaign.id)
            if one.notice is not None
        ),
        rounds=tuple(rounds),
        rows=tuple(
            (who, commitment, number, None if symbol == NULL else symbol)
            for who, commitment, number, symbol in zip(
                rows.participant.tolist(), rows.commitment, rows.round.tolist(), rows.symbol.tolist(), strict=True
            )
        ),
        selection=AuditSelection(
            participants=tuple(chosen.participants.tolist()),
            chances=tuple(chosen.chances.tolist()),
            hits=chosen.hits,
            short=chosen.short,
        ),
    )
