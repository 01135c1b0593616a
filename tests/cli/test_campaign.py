"""`crowdveil campaign` against a real server: from the preview to the audit, and one line for whatever goes wrong."""

from __future__ import annotations

import csv
import json
import os
import re
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest

from crowdveil.campaign.audit import compare_record_with_plan
from crowdveil.cli import campaign as verbs
from crowdveil.cli.campaign_view import show_view, warn_of_wrong_prior
from crowdveil.client import InviteLink
from crowdveil.server.local import LocalServer
from crowdveil.wire import AuditRecord, CampaignPlan, CampaignView
from tests.cli.helpers import PLAN, Run, campaign_name, refused


def test_a_draft_is_made_shown_and_listed_with_its_plan(run: Run, service: LocalServer, area: Path) -> None:
    made = run("campaign", "create", "draft-1", *PLAN, "--area", area, "--name", "Noise", "--deadline", "12h", "--json")
    assert made.exit_code == 0, made.stderr
    plan = json.loads(made.stdout)["plan"]
    assert (plan["name"], plan["deadline_s"], plan["wanted"], plan["targets"]) == ("Noise", 43_200, 3, [12])
    assert "state: draft" in run("campaign", "status", "draft-1").stdout
    assert re.search(r"^draft-1 +campaign +draft ", run("campaign", "list").stdout, re.MULTILINE)
    listed = json.loads(run("campaign", "list", "--json").stdout)["campaigns"]
    assert "draft-1" in [one["campaign"] for one in listed]
    again = run("campaign", "create", "draft-1", *PLAN, "--area", area, "--name", "Noise", "--deadline", "12h")
    assert again.exit_code == 0
    assert "crowdveil campaign start draft-1" in again.stderr


def test_a_plan_can_be_a_file(run: Run, service: LocalServer, area: Path) -> None:
    made = run("campaign", "create", "from-options", *PLAN, "--area", area, "--name", "Noise", "--json")
    plan = json.loads(made.stdout)["plan"]
    Path("plan.json").write_text(json.dumps(plan))
    again = run("campaign", "create", "from-file", "--plan", "plan.json", "--json")
    assert again.exit_code == 0, again.stderr
    assert CampaignPlan.model_validate(json.loads(again.stdout)["plan"]) == CampaignPlan.model_validate(plan)
    refused(run("campaign", "create", "both", "--plan", "plan.json", "--users", "3"), "users = '3'", "--plan")
    Path("plan.json").write_text(json.dumps({**plan, "users": "many"}))
    refused(run("campaign", "create", "wrong", "--plan", "plan.json"), "users = 'many'")
    Path("plan.json").write_text("[1, 2]")
    refused(run("campaign", "create", "none", "--plan", "plan.json"), "plan.json", "JSON object")
    refused(run("campaign", "create", "none", "--plan", "area.json"), "area.json", "has no area")


def test_a_prior_that_has_nobody_at_the_targets_is_warned_of(run: Run, service: LocalServer, area: Path) -> None:
    Path("prior.csv").write_text("cell,probability\n3,0.5\n4,0.5\n")
    for verb, name in (("create", ["denied"]), ("preview", [])):
        told = run("campaign", verb, *name, *PLAN, "--area", area, "--prior", "prior.csv")
        assert told.exit_code == 0, told.stderr
        assert "the prior has nobody at any target (cells 12), so only the answers can find people there" in told.stderr


def test_the_status_says_when_answers_contradict_the_prior(capsys: pytest.CaptureFixture[str]) -> None:
    def shown(prior: list[float] | None, estimate: list[float]) -> str:
        plan = CampaignPlan.model_construct(prior=prior, targets=(1,), panel=False)
        warn_of_wrong_prior(CampaignView.model_construct(plan=plan, estimate=estimate))
        return " ".join(capsys.readouterr().err.split())

    told = "WARNING: the plan's prior has 0.0% of the people at the targets; the answers so far say 30.0%. The answers"
    assert shown([1.0, 0.0], [0.7, 0.3]).startswith(told)
    assert "has 80.0% of the people" in shown([0.1, 0.4, 0.1, 0.4], [0.9, 0.1])
    for prior, estimate in (([0.8, 0.2], [0.6, 0.4]), (None, [0.0, 1.0]), ([0.99, 0.01], [0.96, 0.04])):
        assert shown(prior, estimate) == ""


