"""A participant's way through the page in WebKit, the engine of every browser on iPhones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.common.exceptions import TimeoutException
from selenium.webdriver.common.by import By
from selenium.webdriver.support import expected_conditions as condition
from selenium.webdriver.support.ui import WebDriverWait

from tests.browser.conftest import Server
from tests.browser.console_server import pages_folder
from tests.browser.journeys import BUTTON, DELIVERED, HOME, WORK, operate, round_of, start, visits
from tests.browser.webkit import webkit

WAIT_S = 60.0
"""How long a busy machine may take to show what is waited for."""


@pytest.fixture
def webkit_server(tmp_path: Path) -> Iterator[Server]:
    if not (pages_folder() / "join.html").exists():
        pytest.fail("the pages are not built; `make web` builds them")
    running = Server(tmp_path)
    running.start()
    yield running
    running.stop()


def see(driver: Any, text: str) -> Any:
    """Wait until an element with this text is shown, and return it."""
    found = (By.XPATH, f"//body//*[text()[contains(normalize-space(.), {text!r})]]")
    try:
        return WebDriverWait(driver, WAIT_S).until(condition.visibility_of_element_located(found))
    except TimeoutException:
        shown = driver.find_element(By.TAG_NAME, "body").text
        pytest.fail(f"WebKit did not show {text!r} within {WAIT_S:g} s, but:\n{shown}")


def test_a_participant_joins_in_webkit(webkit_server: Server, tmp_path: Path) -> None:
    start(webkit_server, "coffee")
    mine = visits(tmp_path / "visits.csv", HOME, WORK)
    with webkit(tmp_path) as driver:
        driver.get(f"{webkit_server.url}/join/coffee")
        see(driver, "Coffee on Broadway")
        see(driver, "No, this is the first time").click()
        see(driver, "Continue").click()
        see(driver, "Your visits")
        driver.find_element(By.ID, "files").send_keys(str(mine))
        see(driver, "Pick my place").click()
        see(driver, BUTTON)
        assert driver.find_element(By.CSS_SELECTOR, ".map canvas").is_displayed()
        see(driver, BUTTON).click()
        see(driver, DELIVERED)
    assert round_of(webkit_server, "coffee") == 0
    assert operate(webkit_server, "coffee", b"", "GET")["rounds"][0]["accepted"] == 1
