"""Say in a line what a policy yields: at any target, at each target, or for a panel."""

from __future__ import annotations

from collections.abc import Callable

from crowdveil.policy.policy import Policy


def describe_value(policy: Policy, percent: Callable[[float], str]) -> str:
    """Say which share of the selected is where it should be; for a panel, how often regular visitors name their place.

    `percent` writes a share.
    """
    if policy.provenance.get("method") == "panel":
        symbols = zip(policy.targets, policy.selecting, strict=False)
        least = min(int(policy.weights[cell, symbol]) for cell, symbol in symbols) / policy.total
        return f"regular visitors of a target name it in {percent(least)} of answers or more"
    if policy.values:
        low, high = percent(min(policy.values)), percent(max(policy.values))
        return f"{low if low == high else f'{low} to {high}'} of those selected for a target are at it"
    return f"{percent(policy.value)} of the selected are at a target"
