"""Check the claims of the paper, and ours, against the records of a study: each holds, does not hold, or is a note.

Every verdict is computed. Where a claim of the paper is not reproduced, the report says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import exp, isclose, log

from crowdveil.plots.report import StudyClaim, Verdict
from crowdveil.plots.style import METHODS
from crowdveil.simulate.records import Record

REFERENCE = {"none": 0.32, "algorithm-1": 0.215, "laplace": 0.17}
"""Reference coverage on New York with π known: dense target, Poisson profile, ε = ln 4 per km, δ = 0.7."""
NEAR = 0.02
UNPROTECTED = 0.329
"""The paper's coverage of the dense target without any obfuscation."""
NEAR_NONE = 0.05


def claims_of(study: str, records: Sequence[Record]) -> list[StudyClaim]:
    """List every claim that the records can decide."""
    made: list[StudyClaim] = []
    if study == "new-york":
        made += _two_targets(records)
        made += _beyond(records)
    made += _orders(records)
    made += _divergences(records)
    made += _attackers(records)
    made += _uploads(records)
    return made


def _two_targets(records: Sequence[Record]) -> list[StudyClaim]:
    made = []
    for method, reference in REFERENCE.items():
        record = _one(records, "two-targets", method=method, profile="poisson", label="dense target")
        near = abs(record.value - reference) <= NEAR
        text = (
            f"Dense target, the paper's profile, {_name(method)}: {_percent(record)}, within "
            f"{100 * NEAR:.0f} percentage points of the reference value, {reference:.1%}."
        )
        made.append(StudyClaim(text, _verdict(near)))
    return made


def _beyond(records: Sequence[Record]) -> list[StudyClaim]:
    dense = _one(records, "two-targets", method="crowdveil", label="dense target")
    text = (
        f"At ε = ln 4 per km, π unknown, our selection covers the dense target with {_percent(dense)}: the whole "
        f"interval lies above {UNPROTECTED:.1%}, the paper's coverage without any protection (its profile, its grid)."
    )
    made = [StudyClaim(text, _verdict(dense.ci_low > UNPROTECTED))]
    mean = {
        (record.method, record.profile): record
        for record in records
        if record.figure == "densest" and record.label == "mean of all"
    }
    ours, printed = mean["crowdveil", "recency"], mean["algorithm-2", "poisson"]
    made.append(
        StudyClaim(
            f"Mean of the twenty densest targets over the positions of the grid: ours {_percent(ours)}, Algorithm 2 as "
            f"printed {_percent(printed)}: {ours.value / printed.value:.2f} times as much, with a goal of 1.6.",
            _verdict(ours.value >= 1.6 * printed.value),
        )
    )
    for method in ("laplace", "laplace-posterior"):
        peer = mean[method, "recency"]
        made.append(
            StudyClaim(
                f"The same mean against {_name(method)} under the same profile and rule, {_percent(peer)}: "
                f"{ours.value / peer.value:.2f} times as much, with a goal of 1.2.",
                _verdict(ours.value >= 1.2 * peer.value),
            )
        )
    made.append(_single_targets(records))
    return made


def _single_targets(records: Sequence[Record]) -> StudyClaim:
    single = [record for record in records if record.figure == "densest" and record.offset is not None]
    at = {(r.method, r.profile, r.extra["rank"], r.offset): r.value for r in single}
    ours = {key[2:]: value for key, value in at.items() if key[:2] == ("crowdveil", "recency")}
    wins = {
        peer: sum(value > at[*peer, *key] for key, value in ours.items())
        for peer in (("algorithm-2", "poisson"), ("laplace", "recency"), ("laplace-posterior", "recency"))
    }
    told = ", ".join(f"above {_name(method)} in {won}" for (method, _), won in wins.items())
    return StudyClaim(f"Of {len(ours)} single targets and positions, ours is {told}; all are listed.", "note")


def _orders(records: Sequence[Record]) -> list[StudyClaim]:
    """Check the order in the paper's figures: its method is above Laplace everywhere."""
    made = []
    settings: dict[str, Callable[[Record], str]] = {
        "epsilons": lambda r: f"ε = ln {exp(r.epsilon_per_km or 0):.0f}",
        "deltas": lambda r: f"δ = {r.delta:g}",
        "many-targets": lambda r: f"{r.targets} target{'s' * (r.targets != 1)}",
    }
    for figure, setting in settings.items():
        for method, profile in (("algorithm-2", "poisson"), ("crowdveil", "recency")):
            ours = {setting(r): r for r in records if (r.figure, r.method, r.profile) == (figure, method, profile)}
            peer = {setting(r): r for r in records if (r.figure, r.method, r.profile) == (figure, "laplace", profile)}
            if not ours:
                continue
            lost = [name for name, record in ours.items() if record.value <= peer[name].value]
            pairs = ", ".join(f"{n} {r.value:.1%} against {peer[n].value:.1%}" for n, r in ours.items())
            text = f"{_name(method)} lies above planar Laplace (nearest first) throughout figure {figure}: {pairs}."
            made.append(StudyClaim(text + (f" Not at {', '.join(lost)}." if lost else ""), _verdict(not lost)))
    made += _gap_at_small_epsilon(records)
    made += _near_none(records)
    return made


