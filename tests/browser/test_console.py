"""An operator's way through the console, in a real browser against a real server, with every state photographed."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Error as PlaywrightError

from crowdveil.client import InviteLink
from crowdveil.errors import InputError
from crowdveil.wire import PROBLEM_MEDIA_TYPE, PROTOCOL, AuditRecord, Problem
from tests.browser.conftest import DESKTOP, PATIENCE_MS, PHONE, Screen, Server
from tests.browser.console_crowd import Crowd
from tests.browser.journeys import DELIVERED, HOME, WORK, Look, add_visits, press, start, visits

pytestmark = pytest.mark.xdist_group("console")  # one browser, one server
TOKEN = "Operator’s token"
MAX_LOADED = 150_000
"""Bytes, compressed, until the wizard shows its map; the promise is 250,000, the library of curves comes later."""
POINT, CURVES = "**/v1/operator/preview?curves=no", "**/v1/operator/preview?curves=yes"
HEXAGONS = 100
PLACES = "40.7484, -73.9857\n40.7061 -74.0087"


def sign_in(page: Any, server: Server) -> None:
    page.goto("/console")
    page.get_by_label(TOKEN).fill(server.token)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("heading", name="Campaigns").wait_for()


@contextmanager
def none_yet(page: Any) -> Iterator[None]:
    """As on a new server, whatever other tests left on this one."""
    page.route("**/v1/operator/campaigns", lambda one: one.fulfill(json={"protocol": PROTOCOL, "campaigns": []}))
    yield
    page.unroute("**/v1/operator/campaigns")


def plan_a_campaign(screen: Screen) -> None:
    """Through the wizard: 600 people would take long, so 24 take part."""
    page = screen.page
    page.get_by_role("link", name="Plan the first campaign").click()
    page.get_by_text("204 cells").wait_for()
    screen.shoot("wizard-1-area")
    page.get_by_label("North").fill("40.76")
    page.get_by_label("East").fill("-73.96")
    page.get_by_text("70 cells").wait_for()
    page.get_by_role("button", name="Next: Targets").click()
    page.get_by_label("Latitudes and longitudes").fill(PLACES + "\nBroadway")
    page.get_by_role("button", name="Add these places").click()
    page.get_by_text("1 place could not be read").wait_for()
    page.get_by_role("heading", name="2 targets").wait_for()
    box = page.locator(".map").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2 + 5, box["y"] + box["height"] / 4)
    page.get_by_role("heading", name="3 targets").wait_for()
    screen.shoot("wizard-2-targets")
    page.get_by_role("button", name="Next: Privacy and people").click()
    page.get_by_text("Certified").wait_for()
    page.get_by_label("Participants (N)").fill("24")
    page.get_by_label("Rounds").fill("2")
    page.get_by_label("Selected (α), in percent").fill("25")
    page.get_by_text("6 people of 24").wait_for()
    page.get_by_text("of 6", exact=True).wait_for()
    page.locator("figure svg").nth(1).wait_for(timeout=4 * PATIENCE_MS)
    screen.shoot("wizard-3-privacy")
    page.get_by_role("button", name="Next: Offer and rules").click()
    page.get_by_role("button", name="Next: Review").click()
    page.get_by_text("Give the campaign a name.").wait_for()
    page.get_by_label("Name").fill("Coffee on Broadway")
    page.get_by_label("Offer", exact=True).fill("A free coffee, every day of the week.")
    page.get_by_label("A round closes at the latest").fill("2")
    screen.shoot("wizard-4-offer")
    page.get_by_role("button", name="Next: Review").click()
    page.get_by_text("24 take part in 2 rounds; 6 are selected").wait_for()
    screen.shoot("wizard-5-review")


def test_an_operator_signs_in_plans_launches_watches_and_exports(look: Look, server: Server, tmp_path: Path) -> None:
    with look("console") as screen:
        page = screen.page
        page.goto("/console")
        page.get_by_label(TOKEN).wait_for()
        screen.shoot("signed-out")
        page.get_by_label(TOKEN).fill("not-the-token")
        page.get_by_role("button", name="Sign in").click()
        page.get_by_text("Was it copied completely").wait_for()
        screen.shoot("wrong-token")
        page.get_by_label(TOKEN).fill(server.token)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("heading", name="Campaigns").wait_for()
        page.get_by_text("operator, owner").wait_for()
        with none_yet(page):
            page.reload()
            page.get_by_role("heading", name="No campaign yet").wait_for()
        assert page.evaluate("localStorage.length + document.cookie.length") == 0
        screen.shoot("no-campaigns")

        plan_a_campaign(screen)
        page.get_by_role("button", name="Launch").click()
        page.get_by_role("heading", name="Coffee on Broadway").wait_for()
        page.get_by_role("heading", name="Round 1").wait_for()
        with Crowd(server.url, "coffee-on-broadway", token=server.token) as crowd:
            assert crowd.join(8, nulls=1) == 8
            assert crowd.mistake() == 409
            page.get_by_text("8 of 12 reports").wait_for()
            page.get_by_text("drawn from another policy").wait_for()
            screen.shoot("open")

            page.get_by_role("button", name="Pause").click()
            page.get_by_role("heading", name="Pause this campaign?").wait_for()
            screen.shoot("confirm", whole=False)
            page.get_by_role("dialog").get_by_role("button", name="Pause").click()
            page.get_by_role("button", name="Resume").wait_for()
            screen.shoot("paused")
            page.get_by_role("button", name="Resume").click()
            page.get_by_role("dialog").get_by_role("button", name="Resume").click()
            page.get_by_role("button", name="Pause").wait_for()

            # Whoever made the mistake holds a seat of round 1, so it never fills: the operator closes.
            assert crowd.join(3) == 3
            page.get_by_text("11 of 12 reports").wait_for()
            page.get_by_role("button", name="Close").click()
            page.get_by_role("dialog").get_by_role("button", name="Close for good").click()
        page.get_by_role("heading", name="Selection").wait_for()
        page.get_by_role("cell", name="by answer").first.wait_for()
        page.set_viewport_size({"width": 390, "height": 844})
        chance = page.get_by_role("columnheader", name="Chance").bounding_box()
        assert chance["x"] + chance["width"] <= 390, "the chances are seen on a phone without scrolling"
        page.get_by_label("After round 1").wait_for()
        screen.shoot("finished")

        with page.expect_download() as csv_file:
            page.get_by_role("button", name="Download as CSV").click()
        csv_file.value.save_as(tmp_path / "selection.csv")
        rows = list(csv.DictReader((tmp_path / "selection.csv").read_text().splitlines()))
        assert csv_file.value.suggested_filename == "coffee-on-broadway-selection.csv"
        with page.expect_download() as record_file:
            page.get_by_role("button", name="Download the audit record").click()
        record_file.value.save_as(tmp_path / "record.json")
        record = AuditRecord.from_bytes((tmp_path / "record.json").read_bytes())
        assert [int(row["participant"]) for row in rows] == list(record.selections[0].participants)
        assert len(rows) == 6

        page.get_by_role("button", name="Sign out").click()
        page.get_by_label(TOKEN).wait_for()
        assert page.evaluate("sessionStorage.length") == 0


def test_a_crowd_is_watched_round_by_round_until_the_selection(look: Look, server: Server) -> None:
    start(server, "rounds", name="Round by round", users=60, wanted=6, rounds=4)
    with look("console") as screen, Crowd(server.url, "rounds") as crowd:
        page = screen.page
        sign_in(page, server)
        page.get_by_role("link", name="Round by round").click()
        assert crowd.join(60) == 60
        page.get_by_text("people selected").wait_for()
        slider = page.get_by_label("After round 4")
        slider.focus()
        for _ in range(3):
            page.keyboard.press("ArrowLeft")
        page.get_by_text("After round 1", exact=True).wait_for()
        page.keyboard.press("Home")
        page.get_by_text("assumed to be spread evenly").wait_for()
        page.keyboard.press("End")
        page.locator("figure svg").wait_for()
        screen.shoot("finished-rounds")
        page.emulate_media(color_scheme="dark")
        screen.shoot("dark-finished-rounds")


@pytest.mark.long
def test_whatever_goes_wrong_is_said_in_words(look: Look, server: Server) -> None:
    start(server, "draft", opened=False)
    with look("console") as screen:
        page = screen.page
        sign_in(page, server)
        screen.shoot("list")

        page.route("**/v1/operator/campaigns", lambda one: one.abort("connectionrefused"))
        page.reload()
        page.get_by_text("The server cannot be reached").wait_for()
        screen.shoot("list-server-down")
        page.unroute("**/v1/operator/campaigns")

        page.goto("/console#/campaigns/none-such")
        page.get_by_role("heading", name="not found").wait_for()
        screen.shoot("not-found")

        page.goto("/console#/campaigns/draft")
        page.get_by_text("Certified").wait_for()
        screen.shoot("draft")
        page.route("**/v1/**", lambda one: one.abort("connectionrefused"))
        page.get_by_role("button", name="Start").click()
        page.get_by_role("dialog").get_by_role("button", name="Start the campaign").click()
        page.get_by_text("The change may not have arrived").wait_for()
        page.get_by_text("The server cannot be reached").wait_for()
        screen.shoot("server-down")
        page.unroute("**/v1/**")
        page.evaluate("dispatchEvent(new Event('online'))")  # the page asks again by itself
        page.get_by_role("button", name="Try now").wait_for(state="detached")

        # What a moment shows, held still: a page that is loading, and a campaign whose selection is being made.
        page.route("**/v1/operator/campaigns/draft", lambda _: None)
        page.goto("/console#/")
        page.get_by_role("heading", name="Campaigns").wait_for()
        page.goto("/console#/campaigns/draft")
        page.get_by_text("Loading the campaign").wait_for()
        screen.shoot("loading")
        page.unroute("**/v1/operator/campaigns/draft")
        page.route("**/v1/operator/campaigns/draft", _as_closed)
        page.goto("/console#/")
        page.get_by_role("heading", name="Campaigns").wait_for()
        page.goto("/console#/campaigns/draft")
        page.get_by_text("The selection is being made").wait_for()
        screen.shoot("closed")
        page.unroute("**/v1/operator/campaigns/draft")

        page.goto("/console#/new")
        page.get_by_label("Hexagons").check()
        page.get_by_label("Size of the hexagons").select_option("9")
        page.get_by_label("North").fill("43")
        page.get_by_role("alert").get_by_text("Expected").wait_for()
        screen.shoot("problem")

        page.evaluate("sessionStorage.setItem('crowdveil-token', 'revoked')")
        page.goto("/console#/")
        page.reload()
        page.get_by_text("You were signed out").wait_for()
        screen.shoot("ended")


def _as_closed(route: Any) -> None:
    answer = route.fetch()
    route.fulfill(response=answer, json={**answer.json(), "state": "closed"})


def test_the_keyboard_does_what_the_pointer_does(look: Look, server: Server) -> None:
    with look("console") as screen:
        page = screen.page
        sign_in(page, server)
        page.goto("/console#/new")
        page.get_by_text("204 cells").wait_for()
        page.get_by_role("button", name="Next: Targets").focus()
        page.keyboard.press("Enter")
        page.get_by_label("Cell number").focus()
        page.keyboard.type("80")
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="1 target").wait_for()
        page.get_by_role("button", name="Next: Privacy and people").focus()
        page.keyboard.press("Enter")
        page.wait_for_function("document.activeElement.textContent === 'Privacy and people'")
        page.get_by_text("Certified").wait_for()
        before = page.locator("dl.figures dd").first.inner_text()
        page.get_by_label("How much an answer may reveal").focus()
        for _ in range(3):
            page.keyboard.press("ArrowLeft")
        page.get_by_text("Within 1 km: at most 2 times as likely.").wait_for()
        distances = page.get_by_role("region", name="By distance").locator("tr").first.inner_text()
        assert distances.split("\t") == ["Distance", "1 km", "2 km", "5 km"]
        page.wait_for_function("was => document.querySelector('dl.figures dd').innerText !== was", arg=before)


@pytest.mark.long
def test_the_newest_position_of_a_slider_wins_and_its_curves_follow(look: Look, server: Server) -> None:
    with look("console") as screen:
        page = screen.page
        sign_in(page, server)
        page.goto("/console#/new")
        set_terms(page, cells=204, target=80)
        page.locator(".curves[aria-busy=false]").wait_for()
        slider = page.get_by_label("How much an answer may reveal")

        # Asked for, and answered with something else only after the slider has moved on.
        held: list[Any] = []
        page.route(POINT, lambda route: held.append(route))
        with page.expect_request(POINT):
            slider.press("ArrowLeft")
        page.locator(".curves[aria-busy=true]").wait_for()
        screen.shoot("wizard-updating")
        page.unroute(POINT)
        asked = held[0].request.post_data

        def moved_on(one: Any) -> bool:
            return bool(one.url.endswith("preview?curves=no") and one.request.post_data != asked)

        with page.expect_response(moved_on) as answer, page.expect_response(CURVES) as curves:
            slider.press("ArrowLeft")
        with suppress(PlaywrightError):  # the page has abandoned it
            held[0].fulfill(json={**answer.value.json(), "expected_coverage": 0.99})
        page.get_by_text("Within 1 km: at most 2.5 times as likely.").wait_for()
        page.locator(".curves[aria-busy=false]").wait_for()
        shown, drawn = answer.value.json(), curves.value.json()
        assert len(drawn.pop("by_epsilon")) == len(drawn.pop("by_wanted")) == 5
        assert [one["cover"] for one in drawn.pop("covers")] == ["any", "each"]
        assert shown["covers"] == []
        assert drawn.items() <= shown.items()
        coverage = float(page.locator("dl.figures dd").first.inner_text().split("%")[0])
        assert coverage == pytest.approx(100 * shown["expected_coverage"], rel=0.02)

        # The point is there before its curves are; what cannot be asked is said, beside what was answered last.
        page.route(CURVES, lambda _: None)
        page.reload()
        page.get_by_text("Certified").wait_for()
        page.get_by_text("Computing the curves for other ε and α").wait_for()
        screen.shoot("wizard-curves-to-come")

        # Curves that fail take nothing from the point.
        slow = Problem.of_input(InputError("targets", 154, "should be fewer: the preview took longer than 60 s"))
        page.unroute(CURVES)
        page.route(
            CURVES, lambda one: one.fulfill(status=slow.status, content_type=PROBLEM_MEDIA_TYPE, body=slow.to_bytes())
        )
        slider.press("ArrowLeft")
        page.get_by_role("alert").get_by_text("the preview took longer").wait_for()
        assert page.get_by_text("The last answer was").count() == 0
        screen.shoot("wizard-curves-error")
        page.route(POINT, lambda one: one.abort("connectionrefused"))
        slider.press("ArrowLeft")
        page.get_by_text("The server cannot be reached").wait_for()
        page.get_by_text("The last answer was").wait_for()
        screen.shoot("wizard-preview-error")


def set_terms(page: Any, cells: int, target: int) -> None:
    """From the area to the preview, with one target."""
    page.get_by_text(f"{cells} cells").wait_for()
    page.get_by_role("button", name="Next: Targets").click()
    page.get_by_label("Cell number").fill(str(target))
    page.get_by_label("Cell number").press("Enter")
    page.get_by_role("heading", name="1 target").wait_for()
    page.get_by_role("button", name="Next: Privacy and people").click()
    page.get_by_text("Certified").wait_for()


def test_bounds_are_drawn_and_towers_read_from_a_file(look: Look, server: Server, tmp_path: Path) -> None:
    with look("console") as screen:
        page = screen.page
        sign_in(page, server)
        page.goto("/console#/new")
        page.get_by_text("204 cells").wait_for()
        page.get_by_role("button", name="Draw on the map").click()
        box = page.locator(".map").bounding_box()
        page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 0.3 * box["height"])
        page.mouse.down()
        page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.7 * box["height"], steps=4)
        page.mouse.up()
        page.get_by_role("button", name="Draw on the map").wait_for()
        assert page.get_by_label("North").input_value() != "40.82"
        page.get_by_label("Towers").check()
        page.get_by_label("File of towers").set_input_files(six_by_six_towers(tmp_path / "towers.csv"))
        page.get_by_text("1 line could not be read").wait_for()
        page.get_by_text("36 cells").wait_for()
        screen.shoot("wizard-towers")
        set_terms(page, cells=36, target=14)
        page.locator(".curves[aria-busy=false]").wait_for()
        screen.shoot("wizard-towers-privacy")


def test_what_was_true_of_other_numbers_is_not_shown_as_if_it_still_were(
    look: Look, server: Server, tmp_path: Path
) -> None:
    one, none = tmp_path / "one.csv", tmp_path / "none.csv"
    one.write_text("lat,lon\n50,4\n")
    none.write_text("lat,lon\n")
    with look("console") as screen:
        page = screen.page
        sign_in(page, server)
        page.goto("/console#/new")
        cells = page.get_by_text("204 cells")
        cells.wait_for()
        page.get_by_label("East").fill("190")
        page.get_by_text("Should be from -180 to 180 degrees.").wait_for()
        assert cells.count() == 0
        page.get_by_label("East").fill("-73.9")
        cells.wait_for()
        page.get_by_label("Towers").check()
        cells.wait_for(state="detached")
        page.get_by_label("File of towers").set_input_files(one)
        page.get_by_role("alert").get_by_text("should have at least 2 cells").wait_for()
        page.get_by_label("File of towers").set_input_files(none)
        page.get_by_text("0 towers").wait_for()
        assert page.get_by_role("alert").count() == 0
        page.get_by_label("Squares").check()

        set_terms(page, cells=204, target=80)
        epsilon = page.get_by_label("ε per km", exact=True)
        epsilon.fill("")
        page.get_by_text("Outdated: the last complete terms were ε = 1.386 per km and 600 people.").wait_for()
        screen.shoot("wizard-outdated")
        epsilon.press_sequentially("1e-1")
        page.get_by_text("Within 1 km: at most 1.11 times as likely.").wait_for()
        assert epsilon.input_value() == "1e-1"
        page.get_by_text("Outdated:").wait_for(state="detached")
        page.get_by_label("Participants (N)").fill("-5")
        page.get_by_text("Outdated:").wait_for()
        assert page.get_by_text("of -5").count() == page.get_by_text("-1 report").count() == 0
        page.set_viewport_size({**PHONE, "width": 320})
        assert page.evaluate("document.documentElement.scrollWidth") == 320


LONG = "Donaudampfschifffahrtsgesellschaftskapitänin"


@pytest.mark.long
def test_a_plan_outlives_a_reload_and_its_token_and_a_long_word_fits_a_phone(look: Look, server: Server) -> None:
    with look("console") as screen:
        page = screen.page
        sign_in(page, server)
        page.goto("/console#/new")
        page.get_by_text("204 cells").wait_for()
        page.set_viewport_size(PHONE)
        page.get_by_role("button", name="Next").click()
        page.wait_for_function("document.activeElement.textContent === 'Targets'")
        assert 0 <= page.locator(".map").bounding_box()["y"] < PHONE["height"] / 2
        page.set_viewport_size(DESKTOP)
        page.get_by_label("Cell number").fill("80")
        page.get_by_label("Cell number").press("Enter")
        page.get_by_role("button", name="Next: Privacy and people").click()
        page.get_by_label("Participants (N)").fill("6")
        page.get_by_label("Selected (α), in percent").fill("17")
        page.get_by_role("button", name="Next: Offer and rules").click()
        page.get_by_label("Name").fill(LONG)
        page.get_by_label("Offer", exact=True).fill("A free coffee")
        page.get_by_text("Expert settings").click()
        page.get_by_label("Being outside: at most this many times").fill("1")
        page.get_by_text("Should be from 1.01 to 1,000,000.").wait_for()
        page.get_by_label("Being outside: at most this many times").fill("16")
        page.get_by_role("button", name="Next: Review").click()
        page.reload()
        page.get_by_text("6 take part in 6 rounds; 1 is selected").wait_for()

        ended = Problem.of("unauthorized")
        created = "**/v1/operator/campaigns/*"
        page.route(created, lambda one: one.fulfill(status=401, content_type=PROBLEM_MEDIA_TYPE, body=ended.to_bytes()))
        page.get_by_role("button", name="Launch").click()
        page.get_by_text("You were signed out").wait_for()
        page.unroute(created)
        page.get_by_label(TOKEN).fill(server.token)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_text("6 take part in 6 rounds; 1 is selected").wait_for()
        page.get_by_role("button", name="Launch").click()
        page.get_by_role("heading", name="Round 1").wait_for()
        page.get_by_role("button", name="Close").click()
        page.get_by_role("dialog").get_by_role("button", name="Close for good").click()
        page.get_by_text("expected coverage: nobody reported").wait_for()
        screen.shoot("finished-unheard")
        page.goto("/console#/")
        page.get_by_role("link", name=LONG).wait_for()
        screen.shoot("list-long-word")


def six_by_six_towers(path: Path) -> Path:
    """And a line that is none."""
    lines = [
        f"{50 + row * 0.01:.3f};{4.3 + column * 0.015:.3f};t{row}{column}" for row in range(6) for column in range(6)
    ]
    path.write_text("lat;lon;name\n" + "\n".join(lines) + "\nnorth;east;lost\n")
    return path


@pytest.mark.long
def test_hexagons_are_planned_and_kept_as_a_draft(look: Look, server: Server) -> None:
    with look("console") as screen:
        page = screen.page
        sign_in(page, server)
        page.goto("/console#/new")
        page.get_by_label("Hexagons").check()
        page.get_by_label("Size of the hexagons").select_option("8")
        page.get_by_label("South").fill("40.76")
        set_terms(page, cells=HEXAGONS, target=40)
        page.locator(".curves[aria-busy=false]").wait_for()
        screen.shoot("wizard-hexagons-privacy")
        page.emulate_media(color_scheme="dark")
        screen.shoot("dark-wizard-hexagons-privacy")
        page.get_by_role("button", name="Next: Offer and rules").click()
        page.get_by_label("Name").fill("Hexagons")
        page.get_by_label("Offer", exact=True).fill("A free coffee")
        page.get_by_role("button", name="Next: Review").click()
        page.get_by_role("button", name="Save as draft").click()
        page.get_by_role("heading", name="Hexagons").wait_for()
        page.get_by_role("button", name="Start").wait_for()


def test_little_is_loaded_before_the_console_can_be_used(look: Look, server: Server) -> None:
    with look("console") as screen:
        page, sizes = screen.page, {}
        page.on("response", lambda one: sizes.update({one.url: int(one.headers.get("content-length", 0))}))
        sign_in(page, server)
        page.goto("/console#/new")
        page.get_by_text("204 cells").wait_for()
        loaded = {url: size for url, size in sizes.items() if "/v1/" not in url}
        assert len(loaded) > 3
        assert sum(loaded.values()) < MAX_LOADED, loaded


def test_an_invite_leads_from_the_console_to_a_counted_report_also_in_the_dark(
    look: Look, server: Server, tmp_path: Path
) -> None:
    start(server, "by-invitation", opened=False, enrolment="invite", name="By invitation")
    with look("console-dark", color_scheme="dark", reduced_motion="reduce") as screen:
        page = screen.page
        page.goto("/console")
        screen.shoot("signed-out")
        sign_in(page, server)
        page.goto("/console#/campaigns/by-invitation")
        page.get_by_text("Certified").wait_for()
        page.get_by_text("Send each person their own invite link.").wait_for()
        assert page.get_by_role("link", name="/join/").count() == 0
        page.get_by_label("Invites").fill("3")
        page.get_by_role("button", name="Make invites").click()
        page.get_by_text("3 invites, shown this once").wait_for()
        page.locator(".curves[aria-busy=false]").wait_for()
        page.locator("figure svg").nth(1).wait_for(timeout=4 * PATIENCE_MS)
        screen.shoot("draft-with-invites")
        with page.expect_download() as file:
            page.get_by_role("button", name="Download as CSV").click()
        rows = list(csv.DictReader(Path(file.value.path()).read_text().splitlines()))
        shown = page.get_by_label("Links with new invites").input_value().split()
        assert [row["link"] for row in rows] == shown
        links = [InviteLink.parse(one) for one in shown]
        told = [(link.server, link.campaign, link.invite) for link in links]
        assert told == [(server.url, "by-invitation", row["invite"]) for row in rows]
        page.get_by_role("button", name="Start").click()
        page.get_by_role("dialog").get_by_role("button", name="Start the campaign").click()
        page.get_by_role("heading", name="Round 1").wait_for()

        with look("join") as theirs:
            theirs.page.goto(shown[0])
            add_visits(theirs.page, visits(tmp_path / "visits.csv", HOME, WORK))
            press(theirs.page)
            theirs.page.get_by_role("heading", name=DELIVERED).wait_for()
        page.get_by_text("1 of 6 reports").wait_for()
