"""What will leave the device, in words, before it does.

With odds π/(1-π) that a person is at one place rather than at others within d km, Definition 1 gives after the reply

    odds'  ≤  e^{εd} · odds,        so      π' ≤ π e^{εd} / (1 - π + π e^{εd}).

Replies about the same place multiply, so after several the sum of their ε stands for ε.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp

import numpy as np

from crowdveil.arrays import FloatArray
from crowdveil.client.events import LedgerEntry
from crowdveil.formatting import in_plain_words, percent_up
from crowdveil.policy.policy import Policy
from crowdveil.vocabulary import NULL

SUSPICION = 0.1
"""What a watcher may hold likely before: 1 in 10."""
DISTANCES_KM = (0.5, 1.0, 2.0)
MAX_SYMBOLS = 5
MAX_EXPONENT = 700.0
"""Beyond, e^x is no double; the answer is 100% long before."""


def largest_belief(before: float, epsilon_per_km: float, distance_km: float) -> float:
    """π' ≤ π e^{εd} / (1 - π + π e^{εd}): the most that anyone can believe after a reply."""
    factor = exp(min(epsilon_per_km * distance_km, MAX_EXPONENT))
    return before * factor / (1 - before + before * factor)


def symbol_odds(policy: Policy, cell: int) -> FloatArray:
    """P(symbol | cell) for every symbol; of NULL where the policy has a row for it."""
    if cell == NULL:
        return policy.null_table()
    first = policy.weights[cell] / policy.total
    if policy.completion is None:
        return np.asarray(first)
    second = policy.completion.weights[policy.completion.row[cell]] / policy.total
    return np.concatenate([first[:-1], first[-1] * second])


def describe_reply(policy: Policy, cell: int) -> str:
    """The symbols this place is likeliest to send, with their odds."""
    if cell == NULL and policy.null_weights is None:
        return (
            "You have no frequent place in this area, so the reply is NULL. This campaign takes NULL in the clear: "
            "the server learns for certain that you have none."
        )
    odds = symbol_odds(policy, cell)
    likeliest = np.argsort(-odds, kind="stable")[:MAX_SYMBOLS].tolist()
    named = ", ".join(f"'{policy.symbol_name(symbol)}' {odds[symbol]:.2%}" for symbol in likeliest)
    rest = f", or one of {len(odds) - len(likeliest)} others" if len(odds) > len(likeliest) else ""
    if cell == NULL:
        return f"You have no frequent place in this area. One symbol, drawn by dice like anyone's: {named}{rest}."
    return f"One symbol, drawn by dice that your place weights: {named}{rest}."


def describe_null(null_epsilon: float | None) -> str:
    """What the reply can tell about having a frequent place at all."""
    if null_epsilon is None:
        return (
            "Any reply but NULL says for certain that you have a frequent place in this area; NULL, that you have none."
        )
    most = percent_up(largest_belief(SUSPICION, null_epsilon, 1.0), 1)
    return (
        f"ε₀ = {null_epsilon:.6g} about having a frequent place in this area at all: who held it {SUSPICION:.0%} "
        f"likely that you have one, or that you have none, holds it at most {most} likely after this reply."
    )


def describe_loss(epsilon_per_km: float, spent_epsilon_per_km: float) -> str:
    """What the server, or anyone who sees the reply, can infer at most, now and with all replies before."""
    lines = [f"ε = {epsilon_per_km:.6g} per km: {in_plain_words(epsilon_per_km)}."]
    losses = {"this reply": epsilon_per_km}
    if spent_epsilon_per_km > 0:
        losses["all your replies together"] = spent_epsilon_per_km + epsilon_per_km
    for name, epsilon in losses.items():
        most = ", ".join(
            f"at most {percent_up(largest_belief(SUSPICION, epsilon, d), 1)} against places within {d:g} km"
            for d in DISTANCES_KM
        )
        lines.append(f"Who held one place {SUSPICION:.0%} likely holds it, after {name}, {most}.")
    return "\n".join(lines)


def describe_ledger(entries: Sequence[LedgerEntry], spent_epsilon_per_km: float, cap_epsilon_per_km: float) -> str:
    """What was said so far, and how much is left."""
    left = max(0.0, cap_epsilon_per_km - spent_epsilon_per_km)
    lines = [
        f"ε = {spent_epsilon_per_km:.6g} of {cap_epsilon_per_km:.6g} per km is spent for good; {left:.6g} is left."
    ]
    for entry in entries:
        why = f" ({entry.reason})" if entry.reason else ""
        lines.append(f"{entry.at}  {entry.campaign}: {entry.state}{why}, ε = {entry.epsilon_per_km:.6g} per km")
    return "\n".join(lines)
