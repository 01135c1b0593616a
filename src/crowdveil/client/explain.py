"""Tell the participant, before anything is sent, what will leave the device and what others can learn from it.

Every `describe_` function gives a sentence or two for a participant, who knows nothing of ε, symbols or NULL. Its twin
ending in `_figures` gives the exact numbers for those who ask. What others can learn is always rounded up.

With odds π/(1-π) that a person is at one place rather than at others within d km, Definition 1 gives after the report

    odds'  ≤  e^{εd} · odds,        so      π' ≤ π e^{εd} / (1 - π + π e^{εd}).

Reports about the same place multiply, so after several of them the sum of their ε takes the place of ε.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, floor

import numpy as np

from crowdveil.arrays import FloatArray
from crowdveil.client.events import LedgerEntry
from crowdveil.formatting import in_plain_words, percent_up
from crowdveil.policy.policy import Policy
from crowdveil.vocabulary import NULL

BELIEF_BEFORE = 0.1
"""The example in every explanation: an observer who believes something with a probability of 1 in 10."""
DISTANCES_KM = (0.5, 1.0, 2.0)
"""Distances for which the figures are given; the first one is used in the short text."""
ALMOST_SURE = 0.99
"""A belief above this is called "almost sure", because "at most 100 % sure" would say nothing."""
MAX_SYMBOLS = 5
"""How many symbols the figures list."""
MAX_CAMPAIGNS = 1000
"""Above this, the number of further campaigns is not spelt out."""
MAX_EXPONENT = 700.0
"""e^x overflows a double soon after this; the belief is 100 % long before."""
ANSWERS = {"hit": "near a target", "other": "not near a target"}
STATES = {
    "joining": "not answered yet",
    "drawn": "answered, not confirmed by the server yet",
    "acknowledged": "answered",
    "refused": "answered, but not counted",
}


@dataclass(frozen=True)
class Explanation:
    """What the device tells its owner before a report is sent."""

    text: str
    """Short sentences for the participant."""
    figures: str
    """The exact bounds, the certificate and the hash of the policy."""

    def __str__(self) -> str:
        return self.text


def largest_belief(before: float, epsilon_per_km: float, distance_km: float) -> float:
    """Return π' ≤ π e^{εd} / (1 - π + π e^{εd}): the most that anyone can believe after a report."""
    factor = exp(min(epsilon_per_km * distance_km, MAX_EXPONENT))
    return before * factor / (1 - before + before * factor)


def symbol_probabilities(policy: Policy, cell: int) -> FloatArray:
    """Return P(symbol | cell) for every symbol; `NULL` is a cell too where the policy has a row for it."""
    if cell == NULL:
        return policy.null_table()
    first = policy.weights[cell] / policy.total
    if policy.completion is None:
        return np.asarray(first)
    second = policy.completion.weights[policy.completion.row[cell]] / policy.total
    return np.concatenate([first[:-1], first[-1] * second])


# --- the report -----------------------------------------------------------------------------------------------


def describe_report(policy: Policy, cell: int) -> str:
    """Say how the phone will answer, and the answer that is most likely from this place."""
    if cell == NULL and policy.null_weights is None:
        return "You do not regularly visit anywhere in this area, and your phone will say so."
    probabilities = symbol_probabilities(policy, cell)
    likeliest = int(np.argmax(probabilities))
    answer = f'"{_answer(policy.symbol_name(likeliest))}" ({_percent(float(probabilities[likeliest]))})'
    if cell == NULL:
        return (
            "You do not regularly visit anywhere in this area. Your phone will answer at random all the same. "
            f"The most likely answer is {answer}."
        )
    return f"Your phone will answer at random. From your place the most likely answer is {answer}."


def report_figures(policy: Policy, cell: int) -> str:
    """List the symbols that this place is most likely to send, with their probabilities."""
    if cell == NULL and policy.null_weights is None:
        return "Symbol to send: NULL, in the clear."
    probabilities = symbol_probabilities(policy, cell)
    likeliest = np.argsort(-probabilities, kind="stable")[:MAX_SYMBOLS].tolist()
    named = ", ".join(f"'{policy.symbol_name(symbol)}' {probabilities[symbol]:.2%}" for symbol in likeliest)
    others = len(probabilities) - len(likeliest)
    rest = f", and {others} others" if others > 0 else ""
    return f"Symbols to draw from: {named}{rest}."


# --- having a frequent place at all -----------------------------------------------------------------------------


def describe_null(null_epsilon: float | None) -> str:
    """Say what others can learn about whether the participant has a frequent place in the area at all."""
    if null_epsilon is None:
        return "The organiser will learn whether you regularly visit anywhere in this area."
    return (
        f"Someone who thinks there is a {_percent(BELIEF_BEFORE)} chance that you regularly visit somewhere in this "
        f"area, or that you do not, can be {_sure(null_epsilon, 1.0)} after your answer."
    )


def null_figures(null_epsilon: float | None) -> str:
    """Give ε₀ and the bound that it means."""
    if null_epsilon is None:
        return "NULL is sent in the clear: every other symbol proves that there is a frequent place in this area."
    most = percent_up(largest_belief(BELIEF_BEFORE, null_epsilon, 1.0), 1)
    return (
        f"ε₀ = {null_epsilon:.6g} for having a frequent place in this area at all: a belief of {BELIEF_BEFORE:.0%} "
        f"becomes at most {most}."
    )


