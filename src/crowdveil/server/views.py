"""Turn what is stored into what an operator sees, and into the audit record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from crowdveil.area import Area
from crowdveil.campaign.from_wire import selection_message
from crowdveil.server.services import Services, read_plan
from crowdveil.server.settings import delete_at
from crowdveil.server.terms import lotteries, read_terms
from crowdveil.store import (
    NULL,
    Campaign,
    Store,
    StoredSelection,
    closed_rounds,
    last_estimate,
    policy_bytes,
    report_rows,
    round_progress,
    rounds_of,
    selection_of,
    selections_of,
    shares_of,
)
from crowdveil.vocabulary import OperatorRole
from crowdveil.wire import (
    PROTOCOL,
    AuditRecord,
    AuditRound,
    AuditSelection,
    CampaignPlan,
    CampaignView,
    Expectation,
    PanelRequest,
    RoundNotice,
    RoundView,
    SelectionRow,
    SelectionView,
    selection_seed,
)

DEGREE_DECIMALS = 6
"""A millionth of a degree is about 10 cm."""


def campaign_view(services: Services, campaign: Campaign, role: OperatorRole = "owner") -> CampaignView:
    """Return a campaign as its operator sees it: counts, never single reports.

    A viewer does not see a seed that the plan names: whoever knows it can foretell the lottery.
    """
    store, keep_days = services.store, services.settings.keep_days
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
    selections = selections_of(store, campaign.id)
    terms, plan = read_terms(campaign.terms), read_plan(campaign.plan)
    return CampaignView(
        protocol=PROTOCOL,
        campaign=campaign.id,
        state=campaign.state,
        plan=plan if role != "viewer" else plan.model_copy(update={"seed": None}),
        server_key=terms.server_key,
        terms_hash=terms.hash,
        created=campaign.created,
        rounds=tuple(rounds),
        estimate=None if estimate is None else estimate.prior,
        expected_coverage=None if estimate is None else estimate.expected_coverage,
        expectation=(
            None
            if estimate is None or estimate.expectation is None
            else Expectation.from_bytes(estimate.expectation.encode())
        ),
        selections=len(selections),
        selected=selections[-1].people if selections else None,
        operator=campaign.operator,
        shared_with=shares_of(store, campaign.id),
        failure=campaign.failure,
        finished=campaign.finished,
        keep_days=keep_days,
        kept_until=delete_at(campaign.finished, keep_days),
    )


def selection_view(one: StoredSelection) -> SelectionView:
    """Return a selection as its operator sees it."""
    return SelectionView(
        protocol=PROTOCOL,
        number=one.number,
        made=one.made,
        rounds=one.rounds,
        request=None if one.request is None else PanelRequest.from_bytes(one.request.encode()),
        selected=one.people,
        missing=one.missing,
    )


def selection_rows(store: Store, campaign: Campaign, made: StoredSelection) -> Iterator[SelectionRow]:
    """Yield the people of a selection, in order."""
    chosen = selection_of(store, campaign.id, made.number)
    assert chosen is not None, "the selection was made"
    plan = read_plan(campaign.plan)
    request = plan if made.request is None else PanelRequest.from_bytes(made.request.encode())
    places = _coordinates(plan, request)
    columns = (chosen.participants, chosen.targets, chosen.chances)
    for (who, target, chance), how in zip(
        zip(*(one.tolist() for one in columns), strict=True), chosen.chosen, strict=True
    ):
        yield SelectionRow(
            place=target + 1,
            name="" if request.target_names is None else request.target_names[target],
            latitude=places[target][0],
            longitude=places[target][1],
            participant=who,
            chance=chance,
            chosen=how,
        )


def _audited(store: Store, campaign: Campaign, made: StoredSelection) -> AuditSelection:
    chosen = selection_of(store, campaign.id, made.number)
    assert chosen is not None, "the selection was made"
    return selection_message(
        chosen,
        request=None if made.request is None else PanelRequest.from_bytes(made.request.encode()),
        made=made.made,
        rounds=made.rounds,
        seed=selection_seed(campaign.seed, made.number, lotteries(read_plan(campaign.plan))),
    )


def _coordinates(
    plan: CampaignPlan, request: CampaignPlan | PanelRequest
) -> Sequence[tuple[float | None, float | None]]:
    """Return latitude and longitude of each target: as the operator named it, or the centre of its cell."""
    if request.target_coordinates is not None:
        return request.target_coordinates
    area = Area.from_description(plan.area)
    if area.plane is None:
        return [(None, None)] * len(request.targets)
    centres = (degrees[list(request.targets)].round(DEGREE_DECIMALS).tolist() for degrees in area.centres())
    return list(zip(*centres, strict=True))


def audit_record(store: Store, campaign: Campaign) -> AuditRecord:
    """Return all that is needed to repeat every selection, from the rounds that are closed."""
    rounds = []
    for number, one in enumerate(closed_rounds(store, campaign.id)):
        data = policy_bytes(store, campaign.id, number)
        assert data is not None, "a closed round has a policy"
        rounds.append(AuditRound.of(number, data, tuple(one.counts.tolist()), one.nulls))
    rows = report_rows(store, campaign.id, len(rounds))
    plan = read_plan(campaign.plan)
    return AuditRecord(
        protocol=PROTOCOL,
        campaign=campaign.id,
        plan=plan,
        terms=read_terms(campaign.terms),
        notices=tuple(
            RoundNotice.from_bytes(one.notice.encode())
            for one in rounds_of(store, campaign.id)[: len(rounds)]
            if one.notice is not None
        ),
        rounds=tuple(rounds),
        rows=tuple(
            (who, commitment, number, None if symbol == NULL else symbol)
            for who, commitment, number, symbol in zip(
                rows.participant.tolist(), rows.commitment, rows.round.tolist(), rows.symbol.tolist(), strict=True
            )
        ),
        selections=tuple(_audited(store, campaign, one) for one in selections_of(store, campaign.id)),
    )
