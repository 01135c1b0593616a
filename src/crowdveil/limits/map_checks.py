"""Refuse maps that do not hide the people in them.

A policy hides a place among the cells around it, and only as well as the map allows. Sixteen towers 5 km apart with a
reach of 30 m are sixteen houses: every bound holds, and every reply names one of them. So a map is judged by what its
regions are on the ground, not by the distances of its centres alone.
"""

from __future__ import annotations

from math import inf, pi, sqrt

import numpy as np
import scipy

from crowdveil.area import Area, Grid, Hexagons, Towers
from crowdveil.area.regions import regions
from crowdveil.arrays import FloatArray
from crowdveil.errors import CampaignRefused, OutsideLimits
from crowdveil.limits.privacy_limits import PrivacyLimits

NOT_TAKING_PART = "This phone does not take part."
TOUCHING_SIDES = 1.2
"""Cells touch if their centres are no farther apart than this, in sides: squares and hexagons do by an edge, and not
across a corner, because everyone beside a line of squares that meet at corners is outside."""
ROUNDING = 1e-9
NEAR_KM = 2.0
"""How far around a cell its company is counted; a region as wide as this needs none."""


def check_map(area: Area, limits: PrivacyLimits) -> None:
    """Refuse a map that is finer or coarser than the limits, or that leaves a cell without enough others near it."""
    if area.plane is None:
        raise CampaignRefused(
            "The campaign's map has no latitudes and longitudes, so this phone cannot check its distances. "
            f"{NOT_TAKING_PART}",
            f"The area is of kind {area.kind!r}; a Grid, Hexagons or Towers can be checked.",
        )
    if len(area) < max(limits.min_cells, 2):
        raise OutsideLimits(
            f"The campaign's map has {len(area)} parts, too few to hide among; your limit is {limits.min_cells}. "
            f"{NOT_TAKING_PART}"
        )
    _check_fineness(area, limits)
    _check_company(area, limits)
    _check_pieces(area, limits)


def region_sizes_km(area: Area) -> FloatArray:
    """Return, for each cell, the side in km of a square as large as its region; never more than is true.

    Squares and hexagons have their own size, however far apart those that were kept are. A tower's region contains the
    circle that reaches half way to the nearest tower, cut off at the tower's reach.
    """
    if isinstance(area, Grid):
        return np.full(len(area), area.cell_m / 1000)
    if isinstance(area, Hexagons):
        return np.array([sqrt(_polygon_area_m2(corners)) for corners in regions(area)]) / 1000
    reach_km = area.reach_m / 1000 if isinstance(area, Towers) else inf
    sizes: FloatArray = sqrt(pi) * np.minimum(nearest_km(area) / 2, reach_km)
    return sizes


def nearest_km(area: Area) -> FloatArray:
    """Return each cell's distance to the nearest other one in km."""
    distance_m, _ = area.tree.query(area.xy_m, k=2)
    return np.asarray(distance_m)[:, 1] / 1000


def _check_fineness(area: Area, limits: PrivacyLimits) -> None:
    # A tower's region lies within its reach, so that this bounds the width of the reach as well.
    found = {
        "Neighbouring cells are {:.3f} km apart": area.nearest_neighbour_km,
        "The smallest region is as large as a square of {:.3f} km": float(region_sizes_km(area).min()),
    }
    for what, km in found.items():
        if km < limits.cell_km:
            raise OutsideLimits(
                f"The campaign's map is finer than your limit allows. {NOT_TAKING_PART}",
                f"{what.format(km)}; this device accepts no less than {limits.cell_km:g} km. "
                "Were metres given as kilometres?",
            )


def _check_company(area: Area, limits: PrivacyLimits) -> None:
    """Refuse a cell whose nearest neighbour is too far away, or with too few cells around it."""
    apart_km = nearest_km(area)
    isolated = int(apart_km.argmax())
    if apart_km[isolated] > limits.gap_km:
        raise OutsideLimits(
            "One part of the campaign's map is so far from all others that an answer from there would identify you. "
            f"{NOT_TAKING_PART}",
            f"Cell {isolated} is {apart_km[isolated]:.3g} km from its nearest neighbour; this device accepts at most "
            f"{limits.gap_km:g} km.",
        )
    wanted = limits.cells_within_2_km
    if wanted < 2:
        return
    # Where there are fewer cells than wanted, the missing ones are infinitely far.
    distance_m, _ = area.tree.query(area.xy_m, k=[wanted])
    alone = (np.asarray(distance_m)[:, 0] > NEAR_KM * 1000) & (region_sizes_km(area) < NEAR_KM)
    if alone.any():
        cell = int(np.flatnonzero(alone)[0])
        near = int((area.distances_km([cell]) <= NEAR_KM).sum())
        raise OutsideLimits(
            "One part of the campaign's map has so few others near it that an answer from there could identify you. "
            f"{NOT_TAKING_PART}",
            f"Cell {cell} has {near} cells within {NEAR_KM:g} km, itself included; this device accepts no less than "
            f"{wanted}.",
        )


def _check_pieces(area: Area, limits: PrivacyLimits) -> None:
    """Refuse a map that falls into pieces of touching cells of which one is smaller than the smallest whole map.

    Everyone between the pieces is outside, so that three reports named the kept cell of 250 m in which a person lived,
    among 4,422, in 35 of 40 trials; the cells were kept in threes, each within 2 km of two others.
    """
    sides_km = region_sizes_km(area)
    touching_m = TOUCHING_SIDES * 1000 * float(sides_km.max())
    if isinstance(area, Towers):  # farther ones need not touch: their regions are large
        touching_m = min(2 * area.reach_m, 1000 * NEAR_KM)
    one, other = area.tree.query_pairs(touching_m, output_type="ndarray").T
    links = scipy.sparse.coo_array((np.ones(len(one), dtype=bool), (one, other)), shape=(len(area), len(area)))
    _, piece = scipy.sparse.csgraph.connected_components(links, directed=False)
    pieces_km2 = np.bincount(piece, weights=sides_km**2)
    least_km2 = limits.min_cells * limits.cell_km**2
    if pieces_km2.min() < least_km2 * (1 - ROUNDING):
        cell = int(np.flatnonzero(pieces_km2[piece] < least_km2 * (1 - ROUNDING))[0])
        raise OutsideLimits(
            "The campaign's map falls into pieces, and one of them is so small that an answer from there could "
            f"identify you. {NOT_TAKING_PART}",
            f"The piece with cell {cell} covers {pieces_km2[piece[cell]]:.3g} km²; this device accepts no less than "
            f"{least_km2:g} km².",
        )


def _polygon_area_m2(corners: FloatArray) -> float:
    x, y = corners[:, 0] - corners[0, 0], corners[:, 1] - corners[0, 1]
    return abs(float(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))) / 2
