"""Compute the regions of cells: polygons for drawing, and the edges of the Voronoi diagram for integration.

An edge of the Voronoi diagram lies on the bisector of two neighbouring cells p and q. Its ends are the
circumcentres of the Delaunay triangles on either side of p→q. Seen from the middle of p and q, the
circumcentre of the triangle with third corner k lies, towards k, at

    |q - p| / 2 · cot(angle at k),        cot = (p-k)·(q-k) / (p-k)×(q-k).

Both products are exact integers, so the ends are right to a few units in the last place however thin the
triangle. Where there is no triangle, the edge extends to infinity.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy

from crowdveil.area.area import Area
from crowdveil.area.grid import Grid
from crowdveil.area.hexagons import Hexagons
from crowdveil.area.towers import Towers
from crowdveil.arrays import FloatArray, IntArray
from crowdveil.errors import InputError

# --- polygons -----------------------------------------------------------------------------------------------


def regions(area: Area) -> list[FloatArray]:
    """Return the polygon of every cell in metres, shape (corners, 2): squares, H3 hexagons or Voronoi regions.

    Corners are in anticlockwise order. Voronoi regions are cut off at a box around the area, and at a tower's reach.
    """
    if isinstance(area, Grid):
        corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * (area.cell_m / 2)
        return list(area.xy_m[:, None, :] + corners[None])
    if isinstance(area, Hexagons):
        return area.boundaries_m()
    polygons = _voronoi_in_box(area.xy_m.astype(np.float64))
    if not isinstance(area, Towers):
        return polygons
    return [_within_reach(p, centre, area.reach_m) for p, centre in zip(polygons, area.xy_m, strict=True)]


def _voronoi_in_box(xy: FloatArray) -> list[FloatArray]:
    """Cut Voronoi regions off at a box: mirror images of the centres turn the four sides into edges."""
    middle = (xy.max(axis=0) + xy.min(axis=0)) / 2
    extent = np.ptp(xy, axis=0)
    # Half a region's usual width beyond the outermost centres: outer regions look like inner ones.
    usual = float(np.sqrt(max(extent.prod(), float(extent.max()) ** 2 / len(xy)) / len(xy)))
    half = extent / 2 + max(usual / 2, 1.0)
    centred = (xy - middle) / half.max()
    box = half / half.max()
    mirrored = [centred]
    for axis in (0, 1):
        for side in (-1.0, 1.0):
            image = centred.copy()
            image[:, axis] = 2 * side * box[axis] - image[:, axis]
            mirrored.append(image)
    diagram = scipy.spatial.Voronoi(np.vstack(mirrored))
    polygons = []
    for cell in range(len(xy)):
        region = diagram.point_region[cell]
        if region < 0:  # too small for Qhull to separate from a neighbour, hence too small to be seen
            polygons.append(np.repeat(xy[cell][None], 3, axis=0))
            continue
        corners = diagram.vertices[diagram.regions[region]]
        around = corners - centred[cell]
        order = np.argsort(np.arctan2(around[:, 1], around[:, 0]))
        polygons.append(np.clip(corners[order], -box, box) * half.max() + middle)
    return polygons


def _within_reach(polygon: FloatArray, centre: IntArray, reach_m: int) -> FloatArray:
    """Cut a convex polygon off at a circle (drawn with 64 corners) around a point inside it."""
    offset = polygon - centre
    if (np.hypot(offset[:, 0], offset[:, 1]) <= reach_m).all():
        return polygon
    angle = np.arctan2(offset[:, 1], offset[:, 0])
    angle = np.sort(np.concatenate([angle, np.linspace(-np.pi, np.pi, 64, endpoint=False)]))
    ray = np.column_stack([np.cos(angle), np.sin(angle)])
    start, along = offset, np.roll(offset, -1, axis=0) - offset
    outward = np.column_stack([along[:, 1], -along[:, 0]])
    speed = ray @ outward.T
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.where(speed > 0, np.sum(start * outward, axis=1) / speed, np.inf).min(axis=1)
    cut: FloatArray = centre + ray * np.minimum(reach, reach_m)[:, None]
    return cut


# --- edges --------------------------------------------------------------------------------------------------


class VoronoiEdges(NamedTuple):
    """Edges of the Voronoi diagram of the whole plane, as segments of bisectors."""

    left: IntArray
    right: IntArray
    """The two cells of each edge; left < right."""
    begin_m: FloatArray
    end_m: FloatArray
    """Where each edge begins and ends, from the middle of its cells, along `right - left` turned left by 90°."""


def voronoi_edges(area: Area) -> VoronoiEdges:
    """Return every edge of the Voronoi diagram of the centres, including those that extend to infinity."""
    if _on_a_line(area.xy_m):
        order = np.lexsort(area.xy_m.T)
        one, two = order[:-1], order[1:]
        endless = np.full(len(one), np.inf)
        return VoronoiEdges(np.minimum(one, two), np.maximum(one, two), -endless, endless)
    triangles = _triangles(area)
    p, q, k = (np.concatenate([np.roll(triangles, shift, axis=1)[:, c] for shift in range(3)]) for c in range(3))
    one, two = area.xy_m[p] - area.xy_m[k], area.xy_m[q] - area.xy_m[k]
    dot, cross = (one * two).sum(axis=1), _cross(one, two)
    pair, wall = np.unique(np.sort(np.column_stack([p, q]), axis=1), axis=0, return_inverse=True)
    length = np.sqrt(((area.xy_m[pair[:, 0]] - area.xy_m[pair[:, 1]]) ** 2).sum(axis=1).astype(np.float64))
    offset = length[wall] / 2 * dot / cross
    begin, end = np.full(len(pair), -np.inf), np.full(len(pair), np.inf)
    forward = p < q  # the triangle lies to the left of lower → higher number
    end[wall[forward]] = offset[forward]
    begin[wall[~forward]] = -offset[~forward]
    # Four centres on one circle give an edge of length zero between the two that touch in a single point.
    real = end > begin
    return VoronoiEdges(pair[real, 0], pair[real, 1], begin[real], end[real])


def _on_a_line(xy_m: IntArray) -> bool:
    offset = xy_m - xy_m[0]
    far = offset[np.argmax((offset**2).sum(axis=1))]
    return not _cross(offset, far[None]).any()


def _triangles(area: Area) -> IntArray:
    """Return the Delaunay triangles, anticlockwise; Qhull's floating-point result is verified in whole numbers."""
    expected = "has cells so close together for its size that double precision gives no Voronoi diagram; merge them"
    try:
        triangles: IntArray = scipy.spatial.Delaunay(area.xy_m - area.xy_m[0]).simplices.astype(np.int64)
    except scipy.spatial.QhullError:
        raise InputError("area", area.kind, expected) from None
    corners = area.xy_m[triangles]
    turn = _cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    triangles[turn < 0] = triangles[turn < 0][:, ::-1]
    if (turn == 0).any() or not _is_delaunay(area.xy_m, triangles):
        raise InputError("area", area.kind, expected)
    return triangles


