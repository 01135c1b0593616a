"""Point out places that will get almost nobody, or fewer people than wanted, and say what would help."""

from __future__ import annotations

from math import ceil

from crowdveil.campaign.forecast import Forecast, PlaceForecast
from crowdveil.campaign.plan import Plan
from crowdveil.campaign.request import SelectionRequest

ALMOST_NOBODY = 0.5
"""Fewer people than this are almost nobody: more likely than not, nobody comes."""
MIN_SHARE = 0.1
"""So are fewer than this share of the people wanted."""


def advise(plan: Plan, found: Forecast, request: SelectionRequest | None = None) -> tuple[str, ...]:
    """Say for each place that cannot have its number, or gets almost nobody, what it can have and what would help.

    `request` is what is asked of a panel (default: what the plan asks for).
    """
    request = plan.request if request is None else request
    said = [_advice(plan, request, target, place) for target, place in enumerate(found.places)]
    return tuple(one for one in said if one is not None)


def _advice(plan: Plan, request: SelectionRequest, target: int, place: PlaceForecast) -> str | None:
    name = f"Place {request.place_name(target)}"
    at_least = ALMOST_NOBODY if place.wanted is None else max(ALMOST_NOBODY, MIN_SHARE * place.wanted)
    aim = place.wanted or 1
    if place.possible < ALMOST_NOBODY:
        return (
            f"{name}: almost nobody of the {plan.users:,} people comes there "
            f"({_people(place.possible)} expected in all). Larger cells, or another place, would help"
            f"{_more_people(plan, place, aim)}."
        )
    if place.wanted is not None and place.possible < place.wanted:
        return (
            f"{name} cannot have its {_count(place.wanted)}: of all {plan.users:,} people only "
            f"{_people(place.possible)} are expected there, and {_people(place.visitors.people)} of those who are "
            f"selected. Larger cells, or a smaller number, would help{_more_people(plan, place, aim)}."
        )
    if place.visitors.people < at_least:
        if place.wanted is None and len(request.targets) > 1:
            helps = "A number of people for each place, a larger ε or larger cells would help"
        else:
            helps = "More people invited, a larger ε or larger cells would help"
        return (
            f"{name} gets almost nobody: {_people(place.visitors.people)} of those who are selected are expected "
            f"there, of {_people(place.possible)} in all. {helps}."
        )
    return None


def _more_people(plan: Plan, place: PlaceForecast, aim: int) -> str:
    """Say how many people would have to be invited, if that is a number that somebody might invite."""
    needed = ceil(plan.users * aim / place.possible) if place.possible > 0 else None
    return "" if needed is None or needed > 1000 * plan.users else f", or about {_rounded(needed):,} people invited"


def _rounded(number: int) -> int:
    """Round a large number up to two digits, because an estimate has no more."""
    step = int(10 ** max(0, len(str(number)) - 2))
    return ceil(number / step) * step


def _people(number: float) -> str:
    return f"{number:.2g}" if number < 10 else f"{number:,.0f}"


def _count(number: int) -> str:
    return f"{number:,} {'person' if number == 1 else 'people'}"
