"""Tell the participant, before anything is sent, what will leave the device and what others can learn from it.

Every `describe_` function gives a sentence or two for a participant, who knows nothing of ε, symbols or NULL. Its twin
ending in `_figures` gives the exact numbers for those who ask. What others can learn is always rounded up.

With odds π/(1-π) that a person is at one place rather than at others within d km, Definition 1 gives after the report

    odds'  ≤  e^{εd} · odds,        so      π' ≤ π e^{εd} / (1 - π + π e^{εd}).

The same holds with ε₁ for one grade of visitors or the next, and with ε₀ for being in the area at
all. Losses of several reports add up, so after several of them their sum takes the place of each.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, fsum

import numpy as np

from crowdveil.area import Area
from crowdveil.client.events import LedgerEntry
from crowdveil.client.information import information
from crowdveil.formatting import in_plain_words, percent_up
from crowdveil.limits import Charge, PrivacyLimits, Spent
from crowdveil.limits.charge import describe_use, more_reports
from crowdveil.policy.policy import Policy
from crowdveil.profile.place import Place, how_often
from crowdveil.vocabulary import NULL
from crowdveil.wire import Terms

BELIEF_BEFORE = 0.1
"""The example in every explanation: an observer who believes something with a probability of 1 in 10."""
DISTANCES_KM = (0.5, 1.0, 2.0)
"""Distances for which the figures are given, where they are larger than that of neighbouring cells."""
ALMOST_SURE = 0.99
"""A belief above this is called "almost sure", because "at most 100 % sure" would say nothing."""
MAX_SYMBOLS = 5
"""How many symbols the figures list."""
MAX_CAMPAIGNS = 1000
"""Above this, the number of further campaigns is not spelt out."""
MAX_EXPONENT = 700.0
"""e^x overflows a double soon after this; the belief is 100 % long before."""
_GRADE = re.compile(r"grade ([1-9][0-9]*)")
_NAMES_A_CELL = re.compile(r"(place|cell) ([0-9]+)(?:, grade ([1-9][0-9]*))?")
"""Symbols that name a part of the map: `place 17` selects for the target there, `cell 17` for none."""
ANSWERS = {
    "hit": "near a target",
    "other": "not near a target",
    "outside": "not in this area",
    "grade 1": "a regular visitor, not near a target",
}
STATES = {
    "joining": "not answered yet",
    "drawn": "answered, not confirmed by the server yet",
    "acknowledged": "answered",
    "refused": "answered, but not counted",
    "withdrawn": "left; the server has deleted the answer",
}
TOLD_BY_TAKING_PART = "The organiser can see that you take part, when, and from which network address."
RECORD = (
    "The organiser's record keeps your answer with the round, a random participant number, and a code that only your "
    "phone can match."
)
BORDER = "Two places on either side of a border count as a whole cell apart."
EDGE = "A place outside the map's edge counts as not being in the area, however near it is."
BEING_CHOSEN = "Being chosen, or not, tells nobody more about you than your answer did."
ONCE = "You answer once. Being chosen later tells nobody more."
RULES = {
    "random": "If you regularly visit several places, your phone picked one of them at random, once.",
    "target-aware": "If you are likely to visit a place that the organiser asks about, your phone reports from it "
    "rather than from your other places.",
}


@dataclass(frozen=True)
class Explanation:
    """What the device tells its owner before a report is sent."""

    text: str
    """Short sentences for the participant."""
    figures: str
    """The exact bounds, the certificate and the hash of the policy."""
    kept: bool = False
    """Whether the place was picked earlier, so that the history that was given now changed nothing."""

    def __str__(self) -> str:
        return self.text


def largest_belief(before: float, epsilon_per_km: float, distance_km: float) -> float:
    """Return π' ≤ π e^{εd} / (1 - π + π e^{εd}): the most that anyone can believe after a report."""
    factor = exp(min(epsilon_per_km * distance_km, MAX_EXPONENT))
    return before * factor / (1 - before + before * factor)


# --- the place and the report -----------------------------------------------------------------------------------


def describe_place(area: Area, place: Place, terms: Terms, *, excluded_here: bool = False) -> str:
    """Say which place the answer is about, so that the owner sees it before agreeing.

    `excluded_here` says whether the owner excluded places in this area, which may be why there is none.
    """
    if place.cell == NULL and excluded_here:
        if terms.grade_epsilon is None:
            return (
                "You excluded places in this area and regularly visit no other. Your phone answers as if you regularly "
                "visited nowhere here."
            )
        return "You excluded all your places in this area. Your phone answers as if you were never here."
    if place.cell == NULL:
        seen = "regularly visit anywhere in" if terms.grade_epsilon is None else "appear to have been in"
        return f"You do not {seen} this area."
    latitude, longitude = (float(axis[place.cell]) for axis in area.centres())
    often = how_often(place.grade)
    return (
        f"The answer is about the part of the map around {latitude:.4f}, {longitude:.4f}, which you visit {often}. "
        "The place itself stays on your phone."
    )


