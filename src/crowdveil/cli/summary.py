"""What is said about a policy that was made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from crowdveil.certify import Certificate
from crowdveil.cli.console import in_bytes, in_plain_words
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
        gap = float(policy.provenance["gap"])
        facts["proven gap"] = f"{gap:.1e}: no private policy with this β is better by more than that share"
    facts["certified"] = (
        f"yes, private from ε = {certificate.smallest_epsilon_per_km:.9g} per km on" if certificate.ok else "NO"
    )
    return facts | {"hash": policy.hash, "time": f"{seconds:.2f} s"}


def _privacy(epsilon_per_km: float) -> str:
    return f"ε = {epsilon_per_km:.6g} per km: {in_plain_words(epsilon_per_km)}"
