"""`crowdveil serve`: a token once, data that stay, one line for what cannot be, and an end when told."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from time import monotonic, sleep, time
from typing import Any

import pytest

from crowdveil.client import HttpTransport, Operator
from crowdveil.errors import CrowdveilError, ServerRefused, ServerUnreachable
from crowdveil.server.local import local_server
from crowdveil.store import (
    create_campaign,
    finish_panel,
    get_campaign,
    known_tokens,
    list_campaigns,
    open_store,
    set_state,
)
from crowdveil.wire import secret_digest
from tests.cli.helpers import Run, refused

TOKEN = re.compile(r"shown only once: (\S{40,})$", re.MULTILINE)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What servers were started with; none really is."""
    calls: list[dict[str, Any]] = []

    def stand_in(url: str, host: str, port: int, settings: object, *, ready: Any, **others: object) -> None:
        calls.append({"url": url, "host": host, "port": port, "settings": settings, **others})
        ready(f"http://{host}:{port}")

    monkeypatch.setattr("crowdveil.server.run.serve", stand_in)
    return calls


def token_hash(database: Path) -> str:
    with open_store(f"sqlite:///{database}") as store:
        (only,) = known_tokens(store)
    assert (only.operator, only.role, only.expires) == ("operator", "owner", None)
    return only.token_hash


def test_the_token_is_printed_once_and_only_its_hash_is_kept(run: Run, started: list[dict[str, Any]]) -> None:
    first = run("serve")
    assert first.exit_code == 0, first.stderr
    (token,) = TOKEN.findall(first.stdout)
    assert f"export CROWDVEIL_TOKEN={token}" in first.stdout
    database = Path("crowdveil-data/crowdveil.sqlite").resolve()
    assert token_hash(database) == secret_digest(token)
    assert token.encode() not in database.read_bytes()
    again = run("serve")
    assert token not in again.stdout
    assert not TOKEN.search(again.stdout)
    assert "Listening at http://127.0.0.1:8765" in again.stdout
    assert "The operator's console: http://127.0.0.1:8765/console" in again.stdout
    assert started[0]["url"] == f"sqlite:///{database}"


def test_a_new_token_replaces_the_old_one(run: Run, started: list[dict[str, Any]]) -> None:
    (old,) = TOKEN.findall(run("serve", "--data", "here").stdout)
    (new,) = TOKEN.findall(run("serve", "--data", "here", "--new-token").stdout)
    assert new != old
    assert token_hash(Path("here/crowdveil.sqlite").resolve()) == secret_digest(new)


def test_a_token_can_go_to_a_file_that_its_owner_alone_reads(run: Run, started: list[dict[str, Any]]) -> None:
    Path("token").write_text("old")
    os.chmod("token", 0o644)
    first = run("serve", "--token-file", "token")
    token = Path("token").read_text().strip()
    assert token not in first.stdout
    assert os.stat("token").st_mode & 0o777 == 0o600
    again = run("serve", "--token-file", "token")
    assert Path("token").read_text().strip() == token
    assert "--new-token replaces the token" in again.stderr
    refused(run("serve", "--new-token", "--token-file", "nowhere/token"), "nowhere/token", "--new-token")


def test_other_machines_are_warned_of(run: Run, started: list[dict[str, Any]]) -> None:
    assert "WARNING" not in run("serve", "--host", "localhost").stderr
    loud = run("serve", "--host", "0.0.0.0", "--port", "0")
    assert "WARNING: 0.0.0.0 can be reached from other machines" in loud.stderr
    assert "TLS" in loud.stderr
    assert started[-1]["host"] == "0.0.0.0"


