"""GeoPrivacy's planar Laplace noise."""

from __future__ import annotations

from benchmarks.peers.worker import Arrays, leave_out, seconds, serve

leave_out("gurobipy")

from GeoPrivacy.mechanism import batch_laplace_noise  # noqa: E402


def _answer(question: Arrays) -> dict[str, object]:
    count, epsilon = len(question["latitude"]), float(question["epsilon_per_km"])
    return {
        "seconds": seconds(lambda: batch_laplace_noise(count, epsilon), int(question["runs"])),
        "noise_km": batch_laplace_noise(count, epsilon),
    }


serve(_answer)
