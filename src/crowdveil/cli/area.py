"""`crowdveil area`: describe the cells of a map."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from crowdveil.area import Area, Grid, Hexagons, Towers
from crowdveil.area.extent import box_of, read_places, read_points_km
from crowdveil.cli.console import Verb, new_app, show, show_json, working
from crowdveil.cli.files import check_destination, write_file
from crowdveil.cli.options import read_real, read_whole
from crowdveil.errors import InputError
from crowdveil.formatting import rounded_up

app = new_app(
    no_args_is_help=True,
    help="Describe the cells of a map. They are squares, hexagons, regions of cell towers, or points of a plane.",
    epilog="Example: crowdveil area grid --bounds 40.65,-74.03,40.82,-73.90 --cell-km 1 --out area.json",
)

Bounds = Annotated[str, typer.Option(help="The box to cover, in degrees: south,west,north,east.", metavar="S,W,N,E")]
Out = Annotated[Path, typer.Option(help="Where to write the area (.json).", metavar="FILE")]
Places = Annotated[Path, typer.Argument(help="A CSV file with a header, or with two columns only.", metavar="CSV")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")]


@app.command(
    cls=Verb,
    epilog="Example: crowdveil area grid --bounds 40.65,-74.03,40.82,-73.90 --cell-km 1 --out area.json",
)
def grid(
    bounds: Bounds,
    out: Out,
    cell_km: Annotated[str, typer.Option(help="Side of a square in km; a whole number of metres.", metavar="KM")] = "1",
    lattice: Annotated[
        bool,
        typer.Option(
            "--lattice",
            help="Put the squares on the region's public lattice, as campaigns should: devices refuse maps that are "
            "shifted against one that they have answered on.",
        ),
    ] = False,
    json: AsJson = False,
) -> None:
    """Cover a box with square cells."""
    box, side_km = _read_bounds(bounds), read_real("cell_km", cell_km)
    make = Grid.on_lattice if lattice else Grid.from_bounds
    _make(lambda: make(*box, cell_km=side_km), out, json)


@app.command(
    cls=Verb,
    epilog="Example: crowdveil area hexagons --bounds 40.65,-74.03,40.82,-73.90 --out area.json",
)
def hexagons(
    bounds: Bounds,
    out: Out,
    resolution: Annotated[
        str,
        typer.Option(help="H3 resolution, 0 to 15: centres are 0.9 km apart at 8, 0.35 km at 9.", metavar="NUMBER"),
    ] = "8",
    json: AsJson = False,
) -> None:
    """Cover a box with H3 hexagons."""
    box, fineness = _read_bounds(bounds), read_whole("resolution", resolution)
    _make(lambda: Hexagons.from_bounds(*box, resolution=fineness), out, json)


@app.command(cls=Verb, epilog="Example: crowdveil area towers towers.csv --reach-km 20 --out area.json")
def towers(
    places: Places,
    out: Out,
    reach_km: Annotated[
        str, typer.Option(help="Places farther than this from every tower are in no cell.", metavar="KM")
    ] = "20",
    json: AsJson = False,
) -> None:
    """Take the regions of cell towers, from a CSV file.

    The file has the columns lat,lon, a row per tower. Every place belongs to its nearest tower.
    """
    latitude, longitude = read_places(places)
    reach = read_real("reach_km", reach_km)
    _make(lambda: Towers.from_positions(latitude, longitude, reach_km=reach), out, json)


@app.command(cls=Verb, epilog="Example: crowdveil area points points.csv --out area.json")
def points(places: Places, out: Out, json: AsJson = False) -> None:
    """Take points of a plane, from a CSV file.

    The file has the columns x_km,y_km. Such points have no latitude and longitude.
    """
    points_km = read_points_km(places)
    _make(lambda: Area.from_points_km(points_km), out, json)


def _read_bounds(text: str) -> tuple[float, float, float, float]:
    try:
        south, west, north, east = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError("bounds", text, "should be four numbers, south,west,north,east in degrees") from None
    return south, west, north, east


def _make(build: Callable[[], Area], out: Path, as_json: bool) -> None:
    check_destination("out", out, (".json",))
    with working("making the cells"):
        area = build()
        box, nearest_km = box_of(area), area.nearest_neighbour_km
    size = write_file(out, area.save)
    if as_json:
        show_json(
            {
                "area": str(out),
                "kind": area.kind,
                "cells": len(area),
                "width_km": box.width_km,
                "height_km": box.height_km,
                "latitude": box.latitude,
                "longitude": box.longitude,
                "nearest_neighbour_km": nearest_km,
                "distance_shortening": area.distance_shortening,
                "digest": area.digest,
                "bytes": size,
            }
        )
        return
    facts = {"area": str(out), "kind": area.kind, "cells": f"{len(area):,}", "where": str(box)}
    if len(area) > 1:
        facts["closest two cells"] = f"{nearest_km:.3f} km apart"
    if area.plane is not None:
        short = rounded_up(area.distance_shortening, 2)
        facts["distances"] = f"never longer than on the ground, and shorter by a factor of at most {short}"
    facts["digest"] = area.digest
    show("Area", facts)
