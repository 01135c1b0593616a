"""Links to maps hold places: the pin before the middle of the screen, and never by asking a server."""

from __future__ import annotations

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdveil.area.map_links import find_link, read_link
from crowdveil.errors import InputError

PIN = (40.7527, -73.9772)
PIN_OF_GOOGLE = "data=!3m1!4b1!4m6!3m5!1s0x89c25901a5127fcf:0x5!8m2!3d40.7527!4d-73.9772!16zL20vMDE"
degrees = st.tuples(st.floats(-90, 90), st.floats(-180, 180)).map(lambda pair: (round(pair[0], 6), round(pair[1], 6)))


@pytest.mark.parametrize(
    ("link", "name"),
    [
        (
            f"https://www.google.com/maps/place/Grand+Central/@40.75,-73.98,17z/{PIN_OF_GOOGLE}?entry=ttu",
            "Grand Central",
        ),
        ("https://www.google.com/maps/place/Caf%C3%A9+Sol/@40.7527,-73.9772,17z", "Café Sol"),
        ("https://www.google.de/maps/@40.7527,-73.9772,17z", None),
        ("https://www.google.com/maps?q=40.7527,-73.9772&ll=1.5,2.5", None),
        ("https://maps.google.com/?q=loc:40.7527,-73.9772(Grand+Central)", "Grand Central"),
        ("https://www.google.com/maps/search/?api=1&query=40.7527%2C-73.9772", None),
        ("https://www.google.com/maps/search/40.7527,+-73.9772", None),
        ("https://www.google.com/maps/place/40.7527,-73.9772/@1.5,2.5,17z", None),
        ("www.google.com/maps/@40.7527,-73.9772,17z", None),
        ("google.co.uk/maps/@40.7527,-73.9772,17z", None),
        ("https://www.openstreetmap.org/#map=17/40.7527/-73.9772", None),
        ("https://www.openstreetmap.org/node/42#map=17/40.7527/-73.9772&layers=N", None),
        ("https://www.openstreetmap.org/?mlat=40.7527&mlon=-73.9772#map=5/1.5/2.5", None),
        ("https://maps.apple.com/?ll=40.7527,-73.9772&q=Grand%20Central", "Grand Central"),
        ("https://maps.apple.com/?q=40.7527,-73.9772", None),
        ("https://maps.apple.com/place?coordinate=40.7527,-73.9772&name=Grand+Central", "Grand Central"),
        ("maps.apple.com/?ll=40.7527,-73.9772", None),
        ("geo:40.7527,-73.9772", None),
        ("geo:40.7527,-73.9772,12;crs=wgs84;u=35", None),
        ("GEO:0,0?q=40.7527,-73.9772(Grand%20Central)", "Grand Central"),
        ("geo:40.7527,-73.9772?q=Grand+Central", "Grand Central"),
    ],
)
def test_the_pin_of_a_link_is_read(link: str, name: str | None) -> None:
    assert read_link(link) == (*PIN, name)
    assert find_link(f"Shop: {link}") == (link, "Shop")
    assert find_link(f"{link} Shop") == (link, "Shop")
    assert find_link(f"<{link}>, Shop") == (link, "Shop")


def test_degrees_and_minutes_in_a_link_are_read() -> None:
    link = "https://www.google.com/maps/place/40%C2%B045'10.0%22N+73%C2%B058'38.0%22W/@1.5,2.5,17z"
    found = read_link(link)
    assert (found.latitude, found.longitude) == pytest.approx((40.752778, -73.977222), abs=1e-6)
    assert found.name is None


@given(degrees)
def test_every_place_survives_every_kind_of_link(place: tuple[float, float]) -> None:
    latitude, longitude = (f"{one:.6f}" for one in place)
    for link in (
        f"https://www.google.com/maps/place/X/@1.5,2.5,17z/data=!8m2!3d{latitude}!4d{longitude}",
        f"https://www.google.com/maps/@{latitude},{longitude},17z",
        f"https://www.google.com/maps?q={latitude},{longitude}",
        f"https://www.openstreetmap.org/#map=17/{latitude}/{longitude}",
        f"https://www.openstreetmap.org/?mlat={latitude}&mlon={longitude}",
        f"https://maps.apple.com/?ll={latitude},{longitude}",
        f"geo:{latitude},{longitude}",
    ):
        assert read_link(link)[:2] == place


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ("https://maps.app.goo.gl/AbCdEf", "without coordinates in it, and no network is used; open it"),
        ("https://goo.gl/maps/AbCdEf", "without coordinates"),
        ("https://osm.org/go/0EEQjE--", "without coordinates"),
        ("https://maps.apple.com/?q=Grand+Central", "without coordinates"),
        ("https://www.google.com/maps/place/Grand+Central/", "without coordinates"),
        ("https://www.google.com/maps/dir/40.7,-73.9/40.8,-73.9/@40.75,-73.9,13z", "is the link of a route"),
        ("https://www.google.com/maps/data=!3d1.5!4d2.5!3d3.5!4d4.5", "several places"),
        ("geo:40.7527,-73.9772;crs=nad27", "WGS84"),
        ("geo:40.7527", "should be a geo: link"),
        ("https://[", "cannot be read"),
    ],
)
def test_a_link_without_one_place_is_refused_with_what_to_paste(
    link: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_network(*_: object) -> None:
        raise AssertionError("a link was opened")

    monkeypatch.setattr(socket, "socket", no_network)
    monkeypatch.setattr(socket, "getaddrinfo", no_network)
    with pytest.raises(InputError, match=said):
        read_link(link)


@pytest.mark.parametrize(
    "text", ["40.75, -73.98", "geology: 40.75, -73.98", "Google maps. 40.75, -73.98", "shop.example"]
)
def test_what_is_no_link_is_not_taken_for_one(text: str) -> None:
    assert find_link(text) is None
