"""A participant's way through the page, in a real browser against a real server, with every state photographed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import crowdveil as cv
from crowdveil.wire import PROTOCOL
from tests.browser.conftest import PATIENCE_MS, Screen, Server
from tests.browser.console_crowd import Crowd
from tests.browser.console_server import pages_folder
from tests.browser.journeys import (
    BUTTON,
    DELIVERED,
    ELSEWHERE,
    HOME,
    WORK,
    Look,
    add_visits,
    begin,
    change,
    info_of,
    operate,
    press,
    round_of,
    start,
    until,
    visits,
)
from tests.browser.proxy import WELCOME, Proxy

pytestmark = pytest.mark.xdist_group("join")  # one browser, one server
FROZEN_MS = 3000
"""Far longer than a busy machine leaves a page waiting, far shorter than reading the file takes."""
MAX_LOADED = 125_000
"""Bytes, compressed, before a participant can import."""


@pytest.fixture(scope="module", autouse=True)
def page_is_built() -> None:
    if not (pages_folder() / "sw.js").exists():
        pytest.fail("the participant's page is not built; `make web` builds it")


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    return visits(tmp_path / "visits.csv", HOME, WORK)


# --- the way through ------------------------------------------------------------------------------------


@dataclass
class Sent:
    method: str
    path: str
    body: bytes
    headers: dict[str, str]


def record(page: Any) -> list[Sent]:
    """All requests of the campaign from now on, in their order, of the page and of its worker."""
    found: list[Sent] = []

    def note(request: Any) -> None:
        if "/v1/" in request.url:
            path = "/" + request.url.split("/", 3)[3]
            found.append(Sent(request.method, path, request.post_data_buffer or b"", dict(request.headers)))

    page.on("request", note)
    return found


def test_a_participant_imports_checks_reads_sends_and_is_selected(look: Look, server: Server, mine: Path) -> None:
    start(server, "coffee", users=4, wanted=4, rounds=1)
    with look("join") as screen:
        page = screen.page
        sent = record(page)
        page.goto("/join/coffee")
        page.get_by_role("heading", name="Coffee on Broadway").wait_for()
        page.get_by_role("heading", name="Your visits").wait_for()
        screen.shoot("no-visits-yet")
        page.get_by_role("button", name="Continue").click()
        page.get_by_text("Please choose one").wait_for()
        page.get_by_text("on another site").wait_for()
        page.get_by_text("the organiser’s own server, which could change it").wait_for()
        add_visits(page, mine)
        page.get_by_text("You regularly visit 2 places").wait_for()
        page.get_by_role("heading", name="The place of your answer").wait_for()
        page.get_by_text("Checked on this device: the campaign keeps its privacy promise").wait_for()
        screen.shoot("certified")
        slider = page.get_by_label("How sure someone is of your place before your answer")
        assert page.get_by_role("row", name=re.compile(r"1 km 23\.2\s%")).count() == 1
        slider.focus()
        page.keyboard.press("ArrowRight")
        page.get_by_role("row", name=re.compile(r"1 km 25\.2\s%")).wait_for()

        assert {one.method for one in sent} == {"GET"}, "nothing is sent before the button"
        sent.clear()
        press(page)
        page.get_by_role("heading", name="Sending").wait_for()
        page.get_by_role("heading", name=DELIVERED).wait_for()
        page.get_by_role("button", name="Ask whether").wait_for()
        screen.shoot("waiting")
        home = "/v1/campaigns/coffee"
        assert [(one.method, one.path) for one in sent] == [
            ("POST", f"{home}/seats"),
            ("PUT", f"{home}/report"),
            ("GET", f"{home}/status"),
        ]

        page.get_by_role("link", name="This device").first.click()
        page.get_by_text("Exact figures").click()
        page.get_by_text("ε per km: 1 of 4.15888 is permanently used").wait_for()
        screen.shoot("device")
        with Crowd(server.url, "coffee") as crowd:
            crowd.join(3)
        until(lambda: info_of(server, "coffee")["state"] == "finished")
        page.get_by_role("link", name="Take part").click()
        page.get_by_role("button", name="Ask whether").click()
        page.get_by_role("heading", name="You are selected").wait_for()
        page.get_by_text("A free coffee").wait_for()
        screen.shoot("selected")

        page.get_by_role("link", name="This device").first.click()
        page.get_by_role("button", name="Delete everything …").click()
        page.get_by_role("dialog").wait_for()
        screen.shoot("delete", whole=False)
        page.get_by_role("dialog").get_by_role("button", name="Delete everything").click()
        page.get_by_role("heading", name="Everything on this device is deleted").wait_for()
        screen.shoot("deleted")
        left = page.evaluate("Promise.all([indexedDB.databases(), caches.keys()])")
        assert left == [[], []]
        assert page.evaluate("localStorage.length + sessionStorage.length + document.cookie.length") == 0


def test_a_closed_campaign_says_who_was_not_selected(look: Look, server: Server, mine: Path) -> None:
    start(server, "few", users=30, wanted=1, rounds=2)
    with look("join") as screen, Crowd(server.url, "few") as crowd:
        page = screen.page
        page.goto("/join/few")
        add_visits(page, mine)
        press(page)
        page.get_by_role("heading", name=DELIVERED).wait_for()
        crowd.join(10)
        change(server, "few", "closed")
        until(lambda: info_of(server, "few")["state"] == "finished")
        page.reload()
        page.locator("h2", has_text="selected").wait_for()
        if page.get_by_role("heading", name="You are not selected").count():
            screen.shoot("not-selected")
        page.evaluate("indexedDB.databases()")
        fresh = page.context.browser.new_context(base_url=server.url)
        try:
            other = fresh.new_page()
            other.goto("/join/few")
            other.get_by_role("heading", name="The campaign is over").wait_for()
            late = Screen(other, "join")
            late.shoot("over")
            assert not late.violations
        finally:
            fresh.close()


def test_whoever_has_no_frequent_place_is_told_what_null_tells(look: Look, server: Server, tmp_path: Path) -> None:
    start(server, "null", null_epsilon=None, grade_epsilon=None, beyond_default_limits=True)
    with look("join") as screen:
        page = screen.page
        sent = record(page)
        page.goto("/join/null")
        page.get_by_text("asks openly whether you regularly visit anywhere in its area").wait_for()
        page.get_by_role("link", name="See your limits").click()
        begin(page)
        page.get_by_text("More limits").click()
        page.get_by_label("Answers that openly say").fill("1")
        page.get_by_role("button", name="Save limits").click()
        page.get_by_text("Saved.").wait_for()
        page.get_by_role("link", name="Take part").click()
        add_visits(page, visits(tmp_path / "abroad.csv", ELSEWHERE), button="Send that I have no regular place here")
        page.get_by_text("You have no regular place in this area", exact=True).wait_for()
        page.get_by_text("Your phone will say so openly").wait_for()
        screen.shoot("null-in-the-clear")
        press(page, "Send that I have no regular place here")
        page.get_by_role("heading", name=DELIVERED).wait_for()
        assert b"nullnull" in next(one.body for one in sent if one.method == "PUT")


def test_a_protected_null_is_drawn_at_random_like_any_place(look: Look, server: Server, tmp_path: Path) -> None:
    start(server, "protected")
    with look("join") as screen:
        page = screen.page
        sent = record(page)
        page.goto("/join/protected")
        add_visits(page, visits(tmp_path / "abroad.csv", ELSEWHERE))
        page.get_by_text("Your phone will answer at random all the same").wait_for()
        page.get_by_text("are ever in this area, or that you never are").wait_for()
        screen.shoot("null-protected")
        press(page)
        page.get_by_role("heading", name=DELIVERED).wait_for()
        assert b"null" not in next(one.body for one in sent if one.method == "PUT")


# --- what the server can see ----------------------------------------------------------------------------


def test_requests_tell_nothing_by_size_order_or_host(browser: Any, server: Server, tmp_path: Path) -> None:
    start(server, "sizes", users=24)
    shapes = []
    files = [
        (visits(tmp_path / "a.csv", HOME), BUTTON),
        (visits(tmp_path / "b.csv", WORK, (40.7484, -73.9857), every_days=2), BUTTON),
        (visits(tmp_path / "c.csv", ELSEWHERE), BUTTON),
    ]
    for file, button in files:
        context = browser.new_context(base_url=server.url)
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        asked: list[str] = []
        context.on("request", lambda one, to=asked: to.append(one.url))
        sent = record(page)
        page.goto("/join/sizes")
        add_visits(page, file, button)
        press(page, button)
        page.get_by_role("heading", name=DELIVERED).wait_for()
        page.get_by_role("button", name="Ask whether").wait_for()
        shapes.append([(one.method, one.path, len(one.body), sizes(one.headers)) for one in sent])
        assert all(url.startswith((server.url, "blob:")) for url in asked)
        context.close()
    assert shapes[0] == shapes[1] == shapes[2]
    assert [method for method, *_ in shapes[0]] == ["GET", "GET", "GET", "GET", "POST", "PUT", "GET"]


def sizes(headers: dict[str, str]) -> dict[str, int]:
    return {name: len(value) for name, value in headers.items()}


def test_a_policy_that_fails_the_check_is_refused_and_nothing_is_sent(look: Look, server: Server, mine: Path) -> None:
    start(server, "bad")
    announced = info_of(server, "bad")
    good = cv.Policy.from_bytes(httpx.get(f"{server.url}/v1/campaigns/bad/rounds/0/policy").content)
    weights = np.array(good.weights)
    most = int(weights[0, 0] - 1)
    weights[0, 0] -= most
    weights[0, -1] += most
    unfair = replace(good, weights=weights)
    with look("join") as screen:
        page = screen.page
        sent = record(page)
        page.goto("/join/bad")
        add_visits(page, mine)

        # Another policy than the announced one: only this device is shown it.
        page.route("**/rounds/0/policy", lambda route: route.fulfill(body=unfair.to_bytes()))
        page.reload()
        page.get_by_role("heading", name="fails the privacy check").wait_for()
        page.get_by_text("by which you could be singled out").wait_for()
        # Announced to this device alone, which the server's key did not sign.
        told = {**announced, "notice": {**announced["notice"], "policy_hash": unfair.hash}}
        page.route("**/v1/campaigns/bad", lambda route: route.fulfill(json=told))
        page.get_by_role("button", name="Try again").click()
        page.get_by_text("The server did not sign what it announces").wait_for()
        screen.shoot("refused")
        # Bytes that are damaged.
        page.unroute("**/v1/campaigns/bad")
        page.route("**/rounds/0/policy", lambda route: route.fulfill(body=good.to_bytes()[:-40]))
        page.get_by_role("button", name="Try again").click()
        page.get_by_text("the server's answer is not valid").wait_for()
        assert {one.method for one in sent} == {"GET"}
        assert not page.get_by_role("button", name=BUTTON).count()


# --- lines that drop, tabs and reloads ------------------------------------------------------------------


def test_what_was_drawn_is_sent_unchanged_after_lost_answers_reloads_and_no_network(
    look: Look, server: Server, mine: Path
) -> None:
    start(server, "offline")
    with look("join") as screen:
        page = screen.page
        sent = record(page)
        page.goto("/join/offline")
        add_visits(page, mine)
        screen.wait_until_kept()
        # The seat is there, the report never arrives.
        page.route("**/report", lambda route: route.abort())
        press(page)
        page.get_by_role("heading", name="Your answer is saved, but not yet delivered").wait_for()
        screen.shoot("offline-kept")
        page.unroute("**/report")
        page.context.set_offline(True)
        page.reload()
        page.get_by_role("heading", name="Your answer is saved, but not yet delivered").wait_for()
        page.get_by_role("link", name="This device").first.click()
        page.get_by_text("Exact figures").click()
        page.get_by_text("is permanently used").wait_for()
        page.get_by_role("link", name="Take part").click()
        # A reload in the middle of sending.
        page.route("**/report", lambda _: None)  # before the network is back: the page sends as soon as it is
        page.context.set_offline(False)
        page.reload()
        page.get_by_role("heading", name="Sending").wait_for()
        screen.shoot("sending")
        page.unroute("**/report")
        page.reload()
        page.get_by_role("heading", name=DELIVERED).wait_for()
        reports = [one for one in sent if one.method == "PUT"]
        # Lost, interrupted and delivered; how often the page tries again depends on the machine.
        assert len(reports) >= 3
        assert len({one.body for one in reports}) == 1
        assert len({one.headers["authorization"] for one in reports}) == 1
        assert sum(one.method == "POST" for one in sent) == 1


KEPT_KINDS = """async () => {
    const cache = await caches.open("crowdveil-pages");
    const kind = async (one) => (await cache.match(one)).headers.get("content-type");
    const named = async (one) => [one.url.split("/").at(-1).split("-")[0], await kind(one)];
    return Object.fromEntries(await Promise.all((await cache.keys()).map(named)));
}"""


def test_the_page_starts_without_a_network_and_shows_what_was_announced(look: Look, server: Server, mine: Path) -> None:
    start(server, "again")
    with look("join") as screen:
        page = screen.page
        page.goto("/join/again")
        screen.wait_until_kept()
        kept = page.evaluate(KEPT_KINDS)
        assert {"CellMap", "worker", "hexagons", "towers"} <= kept.keys(), "what no one has asked for yet, too"
        assert not {"console", "Campaign", "Wizard"} & kept.keys(), "the console's parts are the operator's"
        page.context.new_cdp_session(page).send("Network.clearBrowserCache")
        page.context.set_offline(True)
        page.reload()
        page.get_by_text("You see what the campaign announced").wait_for()
        add_visits(page, mine)
        press(page)
        page.get_by_text("You have no seat yet and no answer was made").wait_for()
        screen.shoot("offline-no-seat")
        page.goto("/join/never-seen")
        page.get_by_role("heading", name="No network, or the server does not answer").wait_for()
        screen.shoot("offline-unknown")
        page.goto("/join/_")
        page.get_by_role("link", name="Coffee on Broadway").wait_for()
        screen.shoot("home")
        page.context.set_offline(False)


@pytest.mark.long
def test_the_kept_page_outlives_what_others_answer_in_its_place(browser: Any, server: Server) -> None:
    start(server, "proxied")
    with Proxy(server.url) as proxy, browser.new_page(base_url=proxy.url) as page:
        page.set_default_timeout(PATIENCE_MS)
        ours = page.get_by_role("heading", name="Coffee on Broadway")
        proxy.answer("towers", 200)
        with page.expect_response(re.compile("towers")):
            page.goto("/join/proxied")
        proxy.pass_on()
        page.reload()
        Screen(page, "join").wait_until_kept()
        assert page.evaluate(KEPT_KINDS)["towers"].startswith("text/javascript")
        proxy.answer("/join/", 502)
        page.reload()
        ours.wait_for()
        proxy.answer("/join/", 200)
        page.reload()
        page.get_by_role("heading", name=WELCOME).wait_for()
        proxy.free.clear()
        page.reload()
        page.get_by_text("Fetching and checking the campaign").wait_for()
        proxy.pass_on()
        ours.wait_for()


def test_two_tabs_draw_once(look: Look, server: Server, mine: Path) -> None:
    start(server, "tabs")
    with look("join") as screen:
        one = screen.page
        one.goto("/join/tabs")
        add_visits(one, mine)
        two = one.context.new_page()
        two.goto("/join/tabs")
        two.get_by_role("button", name=BUTTON).wait_for()
        sent = record(one)
        sent_too = record(two)
        for page in (one, two):
            page.get_by_role("button", name=BUTTON).click(no_wait_after=True)
        for page in (one, two):
            page.get_by_role("heading", name=DELIVERED).wait_for()
        reports = [one_.body for one_ in sent + sent_too if one_.method == "PUT"]
        assert len(reports) == 1
        events = one.evaluate(
            """new Promise((resolve) => {
                const request = indexedDB.open("crowdveil");
                request.onsuccess = () => {
                    const all = request.result.transaction("event").objectStore("event").getAll();
                    all.onsuccess = () => (request.result.close(), resolve(all.result.map(({ row }) => row[4])));
                };
            })"""
        )
        assert events == ["created", "secret", "seat", "drawn", "acknowledged"]


# --- every other state ----------------------------------------------------------------------------------


@pytest.mark.long
def test_whatever_is_in_the_way_is_said_in_words(look: Look, server: Server, mine: Path, tmp_path: Path) -> None:
    start(server, "greedy", epsilon_per_km=2.0, beyond_default_limits=True)
    start(server, "planned", opened=False)
    start(server, "full", users=2, rounds=2, wanted=1)
    start(server, "invited", enrolment="invite")
    with look("join") as screen:
        page = screen.page
        page.goto("/join/_")
        page.get_by_role("heading", name="No campaign here").wait_for()
        screen.shoot("no-campaign")
        page.goto("/join/none-such")
        page.get_by_role("heading", name="Campaign not found").wait_for()
        screen.shoot("not-found")
        page.goto("/join/planned")
        page.get_by_role("heading", name="Campaign not found").wait_for()

        page.goto("/join/greedy")
        page.get_by_role("heading", name="asks for more than you allow").wait_for()
        screen.shoot("over-limits")
        page.get_by_role("link", name="See your limits").click()
        begin(page)
        page.get_by_label("One answer: at most").fill("8")
        page.get_by_text("Looser than the default").wait_for()
        page.get_by_label("One answer: at most").fill("0.5")
        page.get_by_text("Should be a number above 1").wait_for()
        page.get_by_label("One answer: at most").fill("8")
        page.get_by_text("More limits").click()
        screen.shoot("limits")
        page.get_by_role("button", name="Save limits").click()
        page.get_by_text("Saved.").wait_for()
        page.get_by_role("link", name="Take part").click()
        page.get_by_role("heading", name="Your visits").wait_for()

        broken, empty = tmp_path / "broken.json", tmp_path / "empty.csv"
        broken.write_text('{"locations": [{"latitudeE7": 407000000, "longi')
        empty.write_text("time,latitude,longitude\n")
        page.set_input_files("#files", broken)
        page.get_by_text("This file cannot be read").wait_for()
        screen.shoot("broken-file")
        page.set_input_files("#files", empty)
        page.get_by_text("There are no visits in this file").wait_for()
        screen.shoot("empty-file")
        add_visits(page, mine)
        page.set_input_files("#files", mine)
        page.get_by_text("You have added this file already").wait_for()
        with Crowd(server.url, "full") as crowd:
            seats = [crowd._seat("one" * 8)]
            page.goto("/join/full")
            page.get_by_role("button", name="Pick my place").click()
            page.get_by_role("button", name=BUTTON).wait_for()
            seats.append(crowd._seat("two" * 8))
        press(page)
        page.get_by_text("No seat is free").wait_for()
        screen.shoot("no-seat")

        page.goto("/join/invited")
        page.get_by_role("button", name="Pick my place").click()
        page.get_by_label("Invite").fill("not-an-invite")
        press(page)
        page.get_by_text("The server does not know this invite").wait_for()
        screen.shoot("bad-invite")
        made = operate(server, "invited/invites", json.dumps({"protocol": PROTOCOL, "count": 1}).encode(), "POST")
        page.goto("/join/_")
        page.goto(f"/join/invited#invite={made['invites'][0]}")
        page.get_by_role("button", name=BUTTON).wait_for()
        press(page)
        page.get_by_role("heading", name=DELIVERED).wait_for()


@pytest.mark.long
def test_pauses_late_reports_and_the_lifetime_limit(look: Look, server: Server, mine: Path) -> None:
    start(server, "pause", users=12)
    start(server, "late", users=12)
    start(server, "one-more")
    with look("join") as screen:
        page = screen.page
        page.goto("/join/pause")
        add_visits(page, mine)
        change(server, "pause", "paused")
        page.get_by_role("button", name=BUTTON).click()
        page.get_by_text("The campaign was paused").wait_for()
        screen.shoot("paused-no-seat")
        page.reload()
        page.get_by_role("heading", name="The campaign is paused").wait_for()
        screen.shoot("paused")
        change(server, "pause", "open")
        page.get_by_role("button", name="Try again").click()
        page.get_by_role("button", name=BUTTON).wait_for()

        # Paused between draw and report.
        page.route("**/report", after(lambda: change(server, "pause", "paused")))
        press(page)
        page.get_by_text("It takes no answers at the moment").wait_for()
        screen.shoot("paused-kept")
        page.unroute("**/report")
        change(server, "pause", "open")
        page.get_by_role("button", name="Send the same answer again").click()
        page.get_by_role("heading", name=DELIVERED).wait_for()

        page.goto("/join/late")
        page.get_by_role("button", name="Pick my place").click()
        page.get_by_role("button", name=BUTTON).wait_for()
        page.route("**/report", after(lambda: change(server, "late", "closed")))
        press(page)
        page.get_by_role("heading", name="Your answer was not counted").wait_for()
        screen.shoot("not-counted")
        page.unroute("**/report")

        # Limits that change while the campaign is being checked apply to it, too.
        held: list[Any] = []
        saved = False

        def until_saved(route: Any) -> None:
            if saved:
                route.continue_()
            else:
                held.append(route)

        page.route("**/policy", until_saved)
        page.goto("/join/one-more#device")
        page.get_by_label("All answers from this device").fill("8")
        until(lambda: page.wait_for_timeout(50) or bool(held))
        page.get_by_role("button", name="Save limits").click()
        page.get_by_text("Saved.").wait_for()
        saved = True
        for route in held:
            route.continue_()
        page.get_by_role("link", name="Take part").click()
        page.get_by_role("heading", name="You have reached your limit for all campaigns").wait_for()
        screen.shoot("lifetime-reached")


def after(first: Callable[[], None]) -> Callable[[Any], None]:
    """Lets a request through once something else was done."""

    def handle(route: Any) -> None:
        first()
        route.continue_()

    return handle


def test_a_round_that_moves_on_is_shown_before_anything_is_drawn(look: Look, server: Server, mine: Path) -> None:
    start(server, "moves", users=4, rounds=2, wanted=1)
    with look("join") as screen, Crowd(server.url, "moves") as crowd:
        page = screen.page
        sent = record(page)
        page.goto("/join/moves")
        add_visits(page, mine)
        crowd.join(2)
        until(lambda: round_of(server, "moves") == 1)
        press(page)
        page.get_by_text("The next round began while you were reading").wait_for()
        assert not [one for one in sent if one.method == "PUT"]
        screen.shoot("round-moved-on")
        page.get_by_role("button", name=BUTTON).click()
        page.get_by_role("heading", name=DELIVERED).wait_for()


@pytest.mark.long
def test_loading_importing_and_blocked_storage_are_drawn_too(look: Look, server: Server, tmp_path: Path) -> None:
    start(server, "slow")
    with look("join") as screen:
        page = screen.page
        page.route("**/v1/campaigns/slow", lambda _: None)
        page.goto("/join/slow")
        page.get_by_text("Fetching and checking the campaign").wait_for()
        screen.shoot("loading")
        page.unroute("**/v1/campaigns/slow")
        page.reload()
        page.get_by_role("heading", name="Your visits").wait_for()
        begin(page)
        large = tmp_path / "Records.json"
        write_timeline(large, megabytes=60)
        page.evaluate(
            """() => {
                window.longest = 0;
                let last = performance.now();
                const tick = () => {
                    const now = performance.now();
                    window.longest = Math.max(window.longest, now - last);
                    last = now;
                    setTimeout(tick, 10);
                };
                tick();
            }"""
        )
        page.set_input_files("#files", large)
        page.get_by_text(re.compile(r"Reading Records\.json … \d+ %")).wait_for()
        screen.shoot("importing")
        page.evaluate("window.longest = 0")  # looking for violations takes the page's own time
        page.get_by_role("button", name="Remove Records.json").wait_for(timeout=2 * PATIENCE_MS)
        page.get_by_text("You regularly visit 2 places").wait_for()
        assert page.evaluate("window.longest") < FROZEN_MS, "the page froze while it read"

    with look("join") as screen:
        page = screen.page
        page.route("**/assets/worker-*.js", lambda route: _altered(route, NO_STORAGE))
        page.goto("/join/slow")
        page.get_by_role("heading", name="This browser does not let this page save data").wait_for()
        screen.shoot("storage-blocked")


def test_a_full_disk_keeps_nothing_and_says_so(look: Look, server: Server, mine: Path) -> None:
    start(server, "room")
    with look("join") as screen:
        page = screen.page
        page.route("**/assets/worker-*.js", lambda route: _altered(route, NO_ROOM))
        page.goto("/join/room")
        page.set_input_files("#files", mine)
        page.get_by_text("There is no space for it").wait_for()
        screen.shoot("storage-full")
        assert not page.get_by_role("button", name="Remove").count()


NO_STORAGE = "self.indexedDB.open = () => { throw new DOMException('access is denied', 'SecurityError'); };"
NO_ROOM = "IDBObjectStore.prototype.add = () => { throw new DOMException('no space', 'QuotaExceededError'); };"


def _altered(route: Any, first: str) -> None:
    """The worker's script, after something that takes a part of the browser away from it."""
    answer = route.fetch()
    route.fulfill(response=answer, body=f"{first}\n{answer.text()}")