# --- the place --------------------------------------------------------------------------------------------------


def describe_loss(epsilon_per_km: float, spent_epsilon_per_km: float) -> str:
    """Say what anyone who sees the report can infer about the place at most, now and with all reports before."""
    near_km = DISTANCES_KM[0]
    together = ""
    if spent_epsilon_per_km > 0:
        total = spent_epsilon_per_km + epsilon_per_km
        together = f", and {_sure(total, near_km)} after all your answers together"
    return (
        f"Someone who thinks there is a {_percent(BELIEF_BEFORE)} chance that this is your place, compared with places "
        f"within {1000 * near_km:.0f} m, can be {_sure(epsilon_per_km, near_km)} after your answer{together}."
    )


def loss_figures(epsilon_per_km: float, spent_epsilon_per_km: float) -> str:
    """Give ε and the bounds that it means at several distances, now and with all reports before."""
    lines = [f"ε = {epsilon_per_km:.6g} per km: {in_plain_words(epsilon_per_km)}."]
    losses = {"this answer": epsilon_per_km}
    if spent_epsilon_per_km > 0:
        losses["all your answers together"] = spent_epsilon_per_km + epsilon_per_km
    for name, epsilon in losses.items():
        bounds = ", ".join(
            f"at most {percent_up(largest_belief(BELIEF_BEFORE, epsilon, d), 1)} within {d:g} km" for d in DISTANCES_KM
        )
        lines.append(f"A belief of {BELIEF_BEFORE:.0%} becomes, after {name}, {bounds}.")
    return "\n".join(lines)


# --- the limit for all campaigns together -------------------------------------------------------------------------


def describe_cost(epsilon_per_km: float, spent_epsilon_per_km: float, limit_epsilon_per_km: float) -> str:
    """Say how many more campaigns like this one the owner's limit allows after the report."""
    # The small term keeps 3 ln 4 - 2 ln 4 from counting as less than one ln 4.
    more = floor((limit_epsilon_per_km - spent_epsilon_per_km) / epsilon_per_km + 1e-9) - 1
    if more < 1:
        return "After this answer your limit allows no other campaign like this one."
    number = f"more than {MAX_CAMPAIGNS:,}" if more > MAX_CAMPAIGNS else f"{more:,}"
    return (
        f"After this answer your limit allows {number} more {'campaign' if more == 1 else 'campaigns'} like this one."
    )


def describe_ledger(entries: Sequence[LedgerEntry], spent_epsilon_per_km: float, limit_epsilon_per_km: float) -> str:
    """Say how many campaigns were answered, how much of the owner's limit is used, and what was done in each."""
    answered = sum(entry.symbol is not None for entry in entries)
    lines = [describe_use(answered, spent_epsilon_per_km, limit_epsilon_per_km)]
    for entry in entries:
        why = f" ({entry.reason})" if entry.reason else ""
        lines.append(f"{entry.at}  {entry.campaign}: {STATES[entry.state]}{why}")
    return "\n".join(lines)


def ledger_figures(entries: Sequence[LedgerEntry], spent_epsilon_per_km: float, limit_epsilon_per_km: float) -> str:
    """Give the ε of every campaign, their sum, and what is left."""
    left = max(0.0, limit_epsilon_per_km - spent_epsilon_per_km)
    lines = [
        f"ε = {spent_epsilon_per_km:.6g} of {limit_epsilon_per_km:.6g} per km is permanently used; {left:.6g} is left."
    ]
    lines += [f"{entry.campaign}: ε = {entry.epsilon_per_km:.6g} per km" for entry in entries]
    return "\n".join(lines)


def describe_use(answered: int, spent_epsilon_per_km: float, limit_epsilon_per_km: float) -> str:
    """Say how many campaigns were answered, and how much of the owner's limit is used."""
    number = "no" if answered == 0 else f"{answered:,}"
    campaigns = f"{number} {'campaign' if answered < 2 else 'campaigns'}"
    if spent_epsilon_per_km >= limit_epsilon_per_km:
        stop = "This phone will not answer more unless you raise the limit."
        if answered == 0:
            return f"Your limit was used up before this ledger began. {stop}"
        return f"You have answered {campaigns}, the most your limit allows. {stop}"
    if spent_epsilon_per_km == 0:
        return f"You have answered {campaigns}."
    return (
        f"You have answered {campaigns} and used {_percent(spent_epsilon_per_km / limit_epsilon_per_km)} of your limit."
    )


def _answer(symbol_name: str) -> str:
    """Name a symbol as a participant would."""
    if symbol_name.startswith("cell "):
        return f"in part {symbol_name.removeprefix('cell ')} of the map"
    return ANSWERS.get(symbol_name, symbol_name)


def _sure(epsilon_per_km: float, distance_km: float) -> str:
    belief = largest_belief(BELIEF_BEFORE, epsilon_per_km, distance_km)
    return "almost sure" if belief > ALMOST_SURE else f"at most {_percent(belief)} sure"


def _percent(share: float) -> str:
    """Round up to a whole percentage; what is not certain is not called 100 %."""
    if ALMOST_SURE < share < 1:
        return "more than 99 %"
    return percent_up(share, 0).replace("%", " %")