def describe_request(terms: Terms, number: int) -> str:
    """Say who asks, for how many answers, and what they are used for."""
    if not terms.panel:
        return f"Campaign {terms.name!r}, round {number + 1} of {terms.rounds}, asks for one answer."
    text = f"Panel {terms.name!r} asks for one answer, which the organiser uses for any number of selections."
    if terms.renewal_s is None or number + 1 == terms.rounds:
        return text
    left = terms.rounds - number - 1
    again = "once more" if left == 1 else f"{left} more times"
    return (
        f"{text} You will be asked {again}, every {_duration(terms.renewal_s)}; each time is a new answer, costs as "
        "much as this one, and is yours to give or not."
    )


def describe_answer_use(whose: str, selections: int, chosen: Sequence[int]) -> str:
    """Say for how many selections an answer was used, and which of them chose its sender; `whose` names the answer."""
    times = "once" if selections == 1 else f"{selections:,} times"
    if not selections:
        return f"{whose} was not used for a selection yet."
    if not chosen:
        return f"{whose} was used {times}; you were not chosen."
    numbers = ", ".join(str(number + 1) for number in chosen)
    word = "selection" if len(chosen) == 1 else "selections"
    return f"{whose} was used {times}; you were chosen by {word} {numbers}."


def _duration(seconds: int) -> str:
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= 2 * length or seconds == length:
            number = round(seconds / length)
            return unit if number == 1 else f"{number} {unit}s"
    return f"{seconds} seconds"


def describe_report(policy: Policy, place: Place, target_names: Mapping[int, str] | None = None) -> str:
    """Say how the phone will answer, how often with another place, and the answer that is most likely from this place.

    `target_names` are names of target cells, where the campaign gives any.
    """
    if place.cell == NULL and policy.null_epsilon is None:
        return "Your phone will say so openly."
    probabilities = policy.probabilities(*place)
    likeliest = int(np.argmax(probabilities))
    name = describe_symbol(policy.symbol_name(likeliest), target_names)
    answer = f'"{name}" ({_percent(float(probabilities[likeliest]))})'
    cells = named_cells(policy)
    elsewhere = ""
    if any(cell is not None for cell in cells):
        others = fsum(p for p, cell in zip(probabilities, cells, strict=True) if cell not in (None, place.cell))
        than = "" if place.cell == NULL else " other than yours"
        elsewhere = f" In {_about(others)} of cases it names a place{than}."
    if place.cell == NULL:
        return f"Your phone will answer at random all the same.{elsewhere} The most likely answer is {answer}."
    return f"Your phone will answer at random.{elsewhere} From your place the most likely answer is {answer}."


def report_figures(policy: Policy, place: Place) -> str:
    """List the symbols that this place is most likely to send, with their probabilities."""
    if place.cell == NULL and policy.null_epsilon is None:
        return "Symbol to send: NULL, in the clear."
    probabilities = policy.probabilities(*place)
    likeliest = np.argsort(-probabilities, kind="stable")[:MAX_SYMBOLS].tolist()
    named = ", ".join(f"'{policy.symbol_name(symbol)}' {probabilities[symbol]:.2%}" for symbol in likeliest)
    others = len(probabilities) - len(likeliest)
    rest = f", and {others} others" if others > 0 else ""
    return f"Symbols to draw from: {named}{rest}."


def describe_symbol(symbol_name: str, target_names: Mapping[int, str] | None = None) -> str:
    """Name a symbol as a participant would; `target_names` are names of target cells, where there are any."""
    if found := _NAMES_A_CELL.fullmatch(symbol_name):
        kind, cell, grade = found.groups()
        if kind == "place":
            return f"near {(target_names or {}).get(int(cell), f'the target in part {cell} of the map')}"
        often = f"{how_often(int(grade) - 1)} " if grade else ""
        return f"{often}in part {cell} of the map"
    if symbol_name not in ANSWERS and (found := _GRADE.fullmatch(symbol_name)):
        return f"a visitor who comes {how_often(int(found.group(1)) - 1)}"
    return ANSWERS.get(symbol_name, symbol_name)


