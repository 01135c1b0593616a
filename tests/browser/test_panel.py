"""A panel in both pages: planned and asked in the console; a participant answers, sees what for, and renews."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pytest

from crowdveil.campaign.audit import check_record
from crowdveil.wire import AuditRecord
from tests.browser.conftest import PHONE, Screen, Server
from tests.browser.console_crowd import Crowd
from tests.browser.journeys import (
    BUTTON,
    DELIVERED,
    HOME,
    WORK,
    Look,
    add_visits,
    operate,
    press,
    round_of,
    start,
    until,
    visits,
)
from tests.browser.test_console import PLACES, sign_in

pytestmark = pytest.mark.xdist_group("console")  # one browser, one server
NAME = "city-panel"
ONCE = "You answer once. Being chosen later tells nobody more."


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    return visits(tmp_path / "visits.csv", HOME, WORK)


def plan_a_panel(screen: Screen) -> None:
    """Through the wizard: six people answer twice, 30 days apart."""
    page = screen.page
    page.evaluate("location.hash = '#/new'")
    page.get_by_label("North").fill("40.76")
    page.get_by_label("East").fill("-73.96")
    page.get_by_text("70 cells").wait_for()
    page.get_by_role("button", name="Next: Targets").click()
    page.get_by_label("Ask once, select often").check()
    page.get_by_text("All cells can be asked for.").wait_for()
    screen.shoot("panel-wizard-places")
    page.get_by_role("button", name="Next: Privacy and people").click()
    page.get_by_label("Participants (N)").fill("6")
    assert not page.get_by_label("Renewed every (days)").count()
    page.get_by_label("Answers asked for").fill("2")
    page.get_by_label("Renewed every (days)").fill("5")
    assert not page.get_by_label("Selected (α), in percent").count(), "each selection says how many"
    screen.shoot("panel-wizard-people")
    page.get_by_role("button", name="Next: Offer and rules").click()
    page.get_by_label("Name").fill("City panel")
    page.get_by_label("Offer", exact=True).fill("A coffee each time you are chosen.")
    page.get_by_text("Should be at most 120 hours").wait_for()
    page.get_by_label("A round closes at the latest").fill("100")
    page.get_by_label("Anyone with the link").check()
    page.get_by_role("button", name="Next: Review").click()
    page.get_by_text("6 answer 2 times, every 5 days; you select from the answers as often as you like").wait_for()
    page.get_by_text("all cells", exact=True).wait_for()
    screen.shoot("panel-wizard-review")
    page.get_by_role("button", name="Save as draft").click()
    page.get_by_role("heading", name="City panel").wait_for()


def choose_places(page: Any) -> None:
    page.get_by_label("Latitudes and longitudes").fill(PLACES)
    page.get_by_role("button", name="Add these places").click()
    page.get_by_role("heading", name="2 places").wait_for()


def select(page: Any, people: str, number: int) -> None:
    page.get_by_role("button", name=f"Select {people}").click()
    page.get_by_role("dialog").get_by_role("button", name="Select").click()
    page.get_by_text(f"Selection {number} is made").wait_for()
    page.get_by_role("button", name=f"Download selection {number} as CSV").wait_for()


def test_a_panel_is_planned_answered_and_asked_and_the_participant_sees_it(
    look: Look, server: Server, mine: Path, tmp_path: Path
) -> None:
    with look("console") as console, look("join") as join, Crowd(server.url, NAME) as crowd:
        page, person = console.page, join.page
        sign_in(page, server)
        plan_a_panel(console)
        choose_places(page)
        page.get_by_role("cell", name="1 (cell").wait_for()
        page.get_by_text("No round is closed yet").wait_for()
        assert not page.get_by_role("button", name="Select").count(), "nobody can be selected from a draft"
        console.shoot("panel-draft")
        page.get_by_role("button", name="Start", exact=True).click()
        page.get_by_role("dialog").get_by_role("button", name="Start").click()
        page.get_by_role("heading", name="Round 1").wait_for()

        person.set_viewport_size(PHONE)
        person.goto(f"/join/{NAME}")
        person.get_by_text("Panel 'City panel' asks for one answer").wait_for()
        person.get_by_text("You will be asked once more, every 5 days").wait_for()
        add_visits(person, mine)
        person.get_by_text(ONCE).wait_for()
        join.shoot("panel-certified")
        press(person)
        person.get_by_role("heading", name=DELIVERED).wait_for()
        person.get_by_text("Your answer was not used for a selection yet.").wait_for()
        join.shoot("panel-waiting")
        assert crowd.join(5) == 5

        page.get_by_text("From the answers that are in").wait_for()
        page.get_by_label("People", exact=True).fill("6")
        select(page, "6 people", 1)
        page.get_by_label("A number for each place").check()
        page.get_by_label(re.compile("^People at cell")).first.fill("2")
        page.get_by_label(re.compile("^People at cell")).last.fill("1")
        page.get_by_text("How often one person may be chosen").click()
        page.get_by_label("At most so many times").fill("2")
        page.get_by_label("Within so many days").fill("7")
        page.get_by_role("columnheader", name="Wanted").wait_for()
        console.shoot("panel-asked")
        select(page, "3 people", 2)
        console.shoot("panel-selections")

        person.get_by_role("button", name="Ask whether").click()
        person.get_by_role("heading", name="You are selected").wait_for()
        person.get_by_text("Your answer was used 2 times; you were chosen by selection").wait_for()
        person.get_by_text("2 selections, one by one").click()
        person.get_by_text("Selection 1: you were chosen").wait_for()
        join.shoot("panel-chosen")
        person.get_by_role("link", name="This device").first.click()
        person.get_by_text("You have answered 1 campaign").wait_for()

        with page.expect_download() as csv_file:
            page.get_by_role("button", name="Download selection 2 as CSV").click()
        csv_file.value.save_as(tmp_path / "selection.csv")
        rows = list(csv.DictReader((tmp_path / "selection.csv").read_text().splitlines()))
        assert [row["place"] for row in rows] == ["1", "1", "2"]
        with page.expect_download() as record_file:
            page.get_by_role("button", name="Download the audit record").click()
        record_file.value.save_as(tmp_path / "record.json")
        record = AuditRecord.from_bytes((tmp_path / "record.json").read_bytes())
        assert [int(row["participant"]) for row in rows] == list(record.selections[1].participants)
        assert check_record(record).reproduced

        page.get_by_role("button", name="Close").click()
        page.get_by_role("dialog").get_by_role("button", name="Close for good").click()
        page.get_by_text("No more answers are taken. You can still ask for places").wait_for()
        page.get_by_role("heading", name="Ask for places").wait_for()
        page.get_by_role("button", name="Download selection 1 as CSV").wait_for()


def test_a_panel_with_a_list_of_places_asks_for_others_only_if_told_to(look: Look, server: Server) -> None:
    start(server, "listed", panel=True, wanted=None, rounds=1, users=4)
    with Crowd(server.url, "listed") as crowd:
        assert crowd.join(4) == 4
    with look("console") as screen:
        page = screen.page
        sign_in(page, server)
        page.goto("/console#/campaigns/listed")
        page.get_by_label("Cell number").fill("3")
        page.get_by_role("button", name="Add", exact=True).click()
        page.get_by_text("1 place is not among the panel’s places").wait_for()
        assert page.get_by_role("button", name="Select …").is_disabled()
        page.get_by_label("Ask for them all the same").check()
        page.get_by_label("People", exact=True).fill("1")
        page.get_by_role("cell", name="1 (cell 3)").wait_for()
        screen.shoot("panel-other-cells")
        select(page, "1 person", 1)


def test_a_participant_renews_an_answer_only_with_a_yes_and_pays_again(look: Look, server: Server, mine: Path) -> None:
    schedule: dict[str, Any] = {"rounds": 2, "renewal_s": 2, "deadline_s": None}
    start(server, "renewed", panel=True, wanted=None, users=4, targets=tuple(range(10)), **schedule)
    with look("join") as screen, Crowd(server.url, "renewed") as crowd:
        page = screen.page
        page.goto("/join/renewed")
        add_visits(page, mine)
        press(page)
        page.get_by_role("heading", name=DELIVERED).wait_for()
        assert not page.get_by_role("button", name="Look at the renewal").count()
        crowd.join(3)
        until(lambda: round_of(server, "renewed") != 0)  # it is closed a moment after the last answer
        request = b'{"numbers":null,"protocol":1,"targets":[3],"wanted":1}'
        operate(server, "renewed/selections/0", request)
        until(lambda: round_of(server, "renewed") == 1)
        page.get_by_role("button", name="Ask whether").click()
        page.get_by_role("heading", name="The panel asks again").or_(
            page.get_by_text("The panel asks again")
        ).wait_for()
        screen.shoot("panel-renewal")
        page.wait_for_timeout(2000)  # a device renews no sooner than two seconds after its answer
        page.get_by_role("button", name="Look at the renewal").click()
        page.get_by_text("You answered this panel before").wait_for()
        page.get_by_role("button", name="Do not renew").click()
        page.get_by_text("Your answer was used once").wait_for()

        page.get_by_role("button", name="Look at the renewal").click()
        page.get_by_role("button", name="Pick my place").click()
        page.get_by_role("button", name=BUTTON).wait_for()
        screen.shoot("panel-renewing")
        press(page)
        page.get_by_role("heading", name=DELIVERED).wait_for()
        page.get_by_text("Your answer in round 2 was not used for a selection yet.").wait_for()
        assert not page.get_by_role("button", name="Look at the renewal").count()
        page.get_by_role("link", name="This device").first.click()
        page.get_by_text("You have answered 2 campaigns").wait_for()
        screen.shoot("panel-device")
