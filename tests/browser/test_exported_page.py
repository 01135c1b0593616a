"""The participant's page from elsewhere: one record of answers for all servers, in a real browser."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from math import log
from pathlib import Path
from typing import Any

import pytest

from crowdveil.client import InviteLink, Ledger
from crowdveil.server.page_export import export_page
from crowdveil.wire import PROTOCOL
from tests.browser.conftest import PATIENCE_MS, ROOT, Server
from tests.browser.console_server import pages_folder
from tests.browser.journeys import DELIVERED, HOME, WORK, add_visits, info_of, operate, press, start, visits

pytestmark = pytest.mark.xdist_group("exported")  # one browser, two servers


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The exported page on a site of its own, in a folder below its root."""
    folder = tmp_path_factory.mktemp("site")
    export_page(built=pages_folder()).write(folder / "guard")
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=folder)) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{serving.server_port}/guard/"
        serving.shutdown()


@pytest.fixture(scope="module")
def other_server(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = Server(tmp_path_factory.mktemp("other"))
    running.start()
    yield running
    running.stop()


def link_to(server: Server, campaign: str, site: str) -> str:
    """The link that an operator gives to one person, for a page from elsewhere."""
    request = json.dumps({"protocol": PROTOCOL, "count": 1}).encode()
    made = operate(server, f"{campaign}/invites", request, "POST")
    (invite,) = made["invites"]
    link = InviteLink(server.url, campaign, invite, made["server_key"], made["terms_hash"], made["policy_hash"])
    return link.format(site)


def test_one_record_is_charged_by_two_servers_and_the_third_campaign_is_refused_by_the_totals(
    browser: Any, server: Server, other_server: Server, site: str, tmp_path: Path
) -> None:
    # The same id on both servers; with 2 ln 4 spent on two servers, ln 4 is left, which the third one exceeds.
    loss: dict[str, Any] = {"epsilon_per_km": 1.3, "null_epsilon": log(64), "grade_epsilon": log(8)}
    start(server, "coffee", enrolment="invite", rounds=1, **loss)
    start(other_server, "coffee", enrolment="invite", rounds=1, **loss)
    start(other_server, "tea", enrolment="invite", rounds=1, **loss)
    start(server, "milk", enrolment="invite", rounds=1, **loss)
    context = browser.new_context(accept_downloads=True)
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    broken: list[str] = []
    asked: list[str] = []
    page.on("pageerror", lambda error: broken.append(str(error)))
    page.on("console", lambda line: broken.append(line.text) if "Content Security" in line.text else None)
    context.on("request", lambda one: asked.append(f"{one.method} {one.url}"))

    page.goto(link_to(server, "coffee", site))
    page.get_by_text("not from the campaign’s organiser").wait_for()
    add_visits(page, visits(tmp_path / "visits.csv", HOME, WORK))
    press(page)
    page.get_by_role("heading", name=DELIVERED).wait_for()

    for home, campaign in ((other_server, "coffee"), (server, "milk")):
        page.goto("about:blank")
        page.goto(link_to(home, campaign, site))
        page.get_by_role("button", name="Pick my place").click()
        press(page)
        page.get_by_role("heading", name=DELIVERED).wait_for()

    page.goto("about:blank")
    page.goto(link_to(other_server, "tea", site))
    page.get_by_role("heading", name="You have reached your limit for all campaigns").wait_for()
    seats = [one for one in asked if one.startswith("POST")]
    assert [one.rsplit("/", 2)[0] for one in seats] == [
        f"POST {server.url}/v1/campaigns",
        f"POST {other_server.url}/v1/campaigns",
        f"POST {server.url}/v1/campaigns",
    ]
    # Whoever serves the page hears nothing of servers, campaigns or invites.
    assert not [one for one in asked if one.split(" ")[1].startswith(site) and ("campaign" in one or "invite" in one)]

    page.get_by_role("link", name="This device").first.click()
    page.get_by_text("You have answered 3 campaigns").wait_for()
    page.get_by_text(other_server.url).first.wait_for()
    page.get_by_role("button", name="Move to another phone …").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save the file and stop answering here").click()
    file = tmp_path / "ledger.json"
    saved.value.save_as(file)
    page.get_by_text("This one no longer answers").first.wait_for()

    # The file is the same in every language: a device in Python goes on with it.
    moved = Ledger.import_(file, tmp_path / "moved.ledger")
    assert moved.spent().reports == 3
    keys = {info_of(one, "coffee")["terms"]["server_key"] for one in (server, other_server)}
    assert {entry.key.server_key for entry in moved.entries().values()} == keys
    assert len(keys) == 2
    assert not broken
    context.close()


def test_a_link_with_another_key_or_other_terms_is_refused_before_anything_is_sent(
    browser: Any, server: Server, site: str
) -> None:
    start(server, "cocoa", enrolment="invite", rounds=1)
    good = link_to(server, "cocoa", site)
    key, terms = (info_of(server, "cocoa")["terms"]["server_key"], InviteLink.parse(good).terms_hash)
    for honest in (key, terms):
        context = browser.new_context()
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.goto(good.replace(honest, "ab" * 32))
        page.get_by_role("heading", name="This is not the campaign you were invited to").wait_for()
        page.get_by_text("This is not the campaign that your invite link names").wait_for()
        context.close()


@pytest.mark.long
def test_two_builds_of_the_page_are_the_same_bytes(tmp_path: Path) -> None:
    """The bundler is run twice, in folders of different names; the exported pages have one hash."""
    node = shutil.which("node")
    if node is None:
        pytest.fail("there is no node; `make setup` installs it")
    hashes = []
    for name in ("one", "another"):
        out = tmp_path / name
        command = [node, "node_modules/vite/bin/vite.js", "build", "--outDir", str(out), "--logLevel", "error"]
        subprocess.run(command, cwd=ROOT / "web", check=True, env={**os.environ, "NODE_ENV": "production"}, timeout=300)
        page = export_page(built=out)
        hashes.append(page.hash)
        manifest = page.write(tmp_path / f"{name}-page")
        assert hashlib.sha256(manifest.read_bytes()).hexdigest() == page.hash
    assert hashes[0] == hashes[1]