def named_cells(policy: Policy) -> list[int | None]:
    """Return the cell that each symbol names, if any."""
    found = [_NAMES_A_CELL.fullmatch(policy.symbol_name(symbol)) for symbol in range(policy.symbol_count)]
    return [None if one is None else int(one.group(2)) for one in found]


# --- how much it tells --------------------------------------------------------------------------------------------


def describe_information(policy: Policy) -> str:
    """Say how much the answer tells on average, whoever gives it."""
    bits = information(policy).at_most_bits
    number = f"{max(0.1, np.ceil(10 * bits - 1e-9) / 10):.1f}"
    return f"On average the answer tells no more than {number} yes-or-no questions would."


def information_figures(policy: Policy) -> str:
    """Give the information of a report in bits: for any prior, and for the uniform one."""
    found = information(policy)
    uniform = "" if found.uniform_bits is None else f"; {found.uniform_bits:.2f} bits if all inputs are equally likely"
    clear = "" if policy.null_epsilon is not None else " (besides NULL, which is sent in the clear)"
    return f"Information in expectation: at most {found.at_most_bits:.2f} bits{clear}, whatever the prior{uniform}."


def describe_loss(epsilon_per_km: float, spent: Spent, neighbour_km: float) -> str:
    """Say what anyone who sees the report can infer about the place at most, now and with all reports before.

    Distances are between the middles of the map's parts, so the nearest that anything is compared with is a neighbour.
    """
    together = _together(spent.epsilon_per_km, epsilon_per_km, neighbour_km, " on maps like this one")
    return (
        f"Someone who thinks there is a {_percent(BELIEF_BEFORE)} chance that this is your part of the map, rather "
        f"than a neighbouring one {neighbour_km:.2g} km away, can be {_sure(epsilon_per_km, neighbour_km)} after your "
        f"answer{together}."
    )


def loss_figures(epsilon_per_km: float, spent: Spent, neighbour_km: float) -> str:
    """Give ε and the bounds that it means at several distances, now and with all reports before.

    No bound is given for less than the distance of neighbouring cells: it would not hold across their border.
    """
    lines = [f"ε = {epsilon_per_km:.6g} per km: {in_plain_words(epsilon_per_km)}."]
    losses = {"this answer": epsilon_per_km}
    if spent.epsilon_per_km > 0:
        losses["all your answers together"] = spent.epsilon_per_km + epsilon_per_km
    for name, epsilon in losses.items():
        bounds = ", ".join(
            f"at most {percent_up(largest_belief(BELIEF_BEFORE, epsilon, d), 1)} within {d:.3g} km"
            for d in _distances_from(neighbour_km)
        )
        lines.append(f"A belief of {BELIEF_BEFORE:.0%} becomes, after {name}, {bounds}.")
    lines.append(f"Distances are between the middles of cells. {BORDER}")
    return "\n".join(lines)


def describe_presence(terms: Terms, spent: Spent, *, has_place: bool = True) -> str:
    """Say what others can learn about being in the area at all, and about how regularly a place is visited."""
    if terms.null_epsilon is None:
        return "The organiser will learn whether you regularly visit anywhere in this area."
    together = _together(spent.null_epsilon, terms.null_epsilon, 1.0)
    chance = f"Someone who thinks there is a {_percent(BELIEF_BEFORE)} chance that you"
    if terms.grade_epsilon is None:
        return (
            f"{chance} regularly visit somewhere in this area, or that you do not, can be "
            f"{_sure(terms.null_epsilon, 1.0)} after your answer{together}."
        )
    often = f" About how regularly you visit your place, they can be {_sure(_between_grades(terms), 1.0)}."
    return (
        f"{chance} are ever in this area, or that you never are, can be {_sure(terms.null_epsilon, 1.0)} after your "
        f"answer{together}.{often if has_place else ''}"
    )


def _between_grades(terms: Terms) -> float:
    """Return the largest loss between two grades at one place: never more than by way of being outside."""
    assert terms.null_epsilon is not None
    return min(terms.grade_spread, 2 * terms.null_epsilon)


