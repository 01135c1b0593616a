"""The pages' files and headers, and what the console asks the server for."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

import crowdveil as cv
from crowdveil.errors import InputError
from crowdveil.server.areas import MAX_DRAWN
from crowdveil.server.page_files import content_policy
from crowdveil.server.pages import add_pages, check_tiles
from crowdveil.store import Store
from crowdveil.wire import AreaRequest, AreaShape, Estimates
from tests.server.harness import NAME, ServerHarness, kind_of, plan

UNFRAMED = "frame-ancestors 'none'"
TILES = "https://tiles.example.org/{z}/{x}/{y}.png"


def built(folder: Path) -> Path:
    (folder / "assets").mkdir(parents=True)
    (folder / "console.html").write_text('<meta name="crowdveil-tiles" content="">console')
    (folder / "join.html").write_text("join")
    (folder / "assets" / "app-1234.js").write_text("let a = 1;" * 100)
    return folder


@pytest.fixture
def paged(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ServerHarness:
    folder = built(tmp_path / "pages")
    monkeypatch.setattr("crowdveil.server.app.add_pages", lambda app, tiles: add_pages(app, tiles, folder))
    return ServerHarness(store)


def test_pages_are_served_with_a_content_policy_that_forbids_other_hosts(paged: ServerHarness) -> None:
    with paged as server:
        joins = ("/join/coffee", "/join/coffee/", "/join/", "/join")
        for path, text in (("/console", "console"), ("/console/", "console"), *((join, "join") for join in joins)):
            answer = server.ask("GET", path)
            assert (answer.status_code, text in answer.text) == (200, True)
            assert answer.headers["content-security-policy"] == f"{content_policy(None)}; {UNFRAMED}"
            assert answer.headers["cache-control"] == "no-cache"
            assert answer.headers["x-content-type-options"] == "nosniff"
        script = server.ask("GET", "/pages/assets/app-1234.js", accept_encoding="gzip")
        assert script.headers["content-type"].startswith("text/javascript")
        assert "immutable" in script.headers["cache-control"]
        assert script.headers["service-worker-allowed"] == "/", "it serves /join/ and /pages/"
        assert script.headers["content-encoding"] == "gzip"
        assert kind_of(server.ask("GET", "/pages/assets/none.js")) == "not-found"
        assert kind_of(server.ask("GET", "/pages/../settings.py")) == "not-found"
        assert server.ask("GET", "/").headers["location"] == "/console"


def test_pages_that_were_not_built_say_how_to(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crowdveil.server.app.add_pages", lambda app, tiles: add_pages(app, tiles, tmp_path))
    with ServerHarness(store) as server:
        assert "make web" in server.ask("GET", "/console").text


def test_a_tile_server_is_allowed_where_the_operator_names_one(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = built(tmp_path / "pages")
    monkeypatch.setattr("crowdveil.server.app.add_pages", lambda app, _: add_pages(app, TILES, folder))
    with ServerHarness(store) as server:
        console, join = server.ask("GET", "/console"), server.ask("GET", "/join/coffee")
    assert f'content="{TILES}"' in console.text
    assert console.headers["content-security-policy"] == f"{content_policy(TILES)}; {UNFRAMED}"
    assert join.headers["content-security-policy"] == f"{content_policy(None)}; {UNFRAMED}"
    assert "img-src 'self' data: https://tiles.example.org;" in content_policy(check_tiles(TILES))
    assert "https" not in content_policy(None)
    several = check_tiles("http://{s}.tiles.example.org:8080/{z}/{x}/{y}{r}.png")
    assert "img-src 'self' data: http://*.tiles.example.org:8080;" in content_policy(several)


@pytest.mark.parametrize(
    "bad",
    [
        *(
            "tiles",
            "",
            "ftp://x/{z}/{x}/{y}",
            "https://x/{z}/{x}.png",
            "https://x/{z}/{x}/{y}/{key}",
            "https://{x}{y}{z}/",
        ),
        *("https://x/{z}/{x}/{y}; script-src *", "https://*/{z}/{x}/{y}", "https://x /{z}/{x}/{y}", "//x/{z}/{x}/{y}"),
    ],
)
def test_an_address_that_is_not_a_tile_servers_is_refused(bad: str) -> None:
    with pytest.raises(InputError, match=r"tiles = .*should be an address such as https://.*\{z\}/\{x\}/\{y\}"):
        check_tiles(bad)


def test_compressed_files_are_the_same_files() -> None:
    from crowdveil.server.pages import PageFile

    file = PageFile.of("app.js", b"let a = 1;" * 50)
    assert gzip.decompress(file.compressed) == file.data
    assert len(file.compressed) < len(file.data)


@pytest.mark.parametrize(
    ("asked", "kind"),
    [
        ({"bounds": (40.65, -74.03, 40.7, -73.98), "cell_km": 1.0}, "grid"),
        ({"bounds": (40.65, -74.03, 40.7, -73.98), "resolution": 8}, "hexagons"),
        ({"towers": ((40.65, -74.03), (40.7, -73.98), (40.66, -73.99))}, "towers"),
    ],
)
def test_an_area_is_made_from_a_few_numbers_and_can_be_drawn(
    server: ServerHarness, asked: dict[str, object], kind: str
) -> None:
    request = AreaRequest.model_validate({"protocol": 1, **asked})
    answer = server.operate("POST", "/area", request.to_bytes())
    shape = AreaShape.from_bytes(answer.content)
    area = cv.Area.from_description(shape.area)
    assert shape.area["kind"] == kind
    assert len(shape.regions) == len(shape.centres) == len(area)
    inside = area.locate([spot[0] for spot in shape.centres], [spot[1] for spot in shape.centres])
    assert inside.tolist() == list(range(len(area)))
    again = AreaRequest.model_validate({"protocol": 1, "area": shape.area}).to_bytes()
    assert server.operate("POST", "/area", again).content == answer.content


def test_cells_on_both_sides_of_the_antimeridian_are_drawn_side_by_side(server: ServerHarness) -> None:
    request = AreaRequest.model_validate({"protocol": 1, "towers": ((-17.0, 179.9), (-17.0, -179.9), (-16.9, 179.9))})
    shape = AreaShape.from_bytes(server.operate("POST", "/area", request.to_bytes()).content)
    longitudes = [spot[1] for region in shape.regions for spot in region]
    assert max(longitudes) - min(longitudes) < 1
    assert all(-180 <= longitude <= 180 for _, longitude in shape.centres)


def test_an_area_that_is_not_valid_is_refused(server: ServerHarness) -> None:
    for asked, field in (
        ({"bounds": (40.65, -74.03, 40.6, -73.98), "cell_km": 1.0}, "south"),
        ({"bounds": (40.65, -74.03, 40.8, -73.88), "cell_km": 0.1}, f"{MAX_DRAWN:,}"),
        ({"towers": ()}, "towers"),
        ({"towers": ((40.65, -74.03),)}, "at least 2 cells"),
        ({"bounds": (40.65, -74.03, 40.7, -73.98), "cell_km": 1000.0}, "should reach at most"),
        ({"bounds": (-17.0, 179.9, -16.9, 190.0), "cell_km": 1.0}, "180"),
        ({"area": {"kind": "points", "centres_m": [[0, 0], [0, 1000]]}}, "latitude"),
    ):
        answer = server.operate("POST", "/area", AreaRequest.model_validate({"protocol": 1, **asked}).to_bytes())
        assert kind_of(answer) == "invalid", answer.text
        assert field in answer.json()["detail"], answer.text
    both = b'{"protocol":1,"bounds":[40.65,-74.03,40.7,-73.98],"cell_km":1.0,"resolution":8}'
    assert kind_of(server.operate("POST", "/area", both)) == "invalid"


def test_the_estimates_are_shown_round_by_round(server: ServerHarness) -> None:
    server.start(plan(users=4, wanted=1))
    path = f"/campaigns/{NAME}/estimates"
    assert Estimates.from_bytes(server.operate("GET", path).content).rounds == ()
    for number in range(2):
        assert server.report(f"{number}", 0).status_code == 200
    server.step()
    (learnt,) = Estimates.from_bytes(server.operate("GET", path).content).rounds
    assert (learnt.round, learnt.prior) == (0, server.view().estimate)
