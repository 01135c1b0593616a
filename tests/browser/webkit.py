"""Debian's WebKitGTK on a display that nobody sees, driven through WebDriver."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.remote.client_config import ClientConfig
from selenium.webdriver.remote.file_detector import UselessFileDetector
from selenium.webdriver.remote.remote_connection import RemoteConnection
from selenium.webdriver.webkitgtk.options import Options

START_S = 60.0
PACKAGES = {
    "WebKitWebDriver": "webkit2gtk-driver",
    "xvfb-run": "xvfb",
    "xauth": "xauth",
    "dbus-run-session": "dbus",
}
"""The programs that are needed, and the Debian package of each; the browser itself comes with the first."""
ENVIRONMENT = {
    # There is no graphics card, and as root there is no sandbox to start processes in.
    "LIBGL_ALWAYS_SOFTWARE": "1",
    "WEBKIT_DISABLE_DMABUF_RENDERER": "1",
    "WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS": "1",
}


def mini_browser() -> str:
    """Find the browser that Debian ships with WebKitGTK for tests; it is on no search path."""
    missing = [package for program, package in PACKAGES.items() if shutil.which(program) is None]
    if missing:
        pytest.fail(f"WebKit cannot be started: install the packages {' '.join(missing)} (`make browser` does)")
    found = subprocess.run(["dpkg", "--search", "*/MiniBrowser"], capture_output=True, text=True, check=False).stdout
    for line in found.splitlines():
        return line.rpartition(": ")[2]
    pytest.fail("WebKit cannot be started: no Debian package that is installed holds MiniBrowser (libwebkit2gtk does)")


@contextmanager
def webkit(folder: Path) -> Iterator[Any]:
    """Drive a WebKit of its own, without a profile; everything that was started for it is ended with it."""
    browser = mini_browser()
    port = _free_port()
    command = ["xvfb-run", "-a", "dbus-run-session", "--", "WebKitWebDriver", f"--port={port}"]
    folders = {name: str(folder) for name in ("TMPDIR", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")}
    with (folder / "webkit.log").open("wb") as log:
        process = subprocess.Popen(
            command, stdout=log, stderr=log, env={**os.environ, **ENVIRONMENT, **folders}, start_new_session=True
        )
    try:
        driver = _connect(port, browser, process, folder / "webkit.log")
        try:
            yield driver
        finally:
            driver.quit()
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(30)


def _free_port() -> int:
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        return int(trial.getsockname()[1])


def _connect(port: int, browser: str, process: subprocess.Popen[bytes], log: Path) -> Any:
    options = Options()
    options.binary_location = browser
    options.add_argument("--automation")
    late = time.monotonic() + START_S
    while not _answers(port):
        if process.poll() is not None or time.monotonic() > late:
            pytest.fail(f"WebKitWebDriver did not start: {log.read_text(errors='replace')}")
        time.sleep(0.1)
    config = ClientConfig(remote_server_addr=f"http://127.0.0.1:{port}", timeout=int(START_S))
    return webdriver.Remote(
        command_executor=RemoteConnection(client_config=config),
        options=options,
        file_detector=UselessFileDetector(),  # files are chosen where they are, not sent to another machine first
    )


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
