"""What is said about a policy that was made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from crowdveil.certify import Certificate
from crowdveil.cli.console import in_bytes
from crowdveil.formatting import exact, in_plain_words, rounded_up
from crowdveil.policy.policy import Policy


def summary(policy: Policy, certificate: Certificate) -> dict[str, Any]:
    """A policy and its certificate in numbers."""
    return {
        "cells": len(policy),
        "targets": list(policy.targets),
        "epsilon_per_km": policy.epsilon_per_km,
        "beta": policy.beta,
        "value": policy.value,
        "proven_gap": float(policy.provenance["gap"]) if "gap" in policy.provenance else None,
        "private": certificate.ok,
        "smallest_epsilon_per_km": certificate.smallest_epsilon_per_km,
        "hash": policy.hash,
    }


def facts(policy: Policy, certificate: Certificate, out: Path, size: int, seconds: float) -> dict[str, str]:
    """A policy and its certificate in words."""
    shown = ", ".join(str(target) for target in policy.targets[:12]) + (", ..." if len(policy.targets) > 12 else "")
    facts = {
        "policy": f"{out} ({in_bytes(size)})",
        "cells": f"{len(policy):,}",
        "targets": shown,
        "privacy": _privacy(policy.epsilon_per_km) if certificate.ok else "NONE",
        "selected": f"{policy.beta:.2%} of the users (β)",
        "value": f"{policy.value:.4%} of the selected are at a target",
    }
    if "gap" in policy.provenance:
        facts["proven gap"] = _gap(float(policy.provenance["gap"]))
    return facts | {"certified": _certified(certificate), "hash": policy.hash, "time": f"{seconds:.2f} s"}


def _privacy(epsilon_per_km: float) -> str:
    return f"ε = {exact(epsilon_per_km)} per km: {in_plain_words(epsilon_per_km)}"


def _gap(gap: float) -> str:
    if gap <= 0:
        return "none: no private policy with this β is better"
    return f"{rounded_up(gap, 2)}: no private policy with this β is better by more than that share"


def _certified(certificate: Certificate) -> str:
    if not certificate.ok:
        return "NO"
    if certificate.smallest_epsilon_per_km == 0:
        return "yes, private at every ε: all cells send the same"
    return f"yes, private from ε = {certificate.smallest_shown} per km on"
