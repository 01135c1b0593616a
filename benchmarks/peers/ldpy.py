"""multi-freq-ldpy's iterative Bayesian update; its first call, which compiles, is not counted."""

from __future__ import annotations

from multi_freq_ldpy.estimators.Histogram_estimator import IBU

from benchmarks.peers.worker import Arrays, seconds, serve


def _answer(question: Arrays) -> dict[str, object]:
    channel, runs = question["channel"], int(question["runs"])
    estimates, taken = [], []
    for frequency in question["frequencies"]:

        def update(frequency: object = frequency) -> object:
            return IBU(len(channel), channel, frequency, int(question["steps"]), float(question["settled"]), "max_abs")

        taken.append(seconds(update, runs))
        estimates.append(update())
    return {"seconds": taken, "estimates": estimates}


serve(_answer)
