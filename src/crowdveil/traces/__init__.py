"""Readers of published trace formats, and a synthetic city; each yields visits."""

from crowdveil.traces.cabspotting import read_cabspotting
from crowdveil.traces.calls import read_calls, read_towers
from crowdveil.traces.foursquare import count_odd_offsets, read_foursquare
from crowdveil.traces.geolife import read_geolife
from crowdveil.traces.gpx import read_gpx
from crowdveil.traces.snap import read_snap
from crowdveil.traces.synthetic_city import Habits, SyntheticCity, synthetic_visits, tower_positions
from crowdveil.traces.table import read_table
from crowdveil.traces.timeline import read_timeline
from crowdveil.traces.visits import Visits

__all__ = [
    "Habits",
    "SyntheticCity",
    "Visits",
    "count_odd_offsets",
    "read_cabspotting",
    "read_calls",
    "read_foursquare",
    "read_geolife",
    "read_gpx",
    "read_snap",
    "read_table",
    "read_timeline",
    "read_towers",
    "synthetic_visits",
    "tower_positions",
]