def _gap_at_small_epsilon(records: Sequence[Record]) -> list[StudyClaim]:
    value = {
        (r.method, round(exp(r.epsilon_per_km or 0))): r.value
        for r in records
        if r.figure == "epsilons" and r.profile == "poisson"
    }
    if not value:
        return []
    ratio = {base: value["algorithm-2", base] / value["laplace", base] for base in (2, 4, 6, 8)}
    text = (
        "The paper's gain over Laplace is larger at smaller ε: Algorithm 2 over Laplace is "
        + ", ".join(f"{r:.2f} at ln {base}" for base, r in ratio.items())
        + "."
    )
    return [StudyClaim(text, _verdict(ratio[2] > ratio[8]))]


def _near_none(records: Sequence[Record]) -> list[StudyClaim]:
    made = []
    for method, profile in (("algorithm-2", "poisson"), ("crowdveil", "recency")):
        found = [r for r in records if r.figure == "many-targets" and r.profile == profile and r.targets == 8]
        value = {r.method: r.value for r in found}
        if value:
            text = (
                f"At eight targets {_name(method)} ({value[method]:.1%}) comes within {100 * NEAR_NONE:.0f} points of "
                f"no obfuscation ({value['none']:.1%})."
            )
            made.append(StudyClaim(text, _verdict(value["none"] - value[method] <= NEAR_NONE)))
    return made


def _divergences(records: Sequence[Record]) -> list[StudyClaim]:
    value = {(r.label, r.method, r.k): r.value for r in records if r.figure == "divergences" and r.k}
    made = []
    for label in sorted({key[0] for key in value}):
        rounds = sorted({key[2] for key in value if key[0] == label})
        worse = [k for k in rounds if value[label, "crowdveil", k] >= value[label, "algorithm-2", k]]
        told = ", ".join(
            f"k = {k}: {value[label, 'crowdveil', k]:.2f} against {value[label, 'algorithm-2', k]:.2f}" for k in rounds
        )
        made.append(
            StudyClaim(
                f"Our estimate of π is nearer to the truth than the paper's at every k ({label}): {told} nats.",
                _verdict(not worse),
            )
        )
    return made


def _attackers(records: Sequence[Record]) -> list[StudyClaim]:
    found = [r for r in records if r.figure == "attackers" and r.method not in ("bound", "no report")]
    if not found:
        return []
    worst = max(found, key=lambda r: r.value / r.extra["bound"])
    at_ln4 = {r.method: r for r in records if r.figure == "attackers" and isclose(r.epsilon_per_km or 0, log(4))}
    ours, blind = at_ln4["crowdveil-known"], at_ln4["no report"]
    text = (
        f"An attacker who knows π never exceeds the bound that ε gives; this was checked for every symbol of every "
        f"policy. At ε = ln 4 per km the best guess from our report is right in {ours.value:.1%} (without a report "
        f"{blind.value:.1%}, bound {ours.extra['bound']:.1%}); {_name(worst.method)} came nearest to its bound, with "
        f"{worst.value:.1%} of {worst.extra['bound']:.1%}."
    )
    return [StudyClaim(text, _verdict(all(r.ci_high <= r.extra["bound"] for r in found)))]


def _uploads(records: Sequence[Record]) -> list[StudyClaim]:
    found = [r for r in records if r.figure == "several-uploads" and r.profile == "recency"]
    made = []
    for label in sorted({r.label for r in found}):
        value = {r.extra["uploads"]: r for r in found if r.label == label}
        told = ", ".join(f"{m}: {_percent(r)}" for m, r in sorted(value.items()))
        best = max(value, key=lambda m: value[m].value)
        text = f"Several places per user, with ε divided among them ({label}): {told}. The best number is {best}."
        made.append(StudyClaim(text, "note"))
    return made


def _one(records: Iterable[Record], figure: str, **wanted: str) -> Record:
    return next(
        r for r in records if r.figure == figure and all(getattr(r, name) == value for name, value in wanted.items())
    )


def _verdict(so: bool) -> Verdict:
    return "holds" if so else "does not hold"


def _percent(record: Record) -> str:
    return f"{record.value:.1%} ({record.ci_low:.1%} to {record.ci_high:.1%})"


def _name(method: str) -> str:
    return METHODS[method].name
