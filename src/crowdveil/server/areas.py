"""Make areas for the console's map, with the corners of every cell."""

from __future__ import annotations

import numpy as np

from crowdveil.area import Area, Grid, Hexagons, Towers
from crowdveil.area.regions import regions
from crowdveil.errors import InputError
from crowdveil.wire import PROTOCOL, AreaRequest, AreaShape

MAX_DRAWN = 10_000
"""A browser cannot show more cells clearly; larger areas are made on the command line."""


def make_area(asked: AreaRequest) -> Area:
    """Make the requested area."""
    if asked.area is not None:
        return Area.from_description(asked.area)
    if asked.towers is not None:
        if not asked.towers:
            raise InputError("towers", (), "should name at least one tower")
        latitude, longitude = zip(*asked.towers, strict=True)
        return Towers.from_positions(latitude, longitude, reach_km=asked.reach_km)
    assert asked.bounds is not None, "the message holds exactly one kind"
    if asked.resolution is not None:
        return Hexagons.from_bounds(*asked.bounds, resolution=asked.resolution)
    assert asked.cell_km is not None, "the message holds exactly one kind"
    return Grid.on_lattice(*asked.bounds, cell_km=asked.cell_km)


def shape_of(area: Area) -> AreaShape:
    """Return the corners and centres of all cells in latitude and longitude."""
    if area.plane is None:
        raise InputError("area", area.kind, "has no latitude and longitude, so it cannot be drawn on a map")
    if len(area) == 1:
        raise InputError("area", "1 cell", "should have at least 2 cells; with 1, everyone is at the target")
    if len(area) > MAX_DRAWN:
        raise InputError(
            "area", f"{len(area):,} cells", f"should have at most {MAX_DRAWN:,} cells to be drawn on a map"
        )
    polygons = regions(area)
    corners = np.vstack(polygons)
    latitude, longitude = area.plane.to_degrees(corners[:, 0], corners[:, 1])
    # Longitudes continue beyond ±180 across the antimeridian, so that no cell spans the whole world.
    longitude -= 360 * np.round((longitude - area.plane.longitude_e7 / 1e7) / 360)
    positions = list(zip(latitude.tolist(), longitude.tolist(), strict=True))
    ends = np.cumsum([len(polygon) for polygon in polygons]).tolist()
    begins = [0, *ends[:-1]]
    middle = area.centres()
    return AreaShape(
        protocol=PROTOCOL,
        area=area.describe(),
        centres=tuple(zip(middle[0].tolist(), middle[1].tolist(), strict=True)),
        regions=tuple(tuple(positions[begin:end]) for begin, end in zip(begins, ends, strict=True)),
        nearest_neighbour_km=area.nearest_neighbour_km,
    )