def _is_delaunay(xy_m: IntArray, triangles: IntArray) -> bool:
    """Check that all centres are used, the rim is convex, and cot + cot ≥ 0 across each inner edge."""
    across: dict[tuple[int, int], tuple[int, int]] = {}
    place = xy_m.tolist()
    for triangle in triangles.tolist():
        for a, b, c in (triangle, triangle[1:] + triangle[:1], triangle[2:] + triangle[:2]):
            (ax, ay), (bx, by), (cx, cy) = place[a], place[b], place[c]
            ux, uy, vx, vy = ax - cx, ay - cy, bx - cx, by - cy
            if (a, b) in across:
                return False
            across[a, b] = (ux * vx + uy * vy, ux * vy - uy * vx)
    rim: dict[int, int] = {}
    for (a, b), (dot, cross) in across.items():
        if (b, a) not in across:
            rim[a] = b
            continue
        other_dot, other_cross = across[b, a]
        if dot * other_cross + other_dot * cross < 0:
            return False
    chain = np.array([[a, b, rim[b]] for a, b in rim.items() if b in rim], dtype=np.int64)
    first, second, third = (xy_m[chain[:, c]] for c in range(3))
    convex = len(chain) == len(rim) and bool((_cross(second - first, third - second) >= 0).all())
    # Euler: a triangulated disc of n points, r of them on its rim, has 2n - 2 - r triangles.
    whole = len(np.unique(triangles)) == len(xy_m) and len(triangles) == 2 * len(xy_m) - 2 - len(rim)
    return convex and whole


def _cross(one: IntArray, two: IntArray) -> IntArray:
    product: IntArray = one[:, 0] * two[:, 1] - one[:, 1] * two[:, 0]
    return product
