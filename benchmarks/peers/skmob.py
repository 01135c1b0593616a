"""scikit-mobility: fixes → squares of a tessellation → visits per user, tile and week → probabilities."""

from __future__ import annotations

import geopandas
import numpy as np
import pandas as pd
import skmob
from shapely.geometry import box
from skmob.tessellation import tilers

from benchmarks.peers.worker import Arrays, seconds, serve

WEEK_S, TRAIN = 7 * 86_400, 40


def _answer(question: Arrays) -> dict[str, object]:
    south, west, north, east = question["box"].tolist()
    corners = geopandas.GeoDataFrame(geometry=[box(west, south, east, north)], crs="EPSG:4326")
    tiles = tilers.tiler.get("squared", base_shape=corners, meters=1500)
    frame = pd.DataFrame(
        {
            "uid": question["user"],
            "datetime": pd.to_datetime(question["time"], unit="s"),
            "lat": question["latitude"],
            "lng": question["longitude"],
            "week": (question["time"] - question["start"]) // WEEK_S,
        }
    )

    def profile() -> pd.DataFrame:
        visits = skmob.TrajDataFrame(frame).mapping(tiles)
        visits = visits[(visits["week"] >= 0) & (visits["week"] < TRAIN)]
        counts = visits.groupby(["uid", "tile_ID"]).size()
        return 1 - np.exp(-counts / TRAIN)

    return {"seconds": seconds(profile, 3), "pairs": len(profile())}


serve(_answer)
