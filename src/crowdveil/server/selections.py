"""Serve operators: ask a panel for people, look at what to expect first, list and export selections, export the record.

A selection uses the reports of the rounds that are closed. No device takes part in it, and its answer tells nobody
more. It is stored under the number that the operator's program names, which is the next one: a request that is sent
again after a lost answer therefore selects nobody twice.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool

from crowdveil.campaign import State, forecast
from crowdveil.campaign.advice import advise
from crowdveil.campaign.from_wire import expectation_message, request_from_wire
from crowdveil.campaign.preview import preview_state
from crowdveil.campaign.state import check_places, select_from_panel
from crowdveil.errors import CrowdveilError, InputError, StoreError
from crowdveil.server.access import OnCampaign, RunCampaign, SeenCampaign, changed_by
from crowdveil.server.logs import log
from crowdveil.server.refusals import refuse, refuse_change, refuse_input
from crowdveil.server.requests import (
    BEARER,
    OPERATOR_PROBLEMS,
    SelectionPath,
    ServicesOf,
    body_of,
    problems,
    read,
    send,
)
from crowdveil.server.services import Services, read_plan
from crowdveil.server.terms import lotteries
from crowdveil.server.views import audit_record, campaign_view, selection_rows, selection_view
from crowdveil.store import (
    Campaign,
    StoredSelection,
    log_export,
    people_chosen,
    reports_of,
    save_selection,
    selections_of,
)
from crowdveil.wire import (
    PROTOCOL,
    AuditRecord,
    Expectation,
    PanelRequest,
    SelectionList,
    SelectionRow,
    SelectionView,
    selection_seed,
)

routes = APIRouter(prefix="/v1/operator/campaigns/{campaign}", tags=["operators"])


@routes.get(
    "/selections",
    response_model=SelectionList,
    openapi_extra=BEARER,
    responses=problems(*OPERATOR_PROBLEMS, "not-found"),
)
async def selections(on: SeenCampaign, services: ServicesOf) -> Response:
    """List the selections of a campaign, in the order in which they were made."""
    found = await run_in_threadpool(selections_of, services.store, on.campaign.id)
    return send(SelectionList(protocol=PROTOCOL, selections=tuple(selection_view(one) for one in found)))


@routes.post(
    "/expectation",
    response_model=Expectation,
    openapi_extra={**body_of(PanelRequest), **BEARER},
    responses=problems(*OPERATOR_PROBLEMS, "malformed", "not-found", "wrong-state", "unsupported-media-type"),
)
async def expect(request: Request, on: SeenCampaign, services: ServicesOf) -> Response:
    """Say how many people to expect at each place if a panel were asked; nobody is selected and nothing is stored."""
    asked = await read(request, PanelRequest)
    return send(await run_in_threadpool(_expect, services, on.campaign, asked))


@routes.put(
    "/selections/{number}",
    response_model=SelectionView,
    openapi_extra={**body_of(PanelRequest), **BEARER},
    responses=problems(*OPERATOR_PROBLEMS, "malformed", "not-found", "wrong-state", "unsupported-media-type"),
)
async def make_selection(number: SelectionPath, request: Request, on: RunCampaign, services: ServicesOf) -> Response:
    """Ask a panel for people; the same request under the same number returns the selection that was made."""
    asked = await read(request, PanelRequest)
    made = await run_in_threadpool(_select, services, on, number, asked)
    log().info("selection-made", extra={"campaign": on.campaign.id, "count": made.people, "operator": on.who.operator})
    return send(selection_view(made))


@routes.get(
    "/selections/{number}",
    response_class=Response,
    openapi_extra=BEARER,
    responses={
        200: {"description": "Who was selected, in order", "content": {"text/csv": {"schema": {"type": "string"}}}},
        **problems(*OPERATOR_PROBLEMS, "not-found", "wrong-state"),
    },
)
async def export(number: SelectionPath, on: RunCampaign, services: ServicesOf) -> Response:
    """Export a selection as CSV; its columns are the fields of `SelectionRow`."""
    rows = await run_in_threadpool(lambda: list(_rows(services, on, number)))
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(SelectionRow.model_fields)
    lines.writerows([*dict(row).values()] for row in rows)
    headers = {"content-disposition": f'attachment; filename="{on.campaign.id}-selection-{number + 1}.csv"'}
    return Response(text.getvalue(), media_type="text/csv", headers=headers)


@routes.get(
    "/record",
    response_model=AuditRecord,
    openapi_extra=BEARER,
    responses=problems(*OPERATOR_PROBLEMS, "not-found", "wrong-state"),
)
async def record(on: RunCampaign, services: ServicesOf) -> Response:
    """Export the audit record, from which anyone can repeat every selection exactly."""
    return send(await run_in_threadpool(_record, services, on))


# --- run in a thread ------------------------------------------------------------------------------------------


def _select(services: Services, on: OnCampaign, number: int, asked: PanelRequest) -> StoredSelection:
    found, state = _panel(on.campaign), services.panel_state(on.campaign)
    if not state.used_rounds:
        raise refuse("wrong-state", _nobody_yet(services, found))
    # The clock of this server may be behind that of another one, or have been set back.
    campaign, earlier = found.id, selections_of(services.store, found.id)
    by = changed_by(services, on.who)
    made = max([by.at, *(one.made for one in earlier)])
    with _refusing():
        _check_enough(state, asked)
        seed = selection_seed(found.seed, number, _numbered(found, number))
        people = select_from_panel(
            state,
            reports_of(services.store, campaign, len(state.closed)),
            request_from_wire(asked),
            seed=seed,
            made=made,
            earlier=people_chosen(services.store, campaign)[:number],
        )
        text = asked.to_bytes().decode("ascii")
        rounds = len(state.closed)
        return save_selection(
            services.store, campaign, people, rounds=rounds, number=number, request=text, made=made, by=by
        )


def _expect(services: Services, campaign: Campaign, asked: PanelRequest) -> Expectation:
    state = services.panel_state(_panel(campaign))
    with _refusing():
        request = request_from_wire(asked)
        check_places(state.plan, request)
        if state.used_rounds:
            _check_enough(state, asked)
        used = state if state.used_rounds else preview_state(state.plan)
        expected = forecast(used, request)
        return expectation_message(request, expected, advise(used.plan, expected, request))


def _check_enough(state: State, asked: PanelRequest) -> None:
    """Refuse to select more people than have answered."""
    answers = sum(state.closed[number].reports for number in state.used_rounds)
    wanted = asked.wanted if asked.numbers is None else sum(asked.numbers)
    if wanted is not None and wanted > answers:
        field = "wanted" if asked.numbers is None else "numbers"
        rounds = " and ".join(str(number + 1) for number in state.used_rounds)
        expected = f"should be at most {answers:,} in all: so many people have answered, in round {rounds}"
        raise InputError(field, f"{wanted:,} people", expected)


def _nobody_yet(services: Services, campaign: Campaign) -> str:
    """Say how many have answered a panel that has no answers to select from, and when these can be used."""
    rounds = campaign_view(services, campaign).rounds
    current = next((one for one in rounds if one.state == "open"), None)
    if campaign.state == "draft":
        return "the panel is a draft: start it, so that people can answer"
    if current is None:
        return "nobody has answered yet"
    until = "when all have answered"
    if current.deadline is not None:
        day = datetime.fromtimestamp(current.deadline, UTC)
        until += f", or on {day:%Y-%m-%d at %H:%M} UTC at the latest"
    of_all = "" if current.size is None else f" of {current.size:,}"
    return (
        f"{current.accepted:,}{of_all} people have answered so far; their answers can be used once round "
        f"{current.number + 1} is closed: {until}"
    )


def _panel(found: Campaign) -> Campaign:
    if not found.panel:
        raise refuse("wrong-state", f"campaign = {found.id!r}: is no panel; it selects once, when it ends")
    return found


def _numbered(campaign: Campaign, number: int) -> int:
    """Return how many selections the panel may make; refuse a number beyond."""
    most = lotteries(read_plan(campaign.plan))
    if number >= most:
        raise InputError("number", number, f"should be below {most}, the number of selections of a panel")
    return most


def _rows(services: Services, on: OnCampaign, number: int) -> Iterator[SelectionRow]:
    made = _made(services, on.campaign, number)
    detail = f"selection {number + 1}: {made.people} people"
    log_export(services.store, changed_by(services, on.who), "selection-exported", on.campaign.id, detail)
    return selection_rows(services.store, on.campaign, made)


def _made(services: Services, found: Campaign, number: int) -> StoredSelection:
    made = selections_of(services.store, found.id)
    if number >= len(made):
        expected = "should be finished; the selection is available then"
        if found.panel:
            expected = f"should have been asked for selection {number}; there are {len(made)}"
        raise refuse_input(InputError("state", found.state, expected), "wrong-state")
    return made[number]


def _record(services: Services, on: OnCampaign) -> AuditRecord:
    if not on.campaign.panel:
        _made(services, on.campaign, 0)
    log_export(services.store, changed_by(services, on.who), "record-exported", on.campaign.id)
    return audit_record(services.store, on.campaign)


@contextmanager
def _refusing() -> Iterator[None]:
    """Turn what is wrong with a request into the server's answer."""
    try:
        yield
    except InputError as error:
        if error.field in ("campaign", "state", "number"):
            raise refuse_change(error) from None
        raise refuse_input(error) from None
    except StoreError:
        raise
    except CrowdveilError as error:
        raise refuse("invalid", str(error)) from None
