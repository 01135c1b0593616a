"""Readers of published trace formats, and a synthetic city; each yields visits."""

from crowdveil.traces.cabspotting import read_cabspotting
from crowdveil.traces.calls import read_calls, read_towers
from crowdveil.traces.foursquare import count_odd_offsets, read_foursquare
from crowdveil.traces.frames import TimeUnit
from crowdveil.traces.geolife import read_geolife
from crowdveil.traces.gpx import read_gpx
from crowdveil.traces.read import TRACE_FORMATS, TraceFormat, read_traces, recognise_format
from crowdveil.traces.snap import read_snap
from crowdveil.traces.summary import check_overlap, describe_visits
from crowdveil.traces.synthetic_city import Habits, SyntheticCity, synthetic_visits, tower_positions
from crowdveil.traces.table import read_table
from crowdveil.traces.timeline import read_timeline
from crowdveil.traces.trace_files import Progress
from crowdveil.traces.visits import Visits

__all__ = [
    "TRACE_FORMATS",
    "Habits",
    "Progress",
    "SyntheticCity",
    "TimeUnit",
    "TraceFormat",
    "Visits",
    "check_overlap",
    "count_odd_offsets",
    "describe_visits",
    "read_cabspotting",
    "read_calls",
    "read_foursquare",
    "read_geolife",
    "read_gpx",
    "read_snap",
    "read_table",
    "read_timeline",
    "read_towers",
    "read_traces",
    "recognise_format",
    "synthetic_visits",
    "tower_positions",
]
