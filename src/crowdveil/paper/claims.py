"""Check the claims of the paper, and ours, against the records of a study.

Every verdict is computed from the records, by the interval of the difference that the claim is about (`verdicts`).
Where a claim of the paper is not reproduced, the report says so; where there are too few seeds to decide, it says
that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import exp, isclose, log

from crowdveil.paper.balance_claims import balance_claims
from crowdveil.paper.figures.losses import BY_PROFILE, CLEAR, OURS, PARTS
from crowdveil.paper.verdicts import difference, exceptions, of_record, of_values, ratio_values, throughout
from crowdveil.plots.report import StudyClaim
from crowdveil.plots.style import METHODS
from crowdveil.simulate.records import Record

REFERENCE = {"none": 0.32, "algorithm-1": 0.215, "laplace": 0.17}
"""Reference coverage on New York with π known: dense target, Poisson profile, ε = ln 4 per km, δ = 0.7."""
NEAR = 0.02
UNPROTECTED = 0.329
"""The paper's coverage of the dense target without any obfuscation."""
NEAR_NONE = 0.05
RIVALS = {"laplace": 1.2, "laplace-posterior": 1.2, "laplace-remapped": 1.0, "privic": 1.0}
"""How many times as much as each of these ours should cover, under the same profile and rule."""


def claims_of(study: str, records: Sequence[Record]) -> list[StudyClaim]:
    """List every claim that the records can decide."""
    made = [*common_claims(records)]
    if study == "new-york":
        made += _two_targets(records)
        made += _beyond(records)
    made += _orders(records)
    made += balance_claims(records)
    made += _divergences(records)
    made += _attackers(records)
    made += _uploads(records)
    return made


def common_claims(records: Sequence[Record]) -> list[StudyClaim]:
    """List what can be claimed of every data set: what is lost where, and how well profiles predict."""
    return [*_losses(records), *_profiles(records)]


def _losses(records: Sequence[Record]) -> list[StudyClaim]:
    """Say what is lost where, and whether each part loses anything at all."""
    made = []
    for part in PARTS:
        found = [r for r in records if r.figure == "losses" and r.measure == "coverage_lost" and r.method == part.name]
        for record in found:
            lost = of_record(record)
            text = f"{part.title} loses coverage: {lost.points}."
            made.append(StudyClaim(text, lost.above(0.0)))
    at = {r.method: r for r in records if r.figure == "losses" and r.measure == "coverage"}
    if CLEAR in at:
        lost = difference(at[CLEAR], at[OURS])
        text = (
            "Protecting also how regularly a place is visited, and being outside, loses coverage against protecting "
            f"the place alone ({_percent(at[CLEAR])}): {lost.points}."
        )
        made.append(StudyClaim(text, lost.above(0.0)))
    by_profile = [r for r in records if r.figure == "losses" and r.method == BY_PROFILE]
    if by_profile:
        told = ", ".join(f"{record.profile} {_percent(record)}" for record in by_profile)
        made.append(StudyClaim(f"Chosen by their profiles alone, with nobody protected, people cover: {told}.", "note"))
    return made


def _two_targets(records: Sequence[Record]) -> list[StudyClaim]:
    made = []
    for method, reference in REFERENCE.items():
        record = _one(records, "two-targets", method=method, profile="poisson", label="dense target")
        text = (
            f"Dense target, the paper's profile, {_name(method)}: {_percent(record)}, within "
            f"{100 * NEAR:.0f} percentage points of the reference value, {reference:.1%}."
        )
        made.append(StudyClaim(text, of_record(record).within(reference, NEAR)))
    return made


