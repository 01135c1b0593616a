"""How an operator makes an area, and what is needed to draw one: the corners of its cells."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, Strict, model_validator

from crowdveil.wire.message import AreaObject, Many, Message, Protocol, Share, Whole

Degrees = Annotated[float, Field(ge=-360, le=360, allow_inf_nan=False)]
Spot = Annotated[tuple[Degrees, Degrees], Strict(False)]
"""Latitude and longitude."""
Bounds = Annotated[tuple[Degrees, Degrees, Degrees, Degrees], Strict(False)]
"""South, west, north, east."""
Km = Annotated[float, Field(gt=0, le=1000, allow_inf_nan=False)]


class AreaRequest(Message):
    """Asks for squares or hexagons in bounds, or the regions of towers; or for the shape of an area that is there."""

    protocol: Protocol
    bounds: Bounds | None = None
    cell_km: Km | None = None
    """Side of a square."""
    resolution: Annotated[int, Field(ge=0, le=15)] | None = None
    """Of H3 hexagons."""
    towers: Many[Spot] | None = None
    reach_km: Km = 20.0
    """How far a tower reaches."""
    area: AreaObject | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        squares = self.bounds is not None and self.cell_km is not None
        hexagons = self.bounds is not None and self.resolution is not None
        if [squares, hexagons, self.towers is not None, self.area is not None].count(True) != 1:
            raise ValueError("bounds with cell_km, bounds with resolution, towers, or area should be given, and no two")
        return self


class AreaShape(Message):
    """An area, and how to draw it."""

    protocol: Protocol
    area: AreaObject
    centres: Many[Spot]
    regions: Many[Many[Spot]]
    """Corners of each cell, anticlockwise; longitudes go beyond ±180 where the area lies across the antimeridian."""
    nearest_neighbour_km: float


class RoundEstimate(Message):
    """What was known once a round was closed."""

    round: Whole
    prior: Many[Share]
    """π, the share of people in each cell."""
    expected_coverage: Share


class Estimates(Message):
    """What was learnt, round by round."""

    protocol: Protocol
    rounds: Many[RoundEstimate]
