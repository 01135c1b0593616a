"""Plan backwards: from the people who should come to each place to how many have to be asked.

More people selected make more come; more people asked make those selected likelier to come, up to what privacy allows
(Lemma 2); a larger ε, or larger cells, raises that limit. So for each ε the least number of people is found, of whom so
many can be selected for each place that enough come to every place, with a given probability. The crowds are those of
`prediction`, the same for every ε and number, so that the answers differ by nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Literal

from crowdveil.campaign.knowledge import Knowledge
from crowdveil.campaign.plan import Plan
from crowdveil.campaign.prediction import LikelyRange, Prediction, possible_campaigns, predict
from crowdveil.campaign.request import SelectionRequest, check_count
from crowdveil.errors import InputError
from crowdveil.vocabulary import DEFAULT_EPSILON_PER_KM, Progress

DEFAULT_CHANCE = 0.8
"""How probable it should be that enough people come to a place."""
DEFAULT_SELECTED_FOR_ONE = 4
"""How many people may be selected for each one who should come."""
MAX_PEOPLE = 100_000
FEW_CROWDS = 40
STEP = 1.25
"""People are counted in steps by this factor."""
MIN_PEOPLE = 50

PeopleLimit = Literal["place", "selected", "asked"]


@dataclass(frozen=True)
class PeopleNeeded:
    """How many people have to be asked at some ε, or why no number is enough."""

    epsilon_per_km: float
    people: int | None
    """The least number of people to ask; None if even the largest number is not enough."""
    selected: int
    """How many are then selected for each place."""
    chance: float
    """The probability that enough come to the place where this is least probable, with these or the most people."""
    worst_place: int
    """That place, by its position in the plan's targets."""
    coverage: LikelyRange
    """The share of the selected who come to a place."""
    advice: str | None
    """What would help, where no number of people is enough."""
    limit: PeopleLimit | None
    """What stands in the way then: too few come to the place at all, too few may be selected for each one who should
    come, or too few may be asked."""
    within_defaults: bool
    """Whether devices accept such an ε by default; otherwise owners have to allow more."""


def people_needed(
    plan: Plan,
    coming: int,
    known: Knowledge | None = None,
    *,
    epsilons_per_km: Sequence[float] | None = None,
    chance: float = DEFAULT_CHANCE,
    selected_for_one: int = DEFAULT_SELECTED_FOR_ONE,
    max_people: int = MAX_PEOPLE,
    crowds: int = FEW_CROWDS,
    progress: Progress | None = None,
) -> tuple[PeopleNeeded, ...]:
    """Find how many people have to be asked so that `coming` people come to every place of a panel, for each ε.

    Args:
        plan: A panel; its number of users does not matter.
        coming: How many people should come to each place.
        known: What is known of the people.
        epsilons_per_km: The losses to look at (default: the plan's).
        chance: How probable it should be, at each place, that so many come.
        selected_for_one: How many people may be selected for each one who should come.
        max_people: The most people who could be asked.
        crowds: How many crowds are drawn.
        progress: Called after each ε.
    """
    if not plan.panel:
        raise InputError("plan", "no panel", "should be a panel, whose places are those that people should come to")
    for name, count in (("coming", coming), ("selected_for_one", selected_for_one), ("max_people", max_people)):
        check_count(name, count)
    if not 0 < chance < 1:
        raise InputError("chance", chance, "should lie strictly between 0 and 1")
    epsilons = [plan.epsilon_per_km] if epsilons_per_km is None else list(epsilons_per_km)
    found = []
    for number, epsilon in enumerate(epsilons):
        found.append(
            _needed(replace(plan, epsilon_per_km=epsilon), coming, known, chance, selected_for_one, max_people, crowds)
        )
        if progress is not None:
            progress(number + 1, len(epsilons))
    return tuple(found)


def _needed(
    plan: Plan, coming: int, known: Knowledge | None, chance: float, selected_for_one: int, max_people: int, crowds: int
) -> PeopleNeeded:
    sizes = _sizes(max(MIN_PEOPLE, len(plan.targets)), max_people)
    told: dict[int, tuple[Prediction, int]] = {}

    def is_enough(people: int) -> bool:
        selected = min(coming * selected_for_one, people // len(plan.targets))
        campaigns = possible_campaigns(replace(plan, users=people), known, crowds=crowds)
        request = SelectionRequest(plan.targets, numbers=(selected,) * len(plan.targets))
        told[people] = predict(campaigns, request, at_least=(coming,) * len(plan.targets)), selected
        return min(told[people][0].enough) >= chance

    few, many = 0, len(sizes) - 1
    enough = is_enough(sizes[-1])
    while enough and few < many:
        middle = (few + many) // 2
        few, many = (few, middle) if is_enough(sizes[middle]) else (middle + 1, many)
    people = sizes[many]
    prediction, selected = told[people]
    worst = min(range(len(plan.targets)), key=lambda place: prediction.enough[place])
    limit, advice = None, None
    if not enough:
        limit, advice = _advice(plan, prediction, worst, coming, people, selected, selected_for_one)
    return PeopleNeeded(
        plan.epsilon_per_km,
        people if enough else None,
        selected,
        prediction.enough[worst],
        worst,
        prediction.coverage,
        advice,
        limit,
        plan.epsilon_per_km <= DEFAULT_EPSILON_PER_KM * (1 + 1e-9),
    )


def _sizes(least: int, most: int) -> list[int]:
    """Return numbers of people in steps, rounded up to two digits, the largest last."""
    sizes, people = [], float(least)
    while people < most:
        sizes.append(_two_digits(ceil(people)))
        people *= STEP
    return [*(one for one in dict.fromkeys(sizes) if one < most), most]


def _advice(
    plan: Plan, told: Prediction, place: int, coming: int, people: int, selected: int, selected_for_one: int
) -> tuple[PeopleLimit, str]:
    """Say which limit stands in the way where no number of people is enough, and what would help."""
    there, come = told.possible[place], told.places[place]
    start = (
        f"Place {plan.place_name(place)} cannot count on {coming:,} people, even if {people:,} are asked "
        f"and {selected:,} selected for it"
    )
    if there.middle < coming:
        what = f"{start}: only about {there.middle:,.0f} of them come there at all."
        others = "larger cells, another place or fewer people at this place would help; a larger ε would not."
        more = ceil(people * coming / there.middle) if there.middle > 0 else MAX_PEOPLE + 1
        if more > MAX_PEOPLE:
            return "place", f"{what} {others[0].upper()}{others[1:]}"
        return "asked", f"{what} Ask more people, {_two_digits(more):,} or more. Also {others}"
    what = f"{start}: about {there.middle:,.0f} of them come there, and {come.low:,.0f} to {come.high:,.0f} of those"
    what += " who are selected."
    others = "A larger ε or larger cells would help too, and so would knowing more of where people are."
    if selected < coming * selected_for_one:
        more = coming * selected_for_one * len(plan.targets)
        return "asked", f"{what} Ask more people: {more:,} are needed to select {selected_for_one} for each. {others}"
    return "selected", (
        f"{what} At most {selected_for_one} are selected for each one who should come; allow more. {others}"
    )


def _two_digits(number: int) -> int:
    """Round up to two digits."""
    digits: int = 10 ** max(0, len(str(number)) - 2)
    return ceil(number / digits) * digits
