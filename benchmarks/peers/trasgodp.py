"""trasgoDP's planar Laplace noise on a table of coordinates; ε is per metre."""

from __future__ import annotations

from benchmarks.peers.worker import Arrays, leave_out, seconds, serve

leave_out("folium")

import pandas as pd  # noqa: E402
from trasgodp.geoindis import metric_privacy  # noqa: E402


def _answer(question: Arrays) -> dict[str, object]:
    table = pd.DataFrame({"lat": question["latitude"], "lon": question["longitude"]})
    epsilon = float(question["epsilon_per_km"]) / 1000

    def blurred() -> pd.DataFrame:
        return metric_privacy(table, "lat", "lon", epsilon)

    first, again = blurred(), blurred()
    return {
        "seconds": seconds(blurred, int(question["runs"])),
        "latitude": first["lat"],
        "longitude": first["lon"],
        "repeats": bool((first["lat"] == again["lat"]).all()),
    }


serve(_answer)
