"""Run Debian's Chromium against a real server; a missing program fails the test and says what installs it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Timer
from typing import Any

import pytest
from playwright.sync_api import sync_playwright

from tests.browser.console_server import pages_folder

ROOT = Path(__file__).parents[2]
SCREENS = ROOT / "screens"
AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
START_S = 60.0
PATIENCE_MS = 60_000
"""How long a busy machine may take to show an element."""
DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}
GRAVE = ("serious", "critical")
WITHOUT = (
    # What Playwright turns off and tests of pages rely on; an option of our own replaces its whole list.
    *("AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsUpgrades", "PaintHolding"),
    *("HttpsFirstBalancedModeAutoEnable", "MediaRouter", "OptimizationHints", "ThirdPartyStoragePartitioning"),
    # Suggestions below an address bar that nobody sees: a second of computing for every window.
    *("WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup"),
)


@dataclass
class Server:
    """A server in a process of its own."""

    folder: Path
    token: str = "operators-token-of-this-test"
    url: str = ""
    _process: subprocess.Popen[str] | None = field(default=None, repr=False)

    def start(self) -> None:
        command = [sys.executable, "-m", "tests.browser.console_server", str(self.folder), self.token]
        paths = os.pathsep.join([str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
        with (self.folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                command,
                cwd=ROOT,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={**os.environ, "PYTHONPATH": paths},
            )
        late = Timer(START_S, self._process.kill)
        late.start()
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()
        late.cancel()
        assert self.url, (self.folder / "server.log").read_text()

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(30)
            assert self._process.stdout is not None
            self._process.stdout.close()
            self._process = None


@pytest.fixture(scope="module")
def server(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    if not (pages_folder() / "console.html").exists():
        pytest.fail("the pages are not built; `make web` builds them")
    running = Server(tmp_path_factory.mktemp("server"))
    running.start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.fail("there is no Chromium; `make browser` installs it")
    with sync_playwright() as driver:
        made = driver.chromium.launch(
            executable_path=found,
            args=[
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                f"--disable-features={','.join(WITHOUT)}",
            ],
        )
        yield made
        made.close()


SETTLED = """async () => {
    // Maps and curves follow the size a frame after the page does, and are drawn in the next.
    for (let frame = 0; frame < 4; frame += 1) await new Promise(requestAnimationFrame);
}"""
KEPT = "caches.match('/join/').then(Boolean)"


class Screen:
    """A page under test: screenshots in both sizes, and a search for accessibility problems.

    That search takes half of the time; it is made in the size in which a page is mostly used, which is a phone's for
    participants.
    """

    def __init__(self, page: Any, prefix: str) -> None:
        self.page = page
        self._prefix = prefix
        self._searched = "desktop" if prefix == "console" else "phone"
        self.violations: list[str] = []

    def wait_until_kept(self) -> None:
        """Wait until the page could start without a network: the page is cached after its parts."""
        late = time.monotonic() + PATIENCE_MS / 1000
        while not self.page.evaluate(KEPT):  # wait_for_function takes a promise for a yes
            assert time.monotonic() < late, "the page is not kept"
            self.page.wait_for_timeout(50)

    def shoot(self, name: str, *, whole: bool = True) -> None:
        """Take screenshots in both sizes, and record serious findings of axe."""
        SCREENS.mkdir(exist_ok=True)
        (SCREENS / ".gitignore").write_text("*\n")
        for size, viewport in (("phone", PHONE), ("desktop", DESKTOP)):
            self.page.set_viewport_size(viewport)
            self.page.evaluate(SETTLED)
            overflow = self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert overflow <= 0, f"{name} is {overflow} px too wide for a {size}"
            self.page.screenshot(
                path=SCREENS / f"{self._prefix}-{name}-{size}.png", full_page=whole, animations="disabled"
            )
            if size == self._searched:
                self.violations += [f"{name} ({size}): {one}" for one in self._axe()]

    def _axe(self) -> list[str]:
        if not AXE.exists():
            pytest.fail("axe-core is not there; `npm ci` in web/ fetches it")
        if not self.page.evaluate("typeof axe !== 'undefined'"):
            self.page.evaluate(AXE.read_text(encoding="utf-8"))
        found = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{one['impact']} {one['id']}: {json.dumps([node['html'][:160] for node in one['nodes'][:3]])}"
            for one in found["violations"]
            if one["impact"] in GRAVE
        ]


@pytest.fixture
def look(browser: Any, server: Server) -> Callable[..., Any]:
    """Opens pages of the server as `with look("console") as screen`; other hosts and broken scripts fail the test."""

    @contextmanager
    def opened(prefix: str, **options: Any) -> Iterator[Screen]:
        with ExitStack() as stack:
            context = browser.new_context(base_url=server.url, viewport=DESKTOP, accept_downloads=True, **options)
            stack.callback(context.close)
            page = context.new_page()
            page.set_default_timeout(PATIENCE_MS)
            elsewhere: list[str] = []
            broken: list[str] = []
            page.on("request", lambda one: _note(one.url, server.url, elsewhere))
            page.on("pageerror", lambda error: broken.append(str(error)))
            page.on("console", lambda line: broken.append(line.text) if "Content Security" in line.text else None)
            screen = Screen(page, prefix)
            yield screen
            assert not elsewhere, "nothing should be asked of other hosts"
            assert not broken, "no script should fail"
            assert not screen.violations, "\n".join(screen.violations)

    return opened


def _note(asked: str, home: str, elsewhere: list[str]) -> None:
    if not asked.startswith((home, "data:", "blob:")):
        elsewhere.append(asked)
