"""Define how the console requests an area, and what it needs to draw one: the corners of its cells."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, Strict, model_validator

from crowdveil.wire.message import AreaObject, Many, Message, Protocol

Degrees = Annotated[float, Field(ge=-360, le=360, allow_inf_nan=False)]
Position = Annotated[tuple[Degrees, Degrees], Strict(False)]
"""Latitude and longitude."""
Bounds = Annotated[tuple[Degrees, Degrees, Degrees, Degrees], Strict(False)]
"""South, west, north, east."""
Km = Annotated[float, Field(gt=0, le=1000, allow_inf_nan=False)]


class AreaRequest(Message):
    """Request squares or hexagons within bounds, the regions of towers, or the shape of an area that exists."""

    protocol: Protocol
    bounds: Bounds | None = None
    cell_km: Km | None = None
    """Side of each square."""
    resolution: Annotated[int, Field(ge=0, le=15)] | None = None
    """Resolution of the H3 hexagons."""
    towers: Many[Position] | None = None
    reach_km: Km = 20.0
    """The range of each tower."""
    area: AreaObject | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        squares = self.bounds is not None and self.cell_km is not None
        hexagons = self.bounds is not None and self.resolution is not None
        if [squares, hexagons, self.towers is not None, self.area is not None].count(True) != 1:
            raise ValueError(
                "exactly one of these should be given: bounds with cell_km, bounds with resolution, towers, or area"
            )
        return self


class AreaShape(Message):
    """An area with the outlines of its cells."""

    protocol: Protocol
    area: AreaObject
    centres: Many[Position]
    regions: Many[Many[Position]]
    """Corners of each cell, anticlockwise; longitudes exceed ±180 where the area crosses the antimeridian."""
    nearest_neighbour_km: float