def test_a_tile_server_is_an_option_or_a_variable(
    run: Run, started: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    tiles = "https://tiles.example.org/{z}/{x}/{y}.png"
    run("serve")
    run("serve", "--tiles", tiles)
    monkeypatch.setenv("CROWDVEIL_TILES", tiles)
    run("serve")
    assert [one["tile_url"] for one in started] == [None, tiles, tiles]


def test_proxies_are_named_one_by_one(run: Run, started: list[dict[str, Any]]) -> None:
    run("serve")
    run("serve", "--trusted-proxy", "127.0.0.1", "--trusted-proxy", "10.1.0.0/16", "--trusted-proxy", "::1/128")
    assert [one["trusted_proxies"] for one in started] == [[], ["127.0.0.1", "10.1.0.0/16", "::1"]]
    for wrong in ("*", "proxy.example.org", "10.1.0.1/16", ""):
        refused(run("serve", "--trusted-proxy", wrong), f"trusted_proxy = {wrong!r}", "127.0.0.1")
    refused(run("serve", "--trusted-proxy", "0.0.0.0/0"), "trusted_proxy = '0.0.0.0/0'", "every address")


def test_the_folder_of_the_data_is_for_its_owner_alone(run: Run, started: list[dict[str, Any]]) -> None:
    before = os.umask(0)
    try:
        run("serve", "--data", "new/data", "--token-file", "token")
    finally:
        os.umask(before)
    assert os.stat("new/data").st_mode & 0o777 == 0o700
    modes = {path.name: path.stat().st_mode & 0o777 for path in [*Path("new/data").iterdir(), Path("token")]}
    assert set(modes.values()) == {0o600}, modes
    assert started


def test_limits_are_options(run: Run, started: list[dict[str, Any]]) -> None:
    run("serve", "--seats-per-address", "3", "--request-s", "2.5")
    settings = started[-1]["settings"]
    assert (settings.seats_per_address, settings.request_s, settings.keep_days) == (3, 2.5, None)
    run("serve", "--keep-days", "30")
    assert started[-1]["settings"].keep_days == 30
    for wrong in ("0", "36501", "'1.5'"):
        refused(run("serve", "--keep-days", wrong.strip("'")), f"keep_days = {wrong}")
    refused(run("serve", "--request-s", "0"), "request_s = 0")


def test_what_cannot_be_is_one_line_and_nothing_is_made(run: Run, started: list[dict[str, Any]]) -> None:
    with closing(socket.socket()) as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        refused(run("serve", "--port", port), f"port = '127.0.0.1:{port}'", "in use", "choose another")
    refused(run("serve", "--port", "99999"), "port = 99999", "65535")
    refused(run("serve", "--port", "http"), "port = 'http'")
    refused(run("serve", "--tiles", "https://x/{z}.png"), "tiles = 'https://x/{z}.png'", "/{z}/{x}/{y}.png")
    refused(run("serve", "--host", "192.0.2.1"), "192.0.2.1")
    refused(run("serve", "--host", "no such host"), "host = 'no such host'")
    assert not Path("crowdveil-data").exists()
    Path("file").write_text("")
    refused(run("serve", "--data", "file"), "data = 'file'", "is a file")
    Path("locked").symlink_to("/proc")
    refused(run("serve", "--data", "locked"), "data = 'locked'", "cannot be written")
    refused(run("serve", "--database", "mysql://here/x"), "mysql://here/x", "sqlite:///")
    refused(run("serve", "--database", "sqlite:///nowhere/x.sqlite"), "nowhere")
    refused(run("serve", "--requests-per-minute", "0"), "requests_per_minute = 0")
    Path("broken").mkdir()
    Path("broken/crowdveil.sqlite").write_bytes(b"no database at all, and long enough to be taken for one" * 90)
    refused(run("serve", "--data", "broken"), "crowdveil.sqlite")
    assert not started


def test_a_real_server_stops_when_told_and_its_data_stay(tmp_path: Path) -> None:
    tokens = []
    for _ in range(2):
        with local_server(tmp_path) as server, HttpTransport(server.url) as transport:
            assert Operator(transport, server.token).campaigns().campaigns == ()
            tokens.append(server.token)
            if len(tokens) == 2:
                with pytest.raises(ServerRefused, match="unauthorized"):
                    Operator(transport, tokens[0], sleep=lambda _: None).campaigns()
        with HttpTransport(server.url) as transport, pytest.raises(ServerUnreachable):
            Operator(transport, server.token, sleep=lambda _: None).campaigns()
        assert '"stopped"' in (tmp_path / "server.log").read_text()


def test_a_server_is_stopped_when_what_it_was_started_for_fails(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), local_server(tmp_path) as server:
        raise ZeroDivisionError
    with HttpTransport(server.url) as transport, pytest.raises(ServerUnreachable):
        Operator(transport, server.token, sleep=lambda _: None).campaigns()


HOLDER = """
import signal, sys, time
from pathlib import Path
from crowdveil.server.local import local_server
signal.signal(signal.SIGINT, signal.default_int_handler)  # where the tests run in the background it is ignored
with local_server(Path(sys.argv[1])) as server:
    print(server.url, server.token, flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("told", [pytest.param(signal.SIGINT, marks=pytest.mark.long), signal.SIGTERM])
def test_who_is_told_to_end_leaves_no_server_behind(tmp_path: Path, told: signal.Signals) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    with holder.stdout:
        url, token = holder.stdout.readline().split()
        holder.send_signal(told)
        holder.wait()
    with HttpTransport(url) as transport, pytest.raises(ServerUnreachable):
        Operator(transport, token, sleep=lambda _: None).campaigns()


def test_a_server_that_does_not_start_says_why(tmp_path: Path) -> None:
    (tmp_path / "crowdveil.sqlite").mkdir()
    with pytest.raises(CrowdveilError, match=r"did not start: crowdveil: .*crowdveil\.sqlite"), local_server(tmp_path):
        pass


def test_workers_are_asked_for_by_number_and_need_postgresql(run: Run, started: list[dict[str, Any]]) -> None:
    assert run("serve").exit_code == 0
    assert started[-1]["workers"] == 1
    refused(run("serve", "--workers", "2"), "workers = 2: should be 1 on SQLite", "name a PostgreSQL database")
    refused(run("serve", "--workers", "0"), "workers = 0: should be from 1 to 64")
    refused(run("serve", "--workers", "two"), "workers", "whole number")
    assert len(started) == 1


def test_a_server_deletes_what_was_finished_before_the_days_that_it_keeps(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path}/crowdveil.sqlite") as store:
        for name, finished in (("old", 0), ("new", int(time()))):
            create_campaign(store, name, "{}", terms="{}", offer="", seed="5eed" * 16, created=0, panel=True)
            set_state(store, name, "open")
            set_state(store, name, "closed")
            finish_panel(store, name, at=finished)
        command = [sys.executable, "-m", "crowdveil", "serve", "--data", str(tmp_path), "--port", "0"]
        command += ["--token-file", str(tmp_path / "token"), "--keep-days", "1"]
        with (tmp_path / "log").open("wb") as log:
            server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log)
        try:
            give_up = monotonic() + 60
            while get_campaign(store, "old") is not None and monotonic() < give_up:
                sleep(0.05)
        finally:
            server.terminate()
            assert server.wait(60) == 0
        assert [one.id for one in list_campaigns(store)] == ["new"]
    events = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [one["campaign"] for one in events if one["event"] == "campaign-deleted"] == ["old"]
