"""Measure how well a profile predicts visits: ROC curve and AUC.

Every triple (user, cell, test period) is scored: its score is the profile's probability of (user, cell), and it is
positive when the user was in the cell in that period. A profile predicts one period, so each test period is a trial of
its own. Either all pairs take part, or some:

    all       every user with every cell; pairs without a training visit have the score 0
    trained   only pairs with a training visit

`all` is the default, because a profile also has to predict where somebody will not be. It gives higher values, since
most pairs never have a visit; `trained` tests only the order among places where a user has been before.

AUC is the rank statistic of Mann and Whitney: the probability that a random positive is scored above a random negative,
a tie counting one half:

    AUC = ( Σ_s P_s ( N_{<s} + N_s / 2 ) ) / ( P N ),

with P_s and N_s the positives and negatives of score s. It is summed in whole numbers and divided once, so that it is
exact however many ties there are; it equals the area under the curve drawn with straight lines between the scores.
The pairs of `all` that have neither a training nor a test visit are counted, never listed.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from crowdveil.arrays import FloatArray, IntArray, frozen
from crowdveil.errors import InputError
from crowdveil.profile.counts import Counts
from crowdveil.profile.profile import Profile

ScoredPairs = Literal["all", "trained"]


@dataclass(frozen=True, eq=False, repr=False)
class Roc:
    """A curve from (0, 0) to (1, 1): the rates when everything with a score of at least `threshold` is predicted."""

    threshold: FloatArray
    """Scores from high to low, after an infinite one at which nothing is predicted."""
    false_positive_rate: FloatArray
    true_positive_rate: FloatArray
    auc: float
    positives: int
    negatives: int
    method: str
    pairs: str

    def __repr__(self) -> str:
        scored = f"{self.positives:,} of {self.positives + self.negatives:,} scored are visited"
        return f"Roc({self.method}, {self.pairs} pairs: AUC {self.auc:.4f}, {scored})"


def roc(profile: Profile, counts: Counts, test: range, pairs: ScoredPairs = "all") -> Roc:
    """Compare a profile with what happened in test periods, which should come after all it was made from."""
    counts.periods.check("test", test)
    if (profile.users, profile.cells) != (counts.users, counts.cells):
        size = f"should have the {counts.users} users and {counts.cells} cells of the counts"
        raise InputError("profile", [profile.users, profile.cells], size)
    if test.start < profile.train.stop:
        raise InputError("test", test, f"should start after the training periods, {profile.train}")
    if pairs not in ("all", "trained"):
        raise InputError("pairs", pairs, "should be 'all' or 'trained'")
    score, positive, negative = _by_score(profile, counts, test, pairs)
    all_positive, all_negative = sum(positive.tolist()), sum(negative.tolist())
    if all_positive == 0 or all_negative == 0:
        found = f"{all_positive:,} of {all_positive + all_negative:,} scored are visited"
        raise InputError(
            "test", found, "should contain both visited and not visited triples; is there data in these periods?"
        )
    return Roc(
        threshold=frozen(np.concatenate([[np.inf], score[::-1]])),
        false_positive_rate=_rate(negative, all_negative),
        true_positive_rate=_rate(positive, all_positive),
        auc=_auc(positive, negative),
        positives=all_positive,
        negatives=all_negative,
        method=profile.method,
        pairs=pairs,
    )


def _by_score(
    profile: Profile, counts: Counts, test: range, pairs: ScoredPairs
) -> tuple[FloatArray, IntArray, IntArray]:
    """Return each score, ascending, with its positives and negatives."""
    happened = counts.pairs(test)
    later = happened.user * counts.cells + happened.cell
    trained = profile.user * counts.cells + profile.cell
    listed = trained if pairs == "trained" else np.union1d(trained, later)
    score, visited = np.zeros(len(listed)), np.zeros(len(listed), dtype=np.int64)
    score[np.searchsorted(listed, trained)] = profile.probability
    known = np.isin(later, listed, assume_unique=True)
    visited[np.searchsorted(listed, later[known])] = happened.periods[known]
    # One more entry stands for all pairs that are in neither list.
    unlisted = counts.users * counts.cells - len(listed) if pairs == "all" else 0
    scores, group = np.unique(np.append(score, 0.0) if unlisted else score, return_inverse=True)
    positive, negative = (np.zeros(len(scores), dtype=np.int64) for _ in range(2))
    np.add.at(positive, group[: len(listed)], visited)
    np.add.at(negative, group[: len(listed)], len(test) - visited)
    if unlisted:
        negative[0] += unlisted * len(test)
    return scores, positive, negative


def _rate(number: IntArray, total: int) -> FloatArray:
    from_high: FloatArray = np.concatenate([[0], np.cumsum(number[::-1])]) / total
    return frozen(from_high)


def _auc(positive: IntArray, negative: IntArray) -> float:
    below, doubled, all_positive = 0, 0, 0
    for p, n in zip(positive.tolist(), negative.tolist(), strict=True):  # Python's integers do not overflow
        doubled += p * (2 * below + n)
        below += n
        all_positive += p
    return float(Fraction(doubled, 2 * all_positive * below))