def test_a_preview_says_what_is_promised_and_what_else_would_be(run: Run, service: LocalServer, area: Path) -> None:
    shown = run("campaign", "preview", *PLAN, "--area", area, "--picture", "map.png")
    assert shown.exit_code == 0, shown.stderr
    for said in (
        "cells: 25",
        "wanted: 3 people at any target",
        "private at ε ≥ ",
        "by chance: 0.69%",
        "ε per km  wanted",
    ):
        assert said in shown.stdout
    assert "These ranges hold if people are spread evenly. For ranges without that assumption" in shown.stderr
    assert Path("map.png").read_bytes().startswith(b"\x89PNG")
    run("campaign", "create", "previewed", *PLAN, "--area", area)
    assert run("campaign", "preview", "previewed").stdout == shown.stdout
    points = json.loads(run("campaign", "preview", "previewed", "--json").stdout)["by_epsilon"]
    coverage = [point["expected_coverage"] for point in sorted(points, key=lambda point: point["epsilon_per_km"])]
    assert all(low < 1.02 * high for low, high in pairwise(coverage))
    both = run("campaign", "preview", "previewed", *PLAN, "--area", area)
    refused(both, "campaign = 'previewed'", "can't be combined with a plan")
    refused(run("campaign", "preview"), "--area is missing")


SHOPS = """name,latitude,longitude,number
Market,40.715,-73.985,2
Zoo,40.735,-73.97,4
"""


def test_a_number_of_people_for_each_place_is_previewed_place_by_place(
    run: Run, service: LocalServer, area: Path
) -> None:
    Path("shops.csv").write_text(SHOPS)
    few = ["--area", area, "--targets", "shops.csv", "--users", "24", "--rounds", "2"]
    shown = run("campaign", "preview", *few)
    assert shown.exit_code == 0, shown.stderr
    assert "wanted: 2, 4 people at the 2 places, 6 in all" in shown.stdout
    assert re.search(
        r"^place +name +wanted +selected +by symbol +expected +95 % +of everybody$", shown.stdout, re.MULTILINE
    )
    assert re.search(r"^1 +Market +2 +2.0 ", shown.stdout, re.MULTILINE)
    assert re.search(r"^2 +Zoo +4 +4.0 ", shown.stdout, re.MULTILINE)
    assert re.search(r"^place +at any place +as many at each \(3\) +own numbers$", shown.stdout, re.MULTILINE)
    assert "Place 2 (Zoo): almost nobody of the 24 people comes there" in shown.stderr
    assert "wanted: 3 people at each of 2 places, 6 in all" in run("campaign", "preview", *few, "--each", "3").stdout
    told = json.loads(run("campaign", "preview", *few, "--numbers", "1,2", "--json").stdout)
    assert [place["wanted"] for place in told["expectation"]["places"]] == [1, 2]
    at_any = run("campaign", "preview", *few, "--wanted", "5")
    assert "wanted: 5 people at any target" in at_any.stdout


