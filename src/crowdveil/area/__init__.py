"""Divide the map into cells, and measure the ground distance between them.

area        what every kind of area can do: description, distances, look-up of positions
grid, hexagons, towers      the kinds of areas: squares, H3 cells, Voronoi regions of cell towers
plane       latitude and longitude to ground metres, with a proven bound of the error
extent      the box around an area, and the cell at a place
read_targets, targets       places to cover as people have them, and the cells that they became
place_lists, place_tables, place_features, place_names, place_source    text, CSV and GeoJSON of places
coordinates, map_links      one place as it is written, or as a link holds it
regions     polygons of the cells, and the edges between Voronoi regions
blocks      a kd-tree of neighbouring cells, for fast work over all pairs
"""

from crowdveil.area.area import OUTSIDE, Area, Points
from crowdveil.area.blocks import Blocks, Level
from crowdveil.area.geojson import area_to_geojson
from crowdveil.area.grid import Grid
from crowdveil.area.hexagons import Hexagons
from crowdveil.area.plane import Plane
from crowdveil.area.towers import Towers

__all__ = ["OUTSIDE", "Area", "Blocks", "Grid", "Hexagons", "Level", "Plane", "Points", "Towers", "area_to_geojson"]
