"""Operators, tokens, shares and the log from the command line, against a real server."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from crowdveil.client import HttpTransport, Operator
from crowdveil.errors import ServerRefused
from crowdveil.server.local import LISTENING, LocalServer
from tests.cli.helpers import PLAN, Run, refused


def as_operator(monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.setenv("CROWDVEIL_TOKEN", Path(path).read_text().strip())


def test_a_team_is_made_shares_a_campaign_and_is_taken_apart(
    run: Run, service: LocalServer, area: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = service.token
    added = run("operator", "add", "paul", "--role", "planner", "--days", "30", "--out", "paul.token")
    assert added.exit_code == 0, added.stderr
    assert "written: paul.token" in added.stdout
    assert os.stat("paul.token").st_mode & 0o777 == 0o600
    token = Path("paul.token").read_text().strip()
    assert token not in added.stdout
    refused(run("operator", "add", "paul", "--role", "viewer"), "name = 'paul'", "crowdveil operator role")
    vera = json.loads(run("operator", "add", "vera", "--role", "viewer", "--json").stdout)
    assert re.search(r"^paul +planner +20..-..-.. ..:.. UTC +1$", run("operator", "list").stdout, re.MULTILINE)

    as_operator(monkeypatch, "paul.token")
    shown = run("operator", "me").stdout
    assert "operator: paul\nrole: planner\n" in shown
    assert "expires: 20" in shown
    assert run("campaign", "create", "pauls", *PLAN, "--area", area).exit_code == 0
    assert "created: 20" in (status := run("campaign", "status", "pauls").stdout)
    assert " UTC by paul\n" in status
    assert "shared with: vera" in run("campaign", "share", "pauls", "vera").stdout
    refused(run("campaign", "share", "pauls", "nobody"), "operator = 'nobody': not found")
    refused(run("operator", "list"), "forbidden", "'paul' is a planner; only owners may do this")
    assert "campaign-shared" in run("activity").stdout

    monkeypatch.setenv("CROWDVEIL_TOKEN", vera["token"])
    assert re.search(r"^pauls +campaign +draft .* paul ", run("campaign", "list").stdout, re.MULTILINE)
    refused(run("campaign", "start", "pauls"), "forbidden", "'vera' is a viewer; only owners and planners may do this")

    as_operator(monkeypatch, "paul.token")
    assert "shared with: nobody" in run("campaign", "unshare", "pauls", "vera").stdout
    replaced = run("token", "replace", "--out", "new.token")
    assert replaced.exit_code == 0, replaced.stderr
    refused(run("token", "list"), "unauthorized")
    as_operator(monkeypatch, "new.token")
    (line,) = run("token", "list").stdout.splitlines()[1:]
    assert line.endswith("the one that you use")
    refused(run("token", "new", "--days", "31"), "days = 31", "your own token expires then")
    refused(run("token", "replace", "0" * 12), "ID = '000000000000'", "is no token of paul")

    monkeypatch.setenv("CROWDVEIL_TOKEN", owner)
    assert "role: owner" in run("operator", "role", "paul", "owner").stdout
    refused(run("operator", "role", "nobody", "owner"), "name = 'nobody'", "is no operator")
    made = json.loads(run("token", "new", "--operator", "vera", "--days", "1", "--json").stdout)
    assert f"revoked: {made['id']}" in run("token", "revoke", made["id"]).stdout
    refused(run("token", "replace", "--operator", "vera"), "ID is missing", "token list --operator vera")
    for name in ("paul", "vera"):
        assert f"removed: {name}" in run("operator", "remove", name).stdout
    refused(run("operator", "remove", "operator"), "last-owner", "nobody else could sign in as an owner then")
    refused(run("operator", "remove", "paul"), "not found")
    first = run("activity", "--limit", "2")
    assert re.search(r"operator-removed +vera: was viewer$", first.stdout, re.MULTILINE)
    earlier = re.search(r"Earlier lines: crowdveil activity --before (\d+)", first.stderr)
    assert earlier is not None
    lines = json.loads(run("activity", "--before", earlier[1], "--json").stdout)["activity"]
    assert lines[0]["number"] < int(earlier[1])


@pytest.mark.long
def test_a_revoked_token_works_in_no_other_server_process(service: LocalServer) -> None:
    """Nor that of an operator who was removed: the very next request is refused, at both addresses."""
    command = [sys.executable, "-m", "crowdveil", "serve", "--data", str(service.token_file.parent), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as second:
        assert second.stdout is not None
        try:
            found = next(line for text in second.stdout if (line := LISTENING.search(text)))
            with HttpTransport(service.url) as one, HttpTransport(found[1]) as other:
                owner = Operator(one, service.token)
                owner.put_operator("ines", "planner")
                for which in ("revoked", "removed"):
                    made = owner.make_token("ines")
                    both = [Operator(transport, made.token) for transport in (one, other)]
                    assert [signed_in.me().name for signed_in in both] == ["ines", "ines"]
                    if which == "revoked":
                        owner.revoke_token(made.id)
                    else:
                        owner.remove_operator("ines")
                    for signed_in in both:
                        with pytest.raises(ServerRefused, match="unauthorized"):
                            signed_in.me()
        finally:
            second.terminate()


def test_bad_options_about_operators_are_refused_before_anything_is_sent(run: Run) -> None:
    known = ["--token", "any", "--server", "http://127.0.0.1:1"]
    refused(run("operator", "add", "ann", "--role", "planner", "--out", "ann.csv", *known), "out = 'ann.csv'", ".token")
    refused(run("token", "new", "--days", "soon", *known), "days = 'soon'")
    refused(run("activity", "--limit", "201", *known), "limit = 201", "200")
    assert run("operator", "add", "ann", "--role", "king", *known).exit_code == 2
