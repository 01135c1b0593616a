"""privkit's planar Laplace noise on coordinates; ε is per metre."""

from __future__ import annotations

from benchmarks.peers.worker import Arrays, leave_out, seconds, serve

leave_out(
    "deepface",
    "keras.applications.inception_v3",
    "open3d.cpu.pybind.geometry",
    "open3d.cpu.pybind.pipelines.registration",
    "osmnx",
    "requests",
    "retinaface",
    "skimage.metrics",
    "skimage.transform",
    "torch",
)

from privkit.ppms import PlanarLaplace  # noqa: E402


def _answer(question: Arrays) -> dict[str, object]:
    points = list(zip(question["latitude"].tolist(), question["longitude"].tolist(), strict=True))
    mechanism = PlanarLaplace(float(question["epsilon_per_km"]) / 1000)

    def blurred() -> list[tuple[float, float, float]]:
        return [mechanism.get_obfuscated_point(*point) for point in points]

    latitude, longitude, _ = zip(*blurred(), strict=True)
    return {"seconds": seconds(blurred, int(question["runs"])), "latitude": latitude, "longitude": longitude}


serve(_answer)
