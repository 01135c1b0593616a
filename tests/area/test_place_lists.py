"""Lists of places are read from tables, GeoJSON and text, and every refusal says where it is."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdveil.area.place_lists import list_places
from crowdveil.area.place_names import MAX_NAME, check_name, joined_name, shortened, unique_names
from crowdveil.area.place_source import ListedPlace
from crowdveil.errors import CrowdveilError, FileFormatError, InputError

GRAND_CENTRAL = ListedPlace("Grand Central", 40.7527, -73.9772)

names = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=30).map(check_name)
places = st.builds(
    ListedPlace,
    name=st.none() | names,
    latitude=st.floats(-90, 90),
    longitude=st.floats(-180, 180),
    cell=st.none(),
    number=st.none() | st.integers(1, 10**9),
)


# --- tables -----------------------------------------------------------------------------------------------------


@given(
    st.lists(places, min_size=1, max_size=5),
    st.sampled_from(["name", "Shop", "PLACE", "title"]),
    st.sampled_from([("lat", "lon"), ("Latitude", "Longitude"), ("y", "x"), ("lat", "lng")]),
    st.sampled_from(["number", "wanted", "People"]),
    st.sampled_from([",", ";", "\t"]),
)
def test_a_table_is_read_as_it_was_written(
    listed: list[ListedPlace], name: str, degrees: tuple[str, str], number: str, separator: str
) -> None:
    file = io.StringIO()
    rows = csv.writer(file, delimiter=separator)
    rows.writerow([number, name, "remark", *degrees])
    rows.writerows([one.number, one.name, "x", repr(one.latitude), repr(one.longitude)] for one in listed)
    assert list_places(file.getvalue()) == listed


def test_decimals_may_have_commas_where_columns_are_separated_by_something_else() -> None:
    assert list_places("name;lat;lon\nGrand Central;40,7527;-73,9772\n") == [GRAND_CENTRAL]


def test_a_table_may_hold_degrees_and_minutes_and_end_its_lines_in_any_way(tmp_path: Path) -> None:
    (tmp_path / "shops.csv").write_bytes(
        "\ufeff\r\nlat,lon,name\r\n40°45.162'N,73°58.632'W,Grand Central\r\n\r\n".encode()
    )
    (found,) = list_places(tmp_path / "shops.csv")
    assert (found.latitude, found.longitude) == pytest.approx((40.7527, -73.9772), abs=1e-9)


def test_a_table_may_name_cells() -> None:
    assert list_places("cell,name,number\n3,Depot,5\n17,,\n") == [
        ListedPlace("Depot", cell=3, number=5),
        ListedPlace(cell=17),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name,lat\nA,1\n", "line 1: heading = 'name,lat': should name the columns, such as name,latitude,longitude"),
        ("name,lat,lat,lon\nA,1,1,2\n", "line 1: heading = 'lat': should stand above one column only"),
        ("lat,lon,number,wanted\n1,2,3,4\n", "line 1: heading = .*: should be one column"),
        ("name,lat,lon\nA,1.5,2.5\nB,,2.5\n", "line 3: latitude = '': should be degrees"),
        ("name,lat,lon\nA,north,2.5\n", "line 2: latitude = 'north': should be degrees, such as 40.7527"),
        ("name,lat,lon\nA,1.5,2.5 N\n", "line 2: longitude = '2.5 N': should be degrees.* E or W"),
        ("name,lat,lon\nA,1.5\n", "line 2: longitude = ''"),
        ("name,lat,lon\nA,1.5,999\n", "line 2: longitude = '999': should be degrees from -180 to 180"),
        ("name,lat,lon\nA, the first,1.5,2.5\n", "line 2: row = .*: has 4 entries for 3 headings; .* double quotes"),
        ("lat,lon,number\n1.5,2.5,0\n", "line 2: number = '0': should be a whole number from 1"),
        ("lat,lon,number\n1.5,2.5,-3\n", "number = '-3'"),
        ("lat,lon,number\n1.5,2.5,2.5\n", "number = '2.5'"),
        ("lat,lon,number\n1.5,2.5,many\n", "number = 'many'"),
        ("lat,lon,number\n1.5,2.5,9999999999\n", "number = '9999999999'"),
        ('name,lat,lon\n"A\nB",1.5,2.5\n', r"line 2: name = 'A\\nB': should have no control character such as U\+000A"),
        ('name,lat,lon\nA,1.5,2.5\n"B\nC",1.5,2.5\n', "line 3: name"),
        ("cell,name\nthree,A\n", "line 2: cell = 'three'"),
        ("name,lat,lon\n", "should name at least one place"),
        ("", "should name at least one place"),
        (f"name,lat,lon\n{'x' * 200_000},1.5,2.5\n", "line 2: .* is not CSV"),
    ],
)
def test_a_table_that_cannot_be_read_is_refused_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "shops.csv").write_text(text, encoding="utf-8")
    with pytest.raises(FileFormatError, match=rf"shops\.csv.*{said}"):
        list_places(tmp_path / "shops.csv")


def test_a_table_without_a_heading_is_read_line_by_line(tmp_path: Path) -> None:
    (tmp_path / "shops.csv").write_text("Grand Central,40.7527,-73.9772\n")
    assert list_places(str(tmp_path / "shops.csv")) == [GRAND_CENTRAL]
    assert list_places("Cell, 40.7527, -73.9772") == [GRAND_CENTRAL._replace(name="Cell")]


# --- GeoJSON ----------------------------------------------------------------------------------------------------


def point(longitude: object = -73.9772, latitude: object = 40.7527, **properties: object) -> dict[str, object]:
    return {
        "type": "Feature",
        "properties": properties,
        "geometry": {"type": "Point", "coordinates": [longitude, latitude]},
    }


@given(st.lists(places, min_size=1, max_size=5))
def test_geojson_is_read_as_it_was_written(listed: list[ListedPlace]) -> None:
    features = [point(one.longitude, one.latitude, Name=one.name, number=one.number, other=1) for one in listed]
    assert list_places(json.dumps({"type": "FeatureCollection", "features": features})) == listed


def test_a_single_feature_and_a_bare_geometry_are_read(tmp_path: Path) -> None:
    (tmp_path / "shops.geojson").write_text(json.dumps(point(title="Grand Central")))
    assert list_places(tmp_path / "shops.geojson") == [GRAND_CENTRAL]
    assert list_places('{"type": "Point", "coordinates": [-73.9772, 40.7527, 12]}')[0].latitude == 40.7527


SQUARE = [[10, 50], [12, 50], [12, 52], [10, 52], [10, 50]]
HOLE = [[10, 50], [11, 50], [11, 52], [10, 52], [10, 50]]


@pytest.mark.parametrize(
    ("kind", "coordinates", "centroid"),
    [
        ("Polygon", [SQUARE], (51, 11)),
        ("Polygon", [SQUARE[::-1]], (51, 11)),
        ("Polygon", [SQUARE, HOLE], (51, 11.5)),
        ("Polygon", [SQUARE, HOLE[::-1]], (51, 11.5)),
        ("MultiPolygon", [[SQUARE], [[[14, 50], [14, 52], [16, 52], [16, 50], [14, 50]]]], (51, 13)),
        ("Polygon", [[[0, 0], [3, 0], [0, 3], [0, 0]]], (1, 1)),
    ],
)
def test_polygons_are_read_by_their_centroid(kind: str, coordinates: object, centroid: tuple[float, float]) -> None:
    (found,) = list_places(json.dumps({"type": kind, "coordinates": coordinates}))
    assert (found.latitude, found.longitude) == pytest.approx(centroid, abs=1e-9)


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"type": "Topology"}, "type of targets = 'Topology': should be GeoJSON"),
        ([1, 2], "should be GeoJSON"),
        ({"type": "Feature", "geometry": None}, "geometry of feature 1 of targets = None: should be a Point"),
        ({"type": "LineString", "coordinates": [[1, 2], [3, 4]]}, "'LineString': should be a Point, a Polygon"),
        (
            {"type": "FeatureCollection", "features": [point(), point(1, None)]},
            r"coordinates of feature 2 .* \[1, None\]",
        ),
        ({"type": "FeatureCollection", "features": ["x"]}, "feature 1 of targets = 'x': should be a Feature"),
        ({"type": "Feature", "properties": [1], "geometry": {}}, "properties of feature 1"),
        ({"type": "FeatureCollection", "features": []}, "at least one place"),
        (point(True, 2), "should be a longitude and a latitude"),
        (point(583_960, 4_507_523), "in degrees, in WGS84"),
        (point(number=0), "number of feature 1 of targets = 0: should be a whole number"),
        (point(number=True), "number of feature 1 of targets = True"),
        (point(number=3, wanted=4), "should be one of the properties number, wanted, people"),
        (point(name="a\u202eb"), r"name of feature 1 .* U\+202E"),
        ({"type": "Polygon", "coordinates": [[[0, 0], [1, 1], [0, 0]]]}, "closed rings of at least four"),
        ({"type": "Polygon", "coordinates": [[[0, 0], [1, 1], [2, 2], [0, 0]]]}, "a polygon with an area"),
        ({"type": "Polygon", "coordinates": [[[-179, 0], [179, 0], [179, 1], [-179, 0]]]}, "across the antimeridian"),
        ({"type": "Polygon", "coordinates": 3}, "lists of rings"),
    ],
)
def test_geojson_that_holds_no_place_is_refused(document: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        list_places(json.dumps(document))


def test_geojson_that_was_cut_short_is_refused(tmp_path: Path) -> None:
    (tmp_path / "shops.json").write_text('{"type": "Feature"')
    with pytest.raises(FileFormatError, match=r"shops\.json: GeoJSON: not JSON, or cut short"):
        list_places(tmp_path / "shops.json")


# --- text -------------------------------------------------------------------------------------------------------


def test_several_places_stand_on_lines_or_between_semicolons() -> None:
    text = "Grand Central: 40.7527, -73.9772; geo:40.7;u=5\n\nhttps://maps.apple.com/?ll=40.7527,-73.9772&q=B\n"
    text = text.replace("geo:40.7;", "geo:40.7,-73.9;")
    assert list_places(text) == [
        GRAND_CENTRAL,
        ListedPlace(None, 40.7, -73.9),
        ListedPlace("B", 40.7527, -73.9772),
    ]


@pytest.mark.parametrize(
    ("text", "cells"), [("12, 40", [12, 40]), ("3", [3]), ("12\n40\n", [12, 40]), ("3,,17,", [3, 17])]
)
def test_whole_numbers_are_cells(text: str, cells: list[int]) -> None:
    assert list_places(text) == [ListedPlace(cell=cell) for cell in cells]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("three", "targets = 'three': should be a place such as 40.7527, -73.9772, cells such as 3,17"),
        ("48.1, 11.5\n48, 11", "targets, line 2 = '48, 11': is it cells or degrees"),
        ("40,7527; -73,9772", "is it cells or degrees"),
        ("3;17", "Cells are separated by commas"),
        ("3,3", "targets = 3: is named twice"),
        ("9" * 5000, "larger than the number of any cell"),
        ("48.1, 11.5; " + "x" * 6000, "at most 5,000 characters"),
        (" , ", "targets = '': should name at least one place"),
        (
            "A\x1b[2J: 40.75, -73.98",
            r"name of targets = 'A\\x1b\[2J': should have no control character such as U\+001B",
        ),
        ("Straße " * 20 + ": 40.75, -73.98", "at most 64 characters, not 139"),
        ("https://maps.app.goo.gl/x", "no network is used"),
    ],
)
def test_text_that_names_no_place_is_refused(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        list_places(text)


def test_files_are_told_from_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("12", "places", "shops.kml"):
        (tmp_path / name).write_text("Grand Central: 40.7527, -73.9772\n")
    assert list_places("12") == [ListedPlace(cell=12)]
    assert list_places("places") == list_places(Path("12")) == [GRAND_CENTRAL]
    for source, said in {
        "gone.csv": "gone.csv: No such file",
        "shops.kml": "shops.kml: files of this kind are not read; save the places as CSV or GeoJSON",
        ".": "should be a place",
        "x" * 3000: "should be a place",
    }.items():
        with pytest.raises(CrowdveilError, match=said):
            list_places(source)


@given(st.text(max_size=80) | st.text("0123456789.,;:°'\"NSEWnsew+- \n{}[]geo", max_size=60))
def test_any_text_is_read_or_refused_and_never_fails_otherwise(text: str) -> None:
    try:
        found = list_places(text)
    except CrowdveilError:
        return
    assert found


# --- names ------------------------------------------------------------------------------------------------------


def test_names_are_kept_in_one_form() -> None:
    assert check_name("  Cafe\u0301   Sol ") == "Café Sol"
    assert check_name("👩‍👩‍👧 ناشتا‌خانه") == "👩‍👩‍👧 ناشتا‌خانه"
    assert check_name("é" * MAX_NAME) == "é" * MAX_NAME
    for bad in ("a\tb", "a\x7fb", "a\x85b", "a\u2028b", "a\u2066b", "\ud800"):
        with pytest.raises(InputError, match="control character"):
            check_name(bad)


@given(st.lists(st.sampled_from(["Café", "café", "Café (2)", "Bar", "x" * MAX_NAME]), max_size=12))
def test_names_are_made_unique_and_the_first_keeps_its_own(given_names: list[str]) -> None:
    found = unique_names(given_names)
    assert len({name.casefold() for name in found}) == len(found)
    assert all(len(name) <= MAX_NAME for name in found)
    for name in set(given_names):
        if [one.casefold() for one in given_names].index(name.casefold()) == given_names.index(name):
            assert found[given_names.index(name)] == name


def test_joined_and_shortened_names_are_never_too_long() -> None:
    assert joined_name(["A"]) == "A"
    assert joined_name(["A", "B", "C"]) == "A + B + C"
    assert joined_name(["x" * MAX_NAME, "B", "C"]) == "x" * 54 + "… + 2 more"
    assert len(joined_name(["x" * MAX_NAME, "B", "C"])) == MAX_NAME
    assert shortened("a  b") == "a b"