def write_timeline(path: Path, megabytes: int) -> None:
    """A Records.json of two places, of about so many megabytes."""
    now = datetime.now(UTC)

    def records() -> Iterator[str]:
        size, number = 0, 0
        while size < megabytes * 1_000_000:
            number += 1
            latitude, longitude = (HOME, WORK)[number % 2]
            time_ = (now - timedelta(days=1, minutes=number % 200_000, seconds=number // 200_000)).isoformat()
            text = json.dumps(
                {
                    "latitudeE7": round(latitude * 1e7) + number % 1000,
                    "longitudeE7": round(longitude * 1e7),
                    "accuracy": 20,
                    "source": "WIFI",
                    "deviceTag": 123456789,
                    "timestamp": time_,
                }
            )
            size += len(text) + 2
            yield text

    with path.open("w") as file:
        file.write('{"locations": [')
        for index, text in enumerate(records()):
            file.write((", " if index else "") + text)
        file.write("]}")


def test_recording_keeps_visits_while_the_page_is_open(look: Look, server: Server) -> None:
    start(server, "record")
    place = {"latitude": HOME[0], "longitude": HOME[1], "accuracy": 20}
    with look("join", geolocation=place, permissions=["geolocation"]) as screen:
        page = screen.page
        page.goto("/join/record")
        page.get_by_role("button", name="Record while this page is open").click()
        page.get_by_text("Recorded by this page").wait_for()
        page.get_by_text("1 visit,").wait_for()
        begin(page)
        page.get_by_role("button", name="Pick my place").wait_for()
        screen.shoot("recording")
        page.get_by_role("button", name="Stop recording").click()


def test_the_keyboard_is_enough_and_all_is_well_in_the_dark(look: Look, server: Server, mine: Path) -> None:
    start(server, "dark")
    with look("join-dark", color_scheme="dark", reduced_motion="reduce") as screen:
        page = screen.page
        page.goto("/join/dark")
        add_visits(page, mine)
        screen.shoot("certified")
        page.get_by_role("button", name=BUTTON).focus()
        page.keyboard.press("Enter")
        page.get_by_role("heading", name=DELIVERED).wait_for()
        page.wait_for_function("told => document.activeElement.textContent === told", arg=DELIVERED)
        screen.shoot("waiting")
        page.get_by_role("link", name="This device").first.focus()
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="Your limits").wait_for()
        screen.shoot("device")


HOLD_FRAMES = """
    const held = new Map();
    let last = 0;
    window.requestAnimationFrame = (draw) => (held.set(++last, draw), last);
    window.cancelAnimationFrame = (frame) => held.delete(frame);
    window.drawHeldFrames = () => {
        const due = [...held.values()];
        held.clear();
        due.forEach((draw) => draw(performance.now()));
        return due.length;
    };
"""


def test_a_map_that_is_left_before_it_was_drawn_fails_no_script(look: Look, server: Server, mine: Path) -> None:
    start(server, "left")
    with look("join") as screen:
        page = screen.page
        page.add_init_script(HOLD_FRAMES)
        page.goto("/join/left")
        add_visits(page, mine)
        page.get_by_role("link", name="This device").first.click()
        page.get_by_role("heading", name="Your limits").wait_for()
        assert page.locator(".map").count() == 0
        assert page.evaluate("drawHeldFrames()") > 0, "a frame was still to come"


LEAVE_WHILE_ZOOMING = """async () => {
    document.querySelector(".leaflet-control-zoom-in").click();
    while (!document.querySelector(".leaflet-zoom-anim")) await new Promise(requestAnimationFrame);
    [...document.querySelectorAll("a")].find((link) => link.textContent.includes("This device")).click();
    await new Promise((resolve) => setTimeout(resolve, 500));
}"""


def test_a_map_that_is_left_while_it_zooms_fails_no_script(look: Look, server: Server, mine: Path) -> None:
    start(server, "zoomed")
    with look("join") as screen:
        page = screen.page
        page.goto("/join/zoomed")
        add_visits(page, mine)
        page.evaluate(LEAVE_WHILE_ZOOMING)
        assert page.locator(".map").count() == 0


def test_little_is_loaded_before_a_participant_can_begin(look: Look, server: Server) -> None:
    start(server, "small")
    with look("join") as screen:
        page, loaded = screen.page, {}
        page.on("response", lambda one: loaded.update({one.url: int(one.headers.get("content-length", 0))}))
        page.goto("/join/small")
        page.get_by_role("heading", name="Your visits").wait_for()
        parts = {url: size for url, size in loaded.items() if "/v1/" not in url}
        assert len(parts) > 3
        assert sum(parts.values()) < MAX_LOADED, parts
        found = page.evaluate("fetch('/pages/manifest.webmanifest').then((one) => one.json())")
        assert found["scope"] == "/join/"


# --- what is seen is what is sent -----------------------------------------------------------------------


def test_a_place_that_is_never_reported_is_replaced_by_another(look: Look, server: Server, mine: Path) -> None:
    start(server, "home")
    with look("join") as screen:
        page = screen.page
        page.goto("/join/home")
        add_visits(page, mine)
        page.get_by_role("button", name="Never report this place").click()
        page.get_by_text("to places that you never report are left out").wait_for()
        page.get_by_role("button", name="Never report this place").click()
        page.get_by_text("You excluded all your places in this area", exact=True).wait_for()
        page.get_by_text("You excluded all your places in this area. Your phone answers as if").wait_for()
        page.get_by_text("About whether you visit your place regularly").wait_for(state="detached")
        page.get_by_role("link", name="This device").first.click()
        page.get_by_role("heading", name="Places that are never reported").wait_for()
        assert page.get_by_role("button", name="Report again …").count() == 2
        screen.shoot("never-reported")


def test_whoever_leaves_is_forgotten_by_the_server_and_told_what_stays(look: Look, server: Server, mine: Path) -> None:
    start(server, "leave")
    with look("join") as screen:
        page = screen.page
        page.goto("/join/leave")
        add_visits(page, mine)
        press(page)
        page.get_by_role("heading", name=DELIVERED).wait_for()
        page.get_by_text("You sent:").wait_for()
        page.get_by_role("button", name="Leave this campaign …").click()
        page.get_by_role("dialog").get_by_role("button", name="Leave").click()
        page.get_by_role("heading", name="You left this campaign").wait_for()
        screen.shoot("left")
        page.reload()
        page.get_by_role("heading", name="You left this campaign").wait_for()


def test_whoever_does_not_know_what_was_spent_does_not_answer(look: Look, server: Server) -> None:
    start(server, "unknown")
    with look("join") as screen:
        page = screen.page
        page.goto("/join/unknown")
        begin(page, "I do not know")
        page.get_by_role("heading", name="You have reached your limit for all campaigns").wait_for()
        screen.shoot("lifetime-unknown")


def test_files_numbers_invites_and_strangers_are_each_told_what_is_wrong(
    look: Look, server: Server, mine: Path, tmp_path: Path
) -> None:
    start(server, "typed", enrolment="invite")
    made = operate(server, "typed/invites", json.dumps({"protocol": PROTOCOL, "count": 1}).encode(), "POST")
    broken, empty = tmp_path / "broken.json", tmp_path / "empty.csv"
    broken.write_text('{"locations": [{"latitudeE7": 407000000, "longi')
    empty.write_text("time,latitude,longitude\n")
    with look("join") as screen:
        page = screen.page
        page.goto("/join/typed")
        page.get_by_label("Yes, a few times").check()
        for wrong in ("-5", "0", "0.5", ""):
            page.get_by_label("How many campaigns").fill(wrong)
            page.get_by_text("Should be a whole number of at least 1").wait_for()
            assert page.get_by_role("button", name="Continue").is_disabled()
        screen.shoot("no-number")
        page.get_by_label("How many campaigns").fill("2")
        page.get_by_role("button", name="Continue").click()
        page.set_input_files("#files", [broken, mine, empty])
        page.get_by_role("button", name="Remove visits.csv").wait_for()
        page.get_by_text("This file cannot be read").wait_for()
        page.get_by_text("There are no visits in this file").wait_for()

        page.get_by_role("button", name="Pick my place").click()
        button = page.get_by_role("button", name=BUTTON)
        page.get_by_text("All answers and their chances").click()
        page.get_by_text("counts towards being selected").wait_for()
        invite = page.get_by_label("Invite")
        page.evaluate("location.hash = '#invite=from-the-link'")
        page.wait_for_function("document.querySelector('input[type=text]').value === 'from-the-link'")
        invite.fill(f"{server.url}/join/typed#invite={made['invites'][0]}")

        page.route("**/seats", lambda route: route.fulfill(body="<!doctype html>", content_type="text/html"))
        button.click()
        page.get_by_text("Something other than the campaign answered").wait_for()
        screen.shoot("something-else-answered")
        page.unroute("**/seats")
        button.click()
        page.get_by_role("heading", name=DELIVERED).wait_for()
        page.get_by_role("link", name="This device").first.click()
        page.get_by_text("as you stated when you first took part here").wait_for()
        page.get_by_text("Exact figures").click()
        page.get_by_text("Before this record began: ε = 2.77259 per km").wait_for()
        screen.shoot("spent-before")


def test_a_disk_that_is_full_from_the_start_is_called_one_everywhere(look: Look, server: Server, mine: Path) -> None:
    start(server, "cramped")
    with look("join") as screen:
        page = screen.page
        page.route("**/assets/worker-*.js", lambda route: _altered(route, NO_ROOM_TO_CHANGE))
        page.goto("/join/cramped")
        page.set_input_files("#files", mine)
        page.get_by_role("button", name="Remove visits.csv").click()
        page.get_by_text("It could not be removed").wait_for()
        page.get_by_label("No, this is the first time").check()
        page.get_by_role("button", name="Continue").click()
        page.get_by_text("There is no space to save your record").wait_for()
        screen.shoot("no-room-for-a-record")


NO_ROOM_TO_CHANGE = """
    IDBObjectStore.prototype.put = IDBObjectStore.prototype.delete = () => {
        throw new DOMException('no space', 'QuotaExceededError');
    };
"""


def test_recording_goes_on_while_other_parts_are_shown_and_counts_a_place_once(look: Look, server: Server) -> None:
    start(server, "stay")
    place = {"latitude": HOME[0], "longitude": HOME[1], "accuracy": 20}
    with look("join", geolocation=place, permissions=["geolocation"]) as screen:
        page = screen.page
        page.goto("/join/stay")
        page.get_by_role("button", name="Record while this page is open").click()
        page.get_by_text("1 visit,").wait_for()
        page.get_by_role("link", name="This device").first.click()
        page.get_by_text("This page records your position").wait_for()
        screen.shoot("device-recording")
        page.get_by_role("link", name="Take part").click()
        page.get_by_role("button", name="Stop recording").click()
        page.evaluate("navigator.geolocation.watchPosition(() => (window.found = true))")
        page.get_by_role("button", name="Record while this page is open").click()
        page.wait_for_function("window.found")
        page.get_by_role("button", name="Stop recording").click()
        page.get_by_text("1 visit,").wait_for()
