"""A place is read as people write it; what could be read in two ways is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdveil.area.coordinates import read_angle, read_coordinates
from crowdveil.errors import InputError

CLOSE = 1e-9
GRAND_CENTRAL = (40 + 45 / 60 + 10 / 3600, -(73 + 58 / 60 + 38 / 3600))

latitudes = st.floats(-90, 90).map(lambda number: round(number, 7))
longitudes = st.floats(-180, 180).map(lambda number: round(number, 7))
names = st.text(st.characters(categories=["L"]), min_size=2, max_size=20).filter(
    lambda name: name.upper() not in {"N", "S", "E", "W"}
)


def plain(degrees: float) -> str:
    """Such as 40.7500000."""
    return f"{degrees:.7f}"


def with_letter(degrees: float, letters: str, *, before: bool = False, parts: int = 1) -> str:
    """Such as N 40° 45' 10", in one, two or three parts."""
    letter = letters[degrees < 0]
    size = abs(degrees)
    if parts == 1:
        angle = f"{size:.7f}°"
    elif parts == 2:
        angle = f"{int(size)}°{(size - int(size)) * 60:.9f}'"
    else:
        minutes = int((size - int(size)) * 60)
        angle = f"{int(size)}°{minutes}'{((size - int(size)) * 60 - minutes) * 60:.7f}\""
    if "60." in angle:  # rounded up to a whole minute; nobody writes that
        angle = f"{size:.7f}°"
    return f"{letter} {angle}" if before else f"{angle}{letter}"


@given(latitudes, longitudes, st.sampled_from([", ", " ", ",", ":", " , "]))
def test_two_numbers_are_read_whatever_stands_between_them(latitude: float, longitude: float, between: str) -> None:
    found = read_coordinates(f"{plain(latitude)}{between}{plain(longitude)}")
    assert found == (latitude, longitude, None)


@given(
    latitudes, longitudes, st.booleans(), st.sampled_from([1, 2, 3]), st.booleans(), st.sampled_from([", ", " ", ""])
)
def test_letters_say_which_is_which(
    latitude: float, longitude: float, before: bool, parts: int, turned: bool, between: str
) -> None:
    both = [
        with_letter(latitude, "NS", before=before, parts=parts),
        with_letter(longitude, "EW", before=before, parts=parts),
    ]
    found = read_coordinates(between.join(both[::-1] if turned else both))
    assert found.latitude == pytest.approx(latitude, abs=CLOSE)
    assert found.longitude == pytest.approx(longitude, abs=CLOSE)


@given(latitudes, longitudes, names)
def test_a_name_may_stand_before_or_after(latitude: float, longitude: float, name: str) -> None:
    pair = f"{plain(latitude)}, {plain(longitude)}"
    for text in (f"{name}: {pair}", f"{name}, {pair}", f"{pair} {name}", f"{pair} ({name})", f'"{name}" - {pair}'):
        assert read_coordinates(text) == (latitude, longitude, name), text


@pytest.mark.parametrize(
    "text",
    [
        "40°45'10\"N 73°58'38\"W",
        "40° 45′ 10″ N, 73° 58′ 38″ W",
        "40º45’10”N73º58’38”W",
        "N40°45'10'' W073°58'38''",
        "40°45'10\", -73°58'38\"",
        "40°45'10\"; −73°58'38\"".replace(";", ","),
        "73°58'38\"w 40°45'10\"n",
    ],
)
def test_signs_of_degrees_minutes_and_seconds_may_be_those_of_any_keyboard(text: str) -> None:
    found = read_coordinates(text)
    assert (found.latitude, found.longitude) == pytest.approx(GRAND_CENTRAL, abs=CLOSE)
    assert read_coordinates(f"Grand Central {text}").name == "Grand Central"


def test_receivers_leave_the_sign_of_minutes_out() -> None:
    found = read_coordinates("N 40° 45.1667 W 073° 58.6333")
    assert (found.latitude, found.longitude) == pytest.approx(GRAND_CENTRAL, abs=1e-5)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Joe’s Café, 40.75, −73.98", "Joe’s Café"),
        ("Foo (north): 40.75, -73.98", "Foo (north)"),
        ("Shop N: 40.75, -73.98", "Shop N"),
        ("Route 66 40.75, -73.98", "Route 66"),
        ("東京駅 35.6812, 139.7671", "東京駅"),
        ("[40.75, -73.98] – Grand Central", "Grand Central"),
    ],
)
def test_names_keep_their_own_signs(text: str, name: str) -> None:
    assert read_coordinates(text).name == name


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("40.75 73.98 W", "at both numbers, or at none"),
        ("40.75, 73.98 W Broadway", "at both numbers, or at none"),
        ("N 40.75, -73.98", "at both numbers, or at none"),
        ("40 45.166 N 73 58.633 W", "at both numbers, or at none"),
        ("40.75 N 73.98 S", "one of N and S, and one of E and W"),
        ("-40.75 S 73.98 E", "signs or letters, not both"),
        ("40°75'N 73°10'W", "minutes and seconds below 60"),
        ("40°10'60\"N 73°10'10\"W", "minutes and seconds below 60"),
        ("40 45 10 N 73 58 38 W", "whole numbers are cells"),
        ("Foo: 40, -73", "whole numbers are cells"),
        ("40.75, -73.98, 17", "more than two numbers"),
        ("12, 40.75, -73.98", "more than two numbers"),
        ("40.75:-73.98,40.71:-74.00", "more than two numbers"),
        ("A 40.75, -73.98 B 40.71, -74.00", "more than two numbers"),
        ("40,7527 -73,9772", "should have decimal points"),
        ("191.5, 0.5", "degrees from -180 to 180"),
        ("40.75", "should be a latitude and a longitude"),
        ("Grand Central", "should be a latitude and a longitude"),
        ("1.2.3, 4.5", "should be a latitude and a longitude"),
    ],
)
def test_what_could_mean_two_things_is_refused(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_coordinates(text)


def test_whole_degrees_are_read_only_with_a_colon_between_them() -> None:
    assert read_coordinates("40:-73") == (40, -73, None)


@given(latitudes, st.sampled_from([1, 2, 3]), st.booleans())
def test_one_angle_is_read_alone(latitude: float, parts: int, before: bool) -> None:
    assert read_angle(plain(latitude), "NS") == latitude
    assert read_angle(with_letter(latitude, "NS", before=before, parts=parts), "NS") == pytest.approx(
        latitude, abs=CLOSE
    )


@pytest.mark.parametrize("text", ["40.75 E", "N 40.75 N", "nan", "inf", "181", "north", "", "-40.75 S"])
def test_what_is_no_latitude_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        read_angle(text, "NS")


@pytest.mark.parametrize("text", ["40.7" + " " * 500_000 + "x", "4 " * 250_000, "(" * 500_000, "40°" * 160_000])
def test_long_nonsense_is_refused(text: str) -> None:
    """In time that grows with its length: if it grew with the square, this would not end for minutes."""
    with pytest.raises(InputError):
        read_coordinates(text)
