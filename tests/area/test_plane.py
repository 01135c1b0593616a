"""The local plane's distances against geodesics."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyproj import Geod

import crowdveil as cv
from crowdveil.area.plane import MAX_RADIUS_M, shortening

GEOD = Geod(ellps="WGS84")


@settings(deadline=None, derandomize=True, max_examples=300)
@given(
    st.floats(-89, 89),
    st.floats(-180, 180),
    st.floats(0, 360),
    st.floats(0, 360),
    st.floats(0.001, 1),
    st.floats(0, 600_000),
)
def test_plane_distance_is_never_above_the_ground_distance_nor_below_the_stated_bound(
    latitude: float, longitude: float, azimuth: float, other_azimuth: float, share: float, radius_m: float
) -> None:
    plane = cv.Plane.around([latitude], [longitude])
    lat0, lon0 = plane.latitude_e7 / 1e7, plane.longitude_e7 / 1e7
    lon1, lat1, _ = GEOD.fwd(lon0, lat0, azimuth, radius_m)
    lon2, lat2, _ = GEOD.fwd(lon0, lat0, other_azimuth, radius_m * share)
    _, _, ground = GEOD.inv(lon1, lat1, lon2, lat2)
    x, y = plane.to_metres([lat1, lat2], [lon1, lon2])
    in_plane = float(np.hypot(x[0] - x[1], y[0] - y[1]))
    reach = float(np.hypot(x, y).max())
    assert in_plane <= ground * (1 + 1e-9) + 1e-6
    assert in_plane >= ground * (1 - shortening(reach)) * (1 - 1e-9) - 1e-6


@settings(deadline=None, derandomize=True, max_examples=200)
@given(st.floats(-85, 85), st.floats(-180, 180), st.floats(-400_000, 400_000), st.floats(-400_000, 400_000))
def test_there_and_back_again(latitude: float, longitude: float, x_m: float, y_m: float) -> None:
    plane = cv.Plane.around([latitude], [longitude])
    x, y = plane.to_metres(*plane.to_degrees([x_m], [y_m]))
    assert (float(x[0]), float(y[0])) == pytest.approx((x_m, y_m), abs=1e-5)


def test_north_and_east_are_not_stretched_as_on_web_maps() -> None:
    """At New York a web map's metre is 24 % short; here a kilometre is a kilometre both ways."""
    plane = cv.Plane.around([40.73], [-73.97])
    for azimuth in (0, 90):
        lon, lat, _ = GEOD.fwd(-73.97, 40.73, azimuth, 1000.0)
        x, y = plane.to_metres([lat], [lon])
        assert float(np.hypot(x, y)[0]) == pytest.approx(1000, abs=0.02)


def test_the_far_side_of_the_earth_is_nowhere() -> None:
    plane = cv.Plane.around([10.0], [20.0])
    x, _ = plane.to_metres([-10.0, 10.0], [-160.0, 60.0])
    assert np.isnan(x).all()


def test_stated_shortening() -> None:
    assert shortening(10_000) == pytest.approx(1.25e-6, rel=0.01)
    assert shortening(100_000) == pytest.approx(1.25e-4, rel=0.01)
    assert shortening(MAX_RADIUS_M) == pytest.approx(0.005)
