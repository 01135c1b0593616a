"""Read location traces of every supported format into `Visits`.

visits          the table that all readers return
read            picks the reader for a file
table, timeline, gpx, calls                     readers of general formats
foursquare, snap, geolife, cabspotting          readers of published data sets
inspection      what is odd about visits, what was left out, and what to set; dates and repeats serve it
visit_builder   which rows are kept, and under which reason others are dropped
clock           time zones and times
trace_files     opening of plain, compressed and Parquet files
several_files   finds files by patterns, and puts the visits of several together
synthetic_city  draws the visits of people who do not exist
"""

from crowdveil.traces.cabspotting import read_cabspotting
from crowdveil.traces.calls import read_calls, read_towers
from crowdveil.traces.foursquare import count_odd_offsets, read_foursquare
from crowdveil.traces.frames import TimeUnit
from crowdveil.traces.geolife import read_geolife
from crowdveil.traces.gpx import read_gpx
from crowdveil.traces.inspection import ODDITIES, Inspection, Oddity, VisitFinding, inspect_visits
from crowdveil.traces.read import TRACE_FORMATS, TraceFormat, read_traces, recognise_format
from crowdveil.traces.snap import read_snap
from crowdveil.traces.summary import check_overlap, describe_visits
from crowdveil.traces.synthetic_city import CitySettings, SyntheticCity, synthetic_visits, tower_positions
from crowdveil.traces.table import read_table
from crowdveil.traces.timeline import read_timeline
from crowdveil.traces.visits import Visits

__all__ = [
    "ODDITIES",
    "TRACE_FORMATS",
    "CitySettings",
    "Inspection",
    "Oddity",
    "SyntheticCity",
    "TimeUnit",
    "TraceFormat",
    "VisitFinding",
    "Visits",
    "check_overlap",
    "count_odd_offsets",
    "describe_visits",
    "inspect_visits",
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
