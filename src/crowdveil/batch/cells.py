"""Which cell a fix lies in, inside the engine.

Squares are arithmetic. With N(φ) = a / sqrt(1 - e² sin² φ) and Δ = λ - λ₀, the plane of `area.plane` is

    x = N cos φ sin Δ
    y = cos φ₀ ( N (1-e²) sin φ - N₀ (1-e²) sin φ₀ ) - sin φ₀ ( N cos φ cos Δ - N₀ cos φ₀ )

(its axes written out). Sine and cosine differ by engine in their last bit, some 1e-9 m: two engines agree on every fix
that is not that near to the edge of a square. A grid of chosen squares looks its cells up by a join.
Hexagons and towers call `Area.locate` on whole columns.
"""

from __future__ import annotations

from math import cos, radians, sin, sqrt

import ibis
import pyarrow as pa

from crowdveil.area import OUTSIDE, Area, Grid
from crowdveil.area.plane import ECCENTRICITY_SQUARED, MAX_SHORTENING, SEMI_MAJOR_M
from crowdveil.batch.engine import MakeColumnFunction
from crowdveil.batch.fixes import Expression
from crowdveil.errors import InputError


def with_cells(table: Expression, area: Area, column_function: MakeColumnFunction) -> Expression:
    """Add a column `cell` to a table with latitude and longitude; -1 (`OUTSIDE`) for a fix in no cell."""
    if area.plane is None:
        raise InputError("area", area.kind, "has no latitude and longitude; use a Grid, Hexagons or Towers")
    if not isinstance(area, Grid):
        locate = column_function(f"locate_{area.digest[:16]}", area.locate, ("float64", "float64"), "int64")
        return table.mutate(cell=locate(table.latitude, table.longitude))
    squares = _with_squares(table, area)
    if area.kept is None:
        return squares.rename(cell="square")
    kept = ibis.memtable(pa.table({"square": area.kept, "number": range(len(area))}))
    joined = squares.left_join(kept, "square")
    return joined.select(*table.columns, cell=joined.number.fill_null(OUTSIDE))


def _with_squares(table: Expression, grid: Grid) -> Expression:
    latitude_0, longitude_0 = (radians(e7 / 1e7) for e7 in (grid.origin.latitude_e7, grid.origin.longitude_e7))
    sin_0, cos_0 = sin(latitude_0), cos(latitude_0)
    prime_0 = SEMI_MAJOR_M / sqrt(1 - ECCENTRICITY_SQUARED * sin_0**2)
    flat = 1 - ECCENTRICITY_SQUARED
    phi, turn = table.latitude.radians(), table.longitude.radians() - longitude_0
    angles = table.mutate(s=phi.sin(), c=phi.cos(), st=turn.sin(), ct=turn.cos())
    prime = SEMI_MAJOR_M / (1 - ECCENTRICITY_SQUARED * angles.s * angles.s).sqrt()
    metres = angles.mutate(x=prime * angles.c * angles.st, out=prime * angles.c * angles.ct, up=prime * flat * angles.s)
    y = cos_0 * (metres.up - prime_0 * flat * sin_0) - sin_0 * (metres.out - prime_0 * cos_0)
    column = ((metres.x - grid.first_centre_m[0]) / grid.cell_m + 0.5).floor()
    row = ((y - grid.first_centre_m[1]) / grid.cell_m + 0.5).floor()
    # on the far side of the Earth a point has metres too, but no place in the plane
    near = metres.c * cos_0 * metres.ct + metres.s * sin_0 >= 1 - 2 * MAX_SHORTENING
    places = metres.select(*table.columns, column=column, row=row, near=near)
    inside = places.near & places.column.between(0, grid.columns - 1) & places.row.between(0, grid.rows - 1)
    square = inside.ifelse((places.row * grid.columns + places.column).cast("int64"), OUTSIDE)
    return places.select(*table.columns, square=square.cast("int64"))