def test_a_campaign_for_each_place_is_followed_and_exported_with_the_places_names(
    run: Run, service: LocalServer, area: Path
) -> None:
    Path("shops.csv").write_text(SHOPS)
    plan = ["--targets", "shops.csv", "--users", "24", "--rounds", "2", "--offer", "A coffee", "--enrolment", "open"]
    assert run("campaign", "create", "each-shop", "--area", area, *plan).exit_code == 0
    assert run("campaign", "start", "each-shop").exit_code == 0
    assert run("crowd", "each-shop", "--devices", "24", "--concurrency", "4").exit_code == 0
    watched = run("campaign", "status", "each-shop", "--watch", "--every", "0.1")
    assert "wanted: 2, 4 people at the 2 places, 6 in all, of 24 people who may take part" in watched.stdout
    assert re.search(r"^2 +Zoo +4 +4.0 ", watched.stdout, re.MULTILINE)
    assert run("campaign", "export", "each-shop", "--out", "selection.csv").exit_code == 0
    with Path("selection.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["place", "name", "latitude", "longitude", "participant", "chance", "chosen"]
    assert [(row["place"], row["name"], row["latitude"]) for row in rows] == [("1", "Market", "40.715")] * 2 + [
        ("2", "Zoo", "40.735")
    ] * 4
    assert run("campaign", "audit", "each-shop").exit_code == 0


def test_numbers_that_do_not_fit_the_places_are_refused(run: Run, service: LocalServer, area: Path) -> None:
    few = ["campaign", "create", "never", "--area", area, "--targets", "3,12", "--users", "24", "--offer", "A coffee"]
    refused(run(*few, "--numbers", "1,2,3"), "numbers = '1,2,3'", "one number for each of the 2 targets")
    refused(run(*few, "--numbers", "1,0"), "numbers = ", "0")
    refused(run(*few, "--numbers", "1,x"), "numbers = 'x'")
    refused(run(*few, "--numbers", "1,2", "--each", "3"), "numbers = '1,2'", "can't be combined with --each")
    refused(run(*few, "--each", "3", "--wanted", "3"), "each = '3'", "can't be combined with --wanted")
    refused(run(*few, "--each", "13"), "26 people in all", "at most the number of users, 24")
    refused(run(*few, "--each", "30"), "numbers[0] = 30", "at most the number of users, 24")
    refused(run(*few, "--each", "2", "--algorithm", "algorithm-2"), "numbers", "algorithm-2")
    Path("shops.csv").write_text(SHOPS.replace("-73.985,2", "-73.985,"))
    partly = run(*[*few[:6], "shops.csv", *few[7:]])
    assert partly.exit_code == 2
    assert "number = 'none for Market': should be given for every target, or for none" in partly.stderr


def test_a_whole_campaign_is_followed_exported_and_audited(run: Run, campaign: str) -> None:
    joined = run("crowd", campaign, "--devices", "26", "--concurrency", "4")
    assert joined.exit_code == 0, joined.stderr
    assert "acknowledged: 24, of which " in joined.stdout
    assert "found no seat: 2" in joined.stdout
    watched = run("campaign", "status", campaign, "--watch", "--every", "0.1")
    assert "state: finished" in watched.stdout
    assert "reports: 24 in 2 of 2 rounds" in watched.stdout
    selected = json.loads(run("campaign", "status", campaign, "--json").stdout)["selected"]
    exported = run("campaign", "export", campaign, "--out", "selection.csv")
    assert exported.exit_code == 0, exported.stderr
    with Path("selection.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == selected
    assert {(row["place"], row["name"]) for row in rows} == {("1", "")}
    audited = run("campaign", "audit", campaign, "--out", "record.json")
    assert audited.exit_code == 0, audited.stdout
    assert f"Campaign {campaign} is reproduced." in audited.stdout
    record = AuditRecord.from_bytes(Path("record.json").read_bytes())
    assert [str(who) for who in record.selections[0].participants] == [row["participant"] for row in rows]


def test_a_saved_record_is_audited_without_a_server_and_a_forged_one_found_out(
    run: Run, campaign: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("crowd", campaign, "--devices", "24", "--concurrency", "4")
    run("campaign", "status", campaign, "--watch", "--every", "0.1")
    assert run("campaign", "audit", campaign, "--out", "record.json").exit_code == 0
    monkeypatch.delenv("CROWDVEIL_TOKEN")
    monkeypatch.setenv("CROWDVEIL_SERVER", "http://127.0.0.1:1")
    kept = run("campaign", "audit", "--record", "record.json", "--json")
    assert kept.exit_code == 0
    assert json.loads(kept.stdout)["reproduced"] is True
    record = json.loads(Path("record.json").read_text())
    compared = run("campaign", "review", "--record", "record.json")
    assert compared.exit_code == 0, compared.stderr
    found = compare_record_with_plan(AuditRecord.from_bytes(Path("record.json").read_bytes()))
    assert f"estimated: {found.estimated.people:.1f} people come ({found.estimated.low} to " in compared.stdout
    for reason in found.reasons:
        assert re.search(rf"^{reason.what} .*{re.escape(f'{reason.people:+.1f}')}$", compared.stdout, re.MULTILINE)
    assert re.search(r"^people who answered +24 +24 ", compared.stdout, re.MULTILINE)
    told = json.loads(run("campaign", "review", "--record", "record.json", "--json").stdout)
    assert [one["people"] for one in told["reasons"]] == [one.people for one in found.reasons]
    refused(run("campaign", "review", "--record", "record.json", "--selection", "2"), "selection = 2", "at most 1")
    nothing = {**record, "selections": []}
    Path("nothing.json").write_text(json.dumps(nothing))
    refused(run("campaign", "review", "--record", "nothing.json"), "has made no selection yet")
    record["rounds"][0]["counts"][0] += 1
    Path("record.json").write_text(json.dumps(record))
    forged = run("campaign", "audit", "--record", "record.json")
    assert forged.exit_code == 1
    assert re.search(r"^counted +FAILURE", forged.stdout, re.MULTILINE)
    assert "NOT reproduced" in forged.stderr
    Path("record.json").write_text("{}")
    refused(run("campaign", "audit", "--record", "record.json"), "record.json", "is not the record of a campaign")
    refused(run("campaign", "audit"), "--record is missing")
    refused(run("campaign", "audit", campaign, "--record", "record.json"), "can't be combined with --record")
    refused(run("campaign", "audit", campaign), "--token is missing", "CROWDVEIL_TOKEN")


def test_a_campaign_is_paused_goes_on_and_is_ended_early(run: Run, campaign: str) -> None:
    assert "state: paused" in run("campaign", "pause", campaign).stdout
    assert "state: open" in run("campaign", "start", campaign).stdout
    closed = run("campaign", "close", campaign, "--yes")
    assert closed.exit_code == 0, closed.stderr
    assert "state: finished" in run("campaign", "status", campaign, "--watch", "--every", "0.1").stdout
    assert run("campaign", "audit", campaign).exit_code == 0
    refused(run("campaign", "start", campaign), "wrong-state")


def test_invites_are_written_for_their_owner_alone_and_let_devices_in(
    run: Run, service: LocalServer, area: Path, request: pytest.FixtureRequest
) -> None:
    name = campaign_name(request.node.name)
    run("campaign", "create", name, *PLAN, "--area", area, "--enrolment", "invite")
    made = run("campaign", "invites", name, "--count", "24", "--out", "invites.txt")
    assert made.exit_code == 0, made.stderr
    links = [InviteLink.parse(line) for line in Path("invites.txt").read_text().split()]
    assert len({link.invite for link in links}) == 24
    shown = json.loads(run("campaign", "status", name, "--json").stdout)
    assert {(link.campaign, link.key, link.terms_hash) for link in links} == {
        (name, shown["server_key"], shown["terms_hash"])
    }
    assert os.stat("invites.txt").st_mode & 0o077 == 0
    run("campaign", "start", name)
    too_many = run("crowd", name, "--devices", "1000", "--invites", "invites.txt")
    refused(too_many, "devices = 1000: should be at most 24, the number of invites")
    refused(run("crowd", name), "this campaign is by invite: give --invites FILE")
    joined = run("crowd", name, "--invites", "invites.txt")
    assert "acknowledged: 24" in joined.stdout
    for count, said in (
        ("0", "count = 0"),
        ("many", "count = 'many'"),
        ("100000000", "count = 100000000: should be at most 240: 10 for each person who may take part"),
    ):
        refused(run("campaign", "invites", name, "--count", count, "--out", "more.txt"), said)


def test_invites_that_were_made_before_a_refusal_are_in_the_file(
    run: Run, service: LocalServer, area: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crowdveil.client.operator.MAX_INVITES", 100)
    name = campaign_name(request.node.name)
    run("campaign", "create", name, *PLAN, "--area", area, "--enrolment", "invite")
    run("campaign", "invites", name, "--count", "20", "--out", "first.txt")
    second = run("campaign", "invites", name, "--count", "240", "--out", "second.txt")
    assert second.exit_code == 2
    assert "200 invites were made before this happened; they are in second.txt." in second.stderr
    assert "count = 40: should be at most 20: 10 for each person who may take part, of which 220 exist" in second.stderr
    links = Path("second.txt").read_text().split()
    assert len({InviteLink.parse(line).invite for line in links}) == 200


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--area", "nowhere.json"], ("nowhere.json", "No such file")),
        (["--targets", "99"], ("targets",)),
        (["--targets", "0:0"], ("targets = ['place 1']", "should lie in a cell of this area")),
        (["--users", "many"], ("users = 'many'", "whole number")),
        (["--users", "0"], ("users = 0", "greater than or equal to 1")),
        (["--wanted", "25"], ("wanted = 25", "24")),
        (["--share", "0.5"], ("share = '0.5'", "can't be combined with --wanted")),
        (["--epsilon-per-km", "four"], ("epsilon_per_km = 'four'", "ln4")),
        (["--epsilon-per-km", "nan"], ("epsilon_per_km = nan", "finite")),
        (["--epsilon-per-km", "-1"], ("epsilon_per_km = -1.0",)),
        (["--null-epsilon", "x"], ("null_epsilon = 'x'", "ln4")),
        (["--delta", "nan"], ("delta = nan", "finite")),
        (["--delta", "2"], ("delta = 2.0",)),
        (["--confidence", "1"], ("confidence = 1.0",)),
        (["--rounds", "25"], ("rounds = 25",)),
        (["--round-size", "20"], ("round_size = 20",)),
        (["--deadline", "soon"], ("deadline = 'soon'", "12h")),
        (["--deadline", "0s"], ("deadline_s = 0",)),
        (["--seed", "7"], ("seed = '7'",)),
        (["--grade-epsilon", "x"], ("grade_epsilon = 'x'", "ln4")),
        (["--clear"], ("asks openly", "give --beyond-default-limits")),
        (["--clear", "--null-epsilon", "1"], ("null_epsilon = '1'", "can't be combined with --clear")),
        (["--epsilon-per-km", "20"], ("could learn more about your place", "give --beyond-default-limits")),
        (["--rule", "best"], ("--rule", "'best'")),
        (["--prior", "nowhere.csv"], ("nowhere.csv",)),
        (["--name", "two\nlines"], ("name",)),
        (["--offer", ""], ("offer",)),
    ],
)
def test_a_plan_that_cannot_be_is_refused_with_its_field(
    run: Run, service: LocalServer, area: Path, options: list[str], said: tuple[str, ...]
) -> None:
    refused(run("campaign", "create", "never", "--area", area, *PLAN, *options), *said)


def test_what_a_draft_needs_is_named(run: Run, service: LocalServer, area: Path) -> None:
    refused(run("campaign", "create", "never"), "--area is missing", "--plan")
    refused(run("campaign", "create", "never", "--users", "3", "--wanted", "1"), "--area is missing")
    refused(run("campaign", "create", "never", "--area", area, "--wanted", "1"), "--users is missing")
    few = ["--area", area, "--users", "30", "--wanted", "2"]
    refused(run("campaign", "create", "never", *few), "--targets is missing")
    some = ["--users", "24", "--area", area, "--targets", "3", "--offer", "A coffee"]
    refused(run("campaign", "create", "never", *some), "--wanted is missing", "--wanted, --share, --each or --numbers")
    refused(run("campaign", "create", "never", *some, "--share", "5"), "share = '5'", "such as 0.05 for 5 %")
    refused(run("campaign", "create", "Never", *some, "--wanted", "1"), "should be small letters, digits and -")
    beyond = run("campaign", "create", "never", *some, "--wanted", "1", "--epsilon-per-km", "2")
    refused(beyond, "every phone with the default limits would refuse", "give --beyond-default-limits")
    refused(run("campaign", "create", "never", *few, "--targets", "3"), "--offer is missing")
    refused(run("campaign", "create", "No Name", *few, "--targets", "3", "--offer", "x"), "campaign", "No Name")


def test_the_servers_refusals_are_one_line(run: Run, service: LocalServer, area: Path) -> None:
    refused(run("campaign", "status", "nowhere"), "not-found")
    run("campaign", "create", "early", "--area", area, *PLAN)
    refused(run("campaign", "export", "early", "--out", "s.csv"), "wrong-state")
    refused(run("campaign", "audit", "early"), "wrong-state")
    refused(run("campaign", "export", "early", "--out", "s.txt"), "out = 's.txt'", ".csv")
    refused(run("campaign", "create", "early", "--area", area, *PLAN, "--seed", "3" * 64), "the server refused")
    refused(run("campaign", "status", "early", "--watch", "--every", "0"), "every = 0.0")


def test_what_default_phones_refuse_is_created_only_on_request(run: Run, service: LocalServer, area: Path) -> None:
    made = run("campaign", "create", "beyond", "--area", area, *PLAN, "--clear", "--beyond-default-limits", "--json")
    assert made.exit_code == 0, made.stderr
    plan = json.loads(made.stdout)["plan"]
    assert (plan["null_epsilon"], plan["grade_epsilon"], plan["deadline_s"]) == (None, None, 7 * 24 * 3600)
    never = run("campaign", "create", "endless", "--area", area, *PLAN, "--deadline", "never", "--json")
    assert json.loads(never.stdout)["plan"]["deadline_s"] is None


def test_an_open_campaign_has_a_link_and_one_by_invite_does_not(run: Run, campaign: str, area: Path) -> None:
    link = InviteLink.parse(run("campaign", "link", campaign).stdout.strip())
    shown = json.loads(run("campaign", "status", campaign, "--json").stdout)
    assert (link.campaign, link.invite) == (campaign, None)
    assert (link.key, link.terms_hash, link.policy_hash) == (shown["server_key"], shown["terms_hash"], None)
    elsewhere = run("campaign", "link", campaign, "--site", "https://a.example", "--page", "https://b.example/")
    assert elsewhere.stdout.startswith("https://b.example/#server=https://a.example&campaign=")
    run("campaign", "create", "by-invite", "--area", area, *PLAN[:-1], "invite")
    refused(run("campaign", "link", "by-invite"), "is by invite", "campaign invites")


def test_exports_are_for_their_owner_alone(run: Run, campaign: str) -> None:
    run("campaign", "close", campaign, "--yes")
    run("campaign", "status", campaign, "--watch", "--every", "0.1")
    before = os.umask(0)
    try:
        assert run("campaign", "export", campaign, "--out", "selection.csv").exit_code == 0
        assert run("campaign", "audit", campaign, "--out", "record.json").exit_code == 0
    finally:
        os.umask(before)
    assert {os.stat(name).st_mode & 0o777 for name in ("selection.csv", "record.json")} == {0o600}


def test_tokens_come_from_the_variable_or_a_file_and_wrong_ones_are_refused(
    run: Run, service: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CROWDVEIL_TOKEN", "another")
    refused(run("campaign", "list"), "unauthorized")
    assert run("campaign", "list", "--token-file", service.token_file).exit_code == 0
    assert run("campaign", "list", "--token", service.token).exit_code == 0
    Path("empty").write_text("\n")
    refused(run("campaign", "list", "--token-file", "empty"), "empty", "token")
    refused(run("campaign", "list", "--token-file", "nowhere"), "nowhere", "No such file")
    monkeypatch.delenv("CROWDVEIL_TOKEN")
    refused(run("campaign", "list"), "--token is missing", "CROWDVEIL_TOKEN", "--token-file")


def test_a_server_that_is_not_there_is_told_about(run: Run) -> None:
    refused(
        run("campaign", "list", "--token", "x", "--server", "http://127.0.0.1:1"), "no answer", "Is the server running"
    )
    refused(run("campaign", "list", "--token", "x", "--server", "http://example.org"), "url", "https://")


# --- drafts that change, campaigns that go --------------------------------------------------------------------


def test_a_draft_is_edited_as_a_whole_and_its_invites_are_counted(run: Run, service: LocalServer, area: Path) -> None:
    by_invite = ["--area", area, *PLAN, "--enrolment", "invite"]
    run("campaign", "create", "edited", *by_invite, "--name", "First")
    assert run("campaign", "invites", "edited", "--count", "5", "--out", "edited.txt").exit_code == 0
    shown = run("campaign", "edit", "edited", *by_invite, "--offer", "Two coffees")
    assert shown.exit_code == 0, shown.stderr
    assert "campaign: edited: edited\n" in shown.stdout  # the name that was not given again is the default one
    assert "5 invites were deleted" in shown.stderr
    assert "crowdveil campaign invites edited" in shown.stderr
    again = json.loads(run("campaign", "edit", "edited", *by_invite, "--offer", "Two coffees", "--json").stdout)
    assert (again["invites_deleted"], again["campaign"]["plan"]["offer"]) == (0, "Two coffees")
    refused(run("campaign", "edit", "edited"), "--area is missing")
    refused(run("campaign", "edit", "edited", *by_invite, "--clear"), "give --beyond-default-limits")
    refused(run("campaign", "edit", "nowhere", *by_invite), "campaign = 'nowhere': not found")
    run("campaign", "start", "edited")
    refused(run("campaign", "edit", "edited", *by_invite), "wrong-state", "state = 'open': should be draft")


def test_a_campaign_is_copied_and_deleted_after_asking(
    run: Run, service: LocalServer, area: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("campaign", "create", "copied", "--area", area, *PLAN)
    copied = run("campaign", "copy", "copied", "copied-2")
    assert copied.exit_code == 0, copied.stderr
    assert "campaign: copied-2: copied-2\nstate: draft\n" in copied.stdout
    refused(run("campaign", "copy", "nowhere", "copied-3"), "campaign = 'nowhere': not found")

    run("campaign", "start", "copied")
    refused(run("campaign", "delete", "copied"), "wrong-state", "close the campaign first")
    run("campaign", "close", "copied", "--yes")
    assert "finished: 20" in run("campaign", "status", "copied", "--watch", "--every", "0.1").stdout
    refused(run("campaign", "delete", "copied"), "--yes is missing", "no terminal")
    monkeypatch.setattr(verbs, "sys", SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True)))
    monkeypatch.setattr("typer.confirm", lambda *_, **__: False)
    asked = run("campaign", "delete", "copied")
    assert asked.exit_code == 1
    assert "copied is finished: 0 answers, 1 selection and the record to audit are gone then." in asked.stderr
    assert "Nothing was changed." in asked.stderr
    assert "copied-2 is a draft: its plan is gone then" in run("campaign", "delete", "copied-2").stderr
    monkeypatch.setattr("typer.confirm", lambda *_, **__: True)
    assert run("campaign", "delete", "copied").stdout.endswith("deleted: copied\n")
    refused(run("campaign", "status", "copied"), "not-found")
    refused(run("campaign", "create", "copied", "--area", area, *PLAN), "belonged to a campaign that was deleted")
    assert run("campaign", "delete", "copied-2", "--yes").exit_code == 0
    assert run("campaign", "create", "copied-2", "--area", area, *PLAN).exit_code == 0


def test_status_says_until_when_a_server_keeps_a_campaign(
    run: Run, service: LocalServer, area: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("campaign", "create", "kept", "--area", area, *PLAN)
    found = json.loads(run("campaign", "status", "kept", "--json").stdout)

    def shown(**changes: object) -> str:
        show_view(CampaignView.model_validate({**found, **changes}), json=False)
        return capsys.readouterr().out

    assert "kept" not in shown().replace("campaign: kept: kept", "")
    assert "kept for: 1 day after it is finished; the server deletes it then\n" in shown(keep_days=1)
    ended = shown(state="finished", finished=1_700_000_000, keep_days=30, kept_until=1_702_592_000)
    assert "finished: 2023-11-14 22:13 UTC\n" in ended
    assert "kept until: 2023-12-14 22:13 UTC; the server deletes it then\n" in ended
