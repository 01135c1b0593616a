"""Cells of the map and the ground distance between them."""

from crowdveil.area.area import OUTSIDE, Area, Points
from crowdveil.area.blocks import Blocks, Level
from crowdveil.area.geojson import area_to_geojson
from crowdveil.area.grid import Grid
from crowdveil.area.hexagons import Hexagons
from crowdveil.area.plane import Plane
from crowdveil.area.towers import Towers

__all__ = ["OUTSIDE", "Area", "Blocks", "Grid", "Hexagons", "Level", "Plane", "Points", "Towers", "area_to_geojson"]