def _beyond(records: Sequence[Record]) -> list[StudyClaim]:
    dense = _one(records, "two-targets", method="crowdveil", label="dense target")
    text = (
        f"At ε = ln 4 per km, π unknown, our selection covers the dense target with {_percent(dense)}: the whole "
        f"interval lies above {UNPROTECTED:.1%}, the paper's coverage without any protection (its profile, its grid)."
    )
    made = [StudyClaim(text, of_record(dense).above(UNPROTECTED))]
    mean = {
        (record.method, record.profile): record
        for record in records
        if record.figure == "densest" and record.label == "mean of all"
    }
    ours, printed = mean["crowdveil", "recency"], mean["algorithm-2", "poisson"]
    made.append(
        StudyClaim(
            f"Mean of the twenty densest targets over the positions of the grid: ours {_percent(ours)}, Algorithm 2 as "
            f"printed {_percent(printed)}: {_times(ours, printed)} times as much, with a goal of 1.6.",
            difference(ours, printed, 1.6).above(0.0),
        )
    )
    for method, goal in RIVALS.items():
        peer = mean[method, "recency"]
        made.append(
            StudyClaim(
                f"The same mean against {_name(method)} under the same profile and rule, {_percent(peer)}: "
                f"{_times(ours, peer)} times as much, with a goal of {'more' if goal == 1 else goal}.",
                difference(ours, peer, goal).above(0.0),
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
        for peer in (("algorithm-2", "poisson"), *((method, "recency") for method in RIVALS))
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
            verdicts = {name: difference(record, peer[name]).above(0.0) for name, record in ours.items()}
            pairs = ", ".join(f"{n} {r.value:.1%} against {peer[n].value:.1%}" for n, r in ours.items())
            text = f"{_name(method)} lies above planar Laplace (nearest first) throughout figure {figure}: {pairs}."
            made.append(StudyClaim(text + exceptions(verdicts), throughout(verdicts.values())))
    made += _gap_at_small_epsilon(records)
    made += _near_none(records)
    return made


def _gap_at_small_epsilon(records: Sequence[Record]) -> list[StudyClaim]:
    found = {
        (r.method, round(exp(r.epsilon_per_km or 0))): r
        for r in records
        if r.figure == "epsilons" and r.profile == "poisson"
    }
    # Without any coverage by Laplace there is no ratio.
    bases = [base for base in (2, 4, 6, 8) if ("laplace", base) in found and found["laplace", base].value > 0]
    if not {2, 8} <= set(bases):
        return []
    ratios = {base: ratio_values(found["algorithm-2", base], found["laplace", base]) for base in bases}
    text = (
        "The paper's gain over Laplace is larger at smaller ε: Algorithm 2 over Laplace is "
        + ", ".join(f"{values.mean():.2f} at ln {base}" for base, values in ratios.items())
        + "."
    )
    return [StudyClaim(text, of_values(ratios[2] - ratios[8]).above(0.0))]


def _near_none(records: Sequence[Record]) -> list[StudyClaim]:
    made = []
    for method, profile in (("algorithm-2", "poisson"), ("crowdveil", "recency")):
        found = [r for r in records if r.figure == "many-targets" and r.profile == profile and r.targets == 8]
        at = {r.method: r for r in found}
        if at:
            text = (
                f"At eight targets {_name(method)} ({at[method].value:.1%}) comes within {100 * NEAR_NONE:.0f} points "
                f"of no obfuscation ({at['none'].value:.1%})."
            )
            made.append(StudyClaim(text, difference(at["none"], at[method]).at_most(NEAR_NONE)))
    return made


def _divergences(records: Sequence[Record]) -> list[StudyClaim]:
    at = {(r.label, r.method, r.k): r for r in records if r.figure == "divergences" and r.k}
    made = []
    for label in sorted({key[0] for key in at}):
        for rival, whose in (("algorithm-2", "the paper's"), ("privic", "PRIVIC's")):
            rounds = sorted({k for name, method, k in at if k and name == label and method == rival})
            if not rounds:
                continue
            pairs = {k: (at[label, "crowdveil", k], at[label, rival, k]) for k in rounds}
            verdicts = {f"k = {k}": difference(theirs, ours).above(0.0) for k, (ours, theirs) in pairs.items()}
            told = ", ".join(
                f"k = {k}: {ours.value:.2f} against {theirs.value:.2f}" for k, (ours, theirs) in pairs.items()
            )
            text = f"Our estimate of π is nearer to the truth than {whose} at every k ({label}): {told} nats."
            made.append(StudyClaim(text + exceptions(verdicts), throughout(verdicts.values())))
    return made


def _profiles(records: Sequence[Record]) -> list[StudyClaim]:
    """Check that one profile ranks better than another, and say how well each is calibrated."""
    auc = {r.method: r for r in records if r.figure == "rocs"}
    made = []
    for better, than, whose in (("poisson", "frequency", " (the paper)"), ("recency", "poisson", "")):
        if better in auc and than in auc:
            text = (
                f"The profile {better} ranks better than {than}{whose}: areas under the curve {auc[better].value:.4f} "
                f"and {auc[than].value:.4f}."
            )
            made.append(StudyClaim(text, difference(auc[better], auc[than]).above(0.0)))
    for profile in dict.fromkeys(r.profile for r in records if r.figure == "calibrations"):
        high = [r for r in records if r.figure == "calibrations" and r.profile == profile and r.extra["tenth"] >= 7]
        trials = sum(r.extra["trials"] for r in high)
        if trials:
            predicted, came = (
                sum(one * r.extra["trials"] for one, r in zip(some, high, strict=True)) / trials
                for some in ([r.extra["predicted"] for r in high], [r.value for r in high])
            )
            text = (
                f"Where the profile {profile} predicts a visit with 70 % or more, it predicts {predicted:.0%} on "
                f"average, and people came in {came:.0%} of {trials:,} cases."
            )
            made.append(StudyClaim(text, "note"))
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
    return [StudyClaim(text, throughout(of_record(r).at_most(r.extra["bound"]) for r in found))]


def _uploads(records: Sequence[Record]) -> list[StudyClaim]:
    found = [r for r in records if r.figure == "several-uploads" and r.profile == "recency"]
    made = []
    for label in sorted({r.label for r in found}):
        at = {r.extra["uploads"]: r for r in found if r.label == label}
        told = ", ".join(f"{m}: {_percent(r)}" for m, r in sorted(at.items()))
        text = f"One place per user covers more than several, with ε divided among them ({label}): {told}."
        verdicts = {f"{m} places": difference(at[1], r).above(0.0) for m, r in sorted(at.items()) if m > 1}
        made.append(StudyClaim(text + exceptions(verdicts), throughout(verdicts.values())))
    return made


def _one(records: Iterable[Record], figure: str, **wanted: str) -> Record:
    return next(
        r for r in records if r.figure == figure and all(getattr(r, name) == value for name, value in wanted.items())
    )


def _times(one: Record, other: Record) -> str:
    return f"{one.value / other.value:.2f}" if other.value > 0 else "infinitely many"


def _percent(record: Record) -> str:
    return f"{record.value:.1%} ({record.ci_low:.1%} to {record.ci_high:.1%})"


def _name(method: str) -> str:
    return METHODS[method].name