def presence_figures(terms: Terms, spent: Spent) -> str:
    """Give ε₀ and ε₁ and the bounds that they mean, and the bound between any two inputs."""
    if terms.null_epsilon is None:
        return "NULL is sent in the clear: every other symbol proves that there is a frequent place in this area."
    lines = [_belief_line(f"ε₀ = {terms.null_epsilon:.6g} for being in this area at all", terms.null_epsilon)]
    if terms.grade_epsilon is not None:
        steps = terms.grades - 1
        what = f"ε₁ = {terms.grade_epsilon:.6g} for how regularly, times {steps} between the most and the least regular"
        lines.append(_belief_line(what, _between_grades(terms)))
    lines.append(
        f"Between any two inputs, whatever their distance and grade, the loss is never more than 2ε₀ = "
        f"{2 * terms.null_epsilon:.6g}; at the area's edge it is ε₀, whatever the distance."
    )
    if spent.null_epsilon > 0:
        total = spent.null_epsilon + terms.null_epsilon
        lines.append(_belief_line(f"Σ ε₀ = {total:.6g} for all your answers together", total))
    return "\n".join(lines)


# --- the limit for all campaigns together -------------------------------------------------------------------------


def describe_cost(charge: Charge, spent: Spent, limits: PrivacyLimits) -> str:
    """Say how many more campaigns like this one the owner's limit allows after the report."""
    more = more_reports(spent, charge, limits) - 1
    if more < 1:
        return "After this answer your limit allows no other campaign like this one."
    number = f"more than {MAX_CAMPAIGNS:,}" if more > MAX_CAMPAIGNS else f"{more:,.0f}"
    return (
        f"After this answer your limit allows {number} more {'campaign' if more == 1 else 'campaigns'} like this one."
    )


def describe_ledger(entries: Sequence[LedgerEntry], spent: Spent, limits: PrivacyLimits) -> str:
    """Say how much of the owner's limit is used, and what was sent to whom, and when."""
    lines = [describe_use(spent, limits)]
    for entry in entries:
        why = f" ({entry.reason})" if entry.reason else ""
        where = f" at {entry.server}" if entry.server else ""
        sent = f', "{describe_symbol(entry.symbol_name)}"' if entry.symbol_name else ""
        lines.append(f"{entry.at}  {entry.campaign}{where}: {STATES[entry.state]}{sent}{why}")
    return "\n".join(lines)


def ledger_figures(entries: Sequence[LedgerEntry], spent: Spent, limits: PrivacyLimits) -> str:
    """Give both accounts, what is left of each, and the charge of every report."""
    span = "permanently" if limits.span == "lifetime" else "for twelve months"
    lines = []
    for name, used, limit in (
        ("ε per km", spent.epsilon_per_km, limits.total_epsilon_per_km),
        ("ε₀", spent.null_epsilon, limits.total_null_epsilon),
    ):
        lines.append(f"{name}: {used:.6g} of {limit:.6g} is {span} used; {max(0.0, limit - used):.6g} is left.")
    lines.append(f"Reports in the clear: {spent.clear_reports} of {limits.clear_reports}.")
    for entry in entries:
        cost = "nothing charged"
        if entry.charge is not None:
            cost = f"ε = {entry.charge.epsilon_per_km:.6g} per km, ε₀ = {entry.charge.null_epsilon:.6g}"
            cost += ", in the clear" if entry.charge.clear else ""
        lines.append(f"{entry.campaign} (server {entry.key.server_key[:12]}): {cost}")
    return "\n".join(lines)


def _distances_from(neighbour_km: float) -> list[float]:
    """Return the distance of neighbouring cells, and the usual ones that are larger and do not read the same."""
    larger = [d for d in DISTANCES_KM if d > neighbour_km and f"{d:.3g}" != f"{neighbour_km:.3g}"]
    return [neighbour_km, *larger]


def _together(spent: float, more: float, distance_km: float, where: str = "") -> str:
    return f", and {_sure(spent + more, distance_km)} after all your answers{where} together" if spent > 0 else ""


def _belief_line(what: str, epsilon: float) -> str:
    most = percent_up(largest_belief(BELIEF_BEFORE, epsilon, 1.0), 1)
    return f"{what}: a belief of {BELIEF_BEFORE:.0%} becomes at most {most}."


def _sure(epsilon_per_km: float, distance_km: float) -> str:
    belief = largest_belief(BELIEF_BEFORE, epsilon_per_km, distance_km)
    return "almost sure" if belief > ALMOST_SURE else f"at most {_percent(belief)} sure"


def _percent(share: float) -> str:
    """Round up to a whole percentage; what is not certain is not called 100 %."""
    if ALMOST_SURE < share < 1:
        return "more than 99 %"
    return percent_up(share, 0).replace("%", " %")


def _about(share: float) -> str:
    """Round to the nearest whole percentage; what is rare is not called 0 %, nor what is not certain 100 %."""
    if share < 1 - ALMOST_SURE:
        return "less than 1 %"
    return "more than 99 %" if share > ALMOST_SURE else f"about {share:.0%}".replace("%", " %")
