"""Project latitude and longitude to a local plane, in ground metres, with a proven one-sided error.

A point of the WGS84 ellipsoid is projected *orthogonally* onto the plane that touches the ellipsoid at the
origin. Both directions are closed forms of sin, cos, sqrt and atan2, so that any language gets the same metres.

**Error.** Let d be the distance in the plane, g the ground distance (shortest path on the ellipsoid), r the
largest distance from the origin of any point concerned, M = a(1-e²) = 6335.4 km the least radius of curvature.

    g · sqrt(1 - (r/M)²)  ≤  d  ≤  g

*Upper side*: an orthogonal projection never lengthens, so d ≤ chord ≤ g. Privacy is stated in terms of d; since d never
exceeds the ground distance, e^{εd} ≤ e^{εg}, and a policy private in the plane is private on the ground.
*Lower side*: lift the straight segment (it stays within r, a disc is convex) back to the surface. Where the
surface normal is tilted by θ the lift is at most 1/cos θ times as long. Going out from the origin,
d(sin θ) = cos θ dθ ≤ cos θ ds/M = dr/M, so sin θ ≤ r/M; the lift is a path on the ground, hence g ≤ d / cos θ_max.

At r = 10 km the shortening is at most 1.3e-6, at 100 km 1.3e-4. Rounding centres to whole metres adds at most
√2 m to, or takes it from, the distance of two cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike

from crowdveil.arrays import FloatArray, as_floats
from crowdveil.errors import InputError

SEMI_MAJOR_M = 6_378_137.0
FLATTENING = 1 / 298.257223563
ECCENTRICITY_SQUARED = FLATTENING * (2 - FLATTENING)
MIN_CURVATURE_RADIUS_M = SEMI_MAJOR_M * (1 - ECCENTRICITY_SQUARED)

MAX_SHORTENING = 0.005
"""Areas with distances more than 0.5 % too short (about 630 km from the origin) are refused."""

MAX_RADIUS_M = MIN_CURVATURE_RADIUS_M * sqrt(1 - (1 - MAX_SHORTENING) ** 2)


def shortening(radius_m: float) -> float:
    """Bound (ground - plane) / ground for points within `radius_m` of the origin: 1 - sqrt(1 - (r/M)²)."""
    return 1 - sqrt(max(0.0, 1 - (radius_m / MIN_CURVATURE_RADIUS_M) ** 2))


def check_degrees(latitude: ArrayLike, longitude: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Read latitudes and longitudes, refusing what lies outside -90..90 and -180..180."""
    lat, lon = as_floats("latitude", latitude), as_floats("longitude", longitude)
    if lat.shape != lon.shape:
        raise InputError("longitude", lon.shape, f"should have the shape of latitude, {lat.shape}")
    for field, values, limit in (("latitude", lat, 90), ("longitude", lon, 180)):
        bad = ~(np.abs(values) <= limit)
        if bad.any():
            swapped = " (are latitude and longitude swapped?)" if field == "latitude" else ""
            value = float(values[bad].flat[0])
            raise InputError(field, value, f"should lie between -{limit} and {limit} degrees{swapped}")
    return lat, lon


def degrees_to_e7(degrees: float) -> int:
    """Convert to whole 1e-7 degrees (about 1 cm), the unit of coordinates in an area's description."""
    return round(degrees * 10_000_000)


@dataclass(frozen=True)
class Plane:
    """The plane that touches the ellipsoid at an origin given in 1e-7 degrees."""

    latitude_e7: int
    longitude_e7: int

    def __post_init__(self) -> None:
        check_degrees(self.latitude_e7 / 1e7, self.longitude_e7 / 1e7)

    @classmethod
    def around(cls, latitude: ArrayLike, longitude: ArrayLike) -> Plane:
        """Return the plane at the middle of the box around some points (also across the antimeridian)."""
        lat, lon = check_degrees(latitude, longitude)
        anchor = float(lon.flat[0])
        east_of_anchor = (lon - anchor + 180) % 360 - 180
        middle = anchor + (float(east_of_anchor.min()) + float(east_of_anchor.max())) / 2
        middle = (middle + 180) % 360 - 180
        return cls(degrees_to_e7((float(lat.min()) + float(lat.max())) / 2), degrees_to_e7(middle))

    def to_metres(self, latitude: ArrayLike, longitude: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return metres east and north of the origin; NaN for points outside the plane's range of validity."""
        lat, lon = check_degrees(latitude, longitude)
        east, north, up = self._axes()
        point = _surface(np.radians(lat), np.radians(lon))
        offset = point - self._origin()
        normal_tilt = _normal(np.radians(lat), np.radians(lon)) @ up
        valid = normal_tilt >= 1 - 2 * MAX_SHORTENING
        return np.where(valid, offset @ east, np.nan), np.where(valid, offset @ north, np.nan)

    def to_degrees(self, x_m: ArrayLike, y_m: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return the latitude and longitude at which the vertical through each (x, y) meets the ellipsoid."""
        east, north, up = self._axes()
        x, y = as_floats("x_m", x_m), as_floats("y_m", y_m)
        foot = self._origin() + x[..., None] * east + y[..., None] * north
        # |foot + h·up|² = 1 in coordinates where the ellipsoid is the unit sphere
        scale = 1 / np.array([SEMI_MAJOR_M, SEMI_MAJOR_M, SEMI_MAJOR_M * (1 - FLATTENING)])
        f, u = foot * scale, up * scale
        a, b, c = u @ u, f @ u, np.sum(f * f, axis=-1) - 1
        height = -c / (b + np.sqrt(b * b - a * c))
        surface = foot + height[..., None] * up
        latitude = np.arctan2(surface[..., 2], (1 - ECCENTRICITY_SQUARED) * np.hypot(surface[..., 0], surface[..., 1]))
        return np.degrees(latitude), np.degrees(np.arctan2(surface[..., 1], surface[..., 0]))

    def _origin(self) -> FloatArray:
        return _surface(*np.radians([self.latitude_e7 / 1e7, self.longitude_e7 / 1e7]))

    def _axes(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        lat, lon = np.radians([self.latitude_e7 / 1e7, self.longitude_e7 / 1e7])
        east = np.array([-np.sin(lon), np.cos(lon), 0.0])
        up = _normal(lat, lon)
        return east, np.cross(up, east), up


def _normal(lat: FloatArray, lon: FloatArray) -> FloatArray:
    return np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=-1)


def _surface(lat: FloatArray, lon: FloatArray) -> FloatArray:
    """Return the Earth-centred coordinates, in metres, of points on the ellipsoid."""
    prime_vertical = SEMI_MAJOR_M / np.sqrt(1 - ECCENTRICITY_SQUARED * np.sin(lat) ** 2)
    flattened = np.array([1, 1, 1 - ECCENTRICITY_SQUARED])
    point: FloatArray = prime_vertical[..., None] * _normal(lat, lon) * flattened
    return point
