"""Editing drafts, deleting campaigns, and keeping finished ones for so many days, over HTTP."""

from __future__ import annotations

import json

import pytest

from crowdveil.server.settings import DAY_S, ServerSettings
from crowdveil.store import Store, get_campaign, open_store
from crowdveil.wire import CampaignPlan, CampaignView, Problem, ReplacedPlan, Report, Seat
from tests.server.harness import CLEAR, NAME, NOW, SEED, ServerHarness, kind_of, plan

PANEL = {"panel": True, "wanted": None, "seed": None, "rounds": 1}


def create(server: ServerHarness, new: CampaignPlan, name: str = NAME) -> CampaignView:
    return CampaignView.from_bytes(server.operate("PUT", f"/campaigns/{name}", new.to_bytes()).content)


def edit(server: ServerHarness, new: CampaignPlan) -> ReplacedPlan:
    answer = server.operate("PUT", f"/campaigns/{NAME}/plan", new.to_bytes())
    assert answer.status_code == 200, answer.text
    return ReplacedPlan.from_bytes(answer.content)


def seed_of(server: ServerHarness) -> str:
    found = get_campaign(server.store, NAME)
    assert found is not None
    return found.seed


def finish(server: ServerHarness, name: str = NAME) -> None:
    """Start a campaign of one round, let one device report, and close it."""
    server.start(plan(rounds=1), name)
    assert server.report("a-device", 0, name).status_code == 200
    assert server.change("closed", name).status_code == 200
    server.step()
    assert server.view(name).state == "finished"


def delete(server: ServerHarness, name: str = NAME) -> int:
    return server.operate("DELETE", f"/campaigns/{name}").status_code


# --- edit -----------------------------------------------------------------------------------------------------


def test_a_draft_takes_a_new_plan_and_runs_it(server: ServerHarness) -> None:
    old = create(server, plan(rounds=1))
    new = plan(rounds=1, name="Louder", targets=(6,), enrolment="open")
    found = edit(server, new)
    assert (found.campaign.plan, found.invites_deleted) == (new, 0)
    assert found.campaign.terms_hash != old.terms_hash
    assert found.campaign == server.view()
    assert server.take_seat("early").status_code == 404  # asking for a seat in a draft makes nothing known of it
    again = edit(server, plan(rounds=1, name="Loudest", targets=(6,)))
    assert server.change("open").status_code == 200
    server.step()
    terms = server.announcement().terms
    assert (terms.name, terms.hash, terms.offer) == ("Loudest", again.campaign.terms_hash, new.offer)
    assert Seat.from_bytes(server.take_seat("a-device").content).terms_hash == terms.hash


def test_the_seed_stays_unless_a_plan_names_one_or_named_the_old_one(server: ServerHarness) -> None:
    create(server, plan(seed=None))
    drawn = seed_of(server)
    edit(server, plan(seed=None, wanted=2))
    assert seed_of(server) == drawn
    assert edit(server, plan(seed=SEED)).campaign.plan.seed == SEED
    assert seed_of(server) == SEED
    edit(server, plan(**PANEL))  # whoever knew the seed would foretell all lotteries of the panel
    assert seed_of(server) not in (SEED, drawn)


def test_invites_to_the_old_terms_are_deleted_and_counted(server: ServerHarness) -> None:
    create(server, plan(enrolment="invite", **{"rounds": 1}))
    made = server.operate("POST", f"/campaigns/{NAME}/invites", b'{"protocol":1,"count":7}').json()["invites"]
    assert edit(server, plan(enrolment="invite", rounds=1, wanted=2)).invites_deleted == 0  # devices are told no number
    assert edit(server, plan(enrolment="invite", rounds=1, name="Louder")).invites_deleted == 7
    assert server.change("open").status_code == 200
    server.step()
    assert kind_of(server.take_seat("a-device", invite=made[0])) == "bad-invite"
    late = server.operate("POST", f"/campaigns/{NAME}/invites", b'{"protocol":1,"count":1}').json()
    assert late["terms_hash"] == server.announcement().terms.hash
    assert server.take_seat("a-device", invite=late["invites"][0]).status_code == 200


def test_a_plan_is_checked_like_a_new_one_and_a_refused_one_changes_nothing(server: ServerHarness) -> None:
    before = create(server, plan())
    for body, kind in (
        (plan(**{**CLEAR, "beyond_default_limits": False}).to_bytes(), "invalid"),
        (plan(targets=(16,)).to_bytes(), "invalid"),
        (b'{"protocol":1}', "invalid"),
        (b"{", "malformed"),
    ):
        assert kind_of(server.operate("PUT", f"/campaigns/{NAME}/plan", body)) == kind
    assert server.view() == before
    assert kind_of(server.operate("PUT", "/campaigns/tea/plan", plan().to_bytes())) == "not-found"


@pytest.mark.parametrize("state", ["open", "paused", "closed"])
def test_what_was_started_keeps_its_plan(server: ServerHarness, state: str) -> None:
    create(server, plan())
    for step in dict.fromkeys(("open", state)):
        assert server.change(step).status_code == 200
    for new in (plan(), plan(wanted=2)):
        answer = server.operate("PUT", f"/campaigns/{NAME}/plan", new.to_bytes())
        assert kind_of(answer) == "wrong-state"
        assert Problem.from_bytes(answer.content).value == repr(state)
    assert server.view().plan == plan()


def test_what_to_expect_of_a_draft_panel_follows_its_plan(server: ServerHarness) -> None:
    asked = json.dumps({"protocol": 1, "targets": [5], "wanted": 2}).encode()

    def expected(name: str = NAME) -> str:
        answer = server.operate("POST", f"/campaigns/{name}/expectation", asked)
        assert answer.status_code == 200, answer.text
        return answer.text

    create(server, plan(**PANEL))
    before = expected()
    many = plan(**{**PANEL, "users": 48})
    edit(server, many)
    create(server, many, "fresh")
    assert expected() == expected("fresh") != before


# --- delete ---------------------------------------------------------------------------------------------------


def test_a_deleted_draft_is_gone_and_its_id_is_free(server: ServerHarness) -> None:
    create(server, plan())
    assert delete(server) == 204
    assert kind_of(server.operate("GET", f"/campaigns/{NAME}")) == "not-found"
    assert server.operate("GET", "/campaigns").json()["campaigns"] == []
    assert delete(server) == 404
    assert create(server, plan(wanted=2)).plan.wanted == 2


def test_what_runs_is_refused_with_what_to_do(server: ServerHarness) -> None:
    server.start()
    for state in ("open", "paused"):
        assert server.change(state).status_code == 200
        answer = server.operate("DELETE", f"/campaigns/{NAME}")
        assert kind_of(answer) == "wrong-state"
        assert answer.json()["detail"] == (f"state = '{state}': should be draft or finished; close the campaign first")
    assert server.view().state == "paused"


def devices_answers(server: ServerHarness, name: str, seat: Seat) -> list[tuple[int, str]]:
    """What a device is told that takes part in a campaign, or would like to."""
    found = [
        server.ask("GET", f"/v1/campaigns/{name}"),
        server.ask("GET", f"/v1/campaigns/{name}/rounds/0/policy"),
        server.take_seat("a-device", name),
        server.take_seat("another", name),
        server.send_report("a-device", Report.of(seat, 0), name),
        server.withdraw("a-device", name),
        server.ask("GET", f"/v1/campaigns/{name}/status", authorization="Bearer a-device"),
    ]
    return [(one.status_code, one.text.replace(name, "…")) for one in found]


@pytest.mark.parametrize("age_s", [0.0, 3600.0])
def test_devices_are_told_of_a_deleted_campaign_what_they_are_told_of_none(store: Store, age_s: float) -> None:
    with ServerHarness(store, ServerSettings(announcement_age_s=age_s)) as server:
        finish(server)
        seat = Seat.from_bytes(server.take_seat("a-device").content)
        before = devices_answers(server, NAME, seat)
        assert [status for status, _ in before] == [200, 200, 200, 409, 200, 409, 200]
        assert delete(server) == 204
        assert devices_answers(server, NAME, seat) == devices_answers(server, "nowhere", seat)
        answer = server.operate("PUT", f"/campaigns/{NAME}", plan(rounds=1).to_bytes())
        assert kind_of(answer) == "wrong-state"
        assert "belonged to a campaign that was deleted" in answer.text


def test_another_process_learns_of_it_from_the_database(url: str, store: Store) -> None:
    with open_store(url) as elsewhere, ServerHarness(store) as server, ServerHarness(elsewhere) as other:
        finish(server)
        seat = Seat.from_bytes(other.take_seat("a-device").content)
        assert devices_answers(other, NAME, seat)[1][0] == 200  # it has the policy and the terms in its memory now
        assert delete(server) == 204
        assert devices_answers(other, NAME, seat) == devices_answers(other, "nowhere", seat)


def test_a_policy_is_asked_for_once_while_it_is_known_to_exist(store: Store) -> None:
    with ServerHarness(store, ServerSettings(announcement_age_s=3600)) as server:
        server.start()
        services = server.app.state.services
        assert services.cached_policy(NAME, 0) is None
        body = server.ask("GET", f"/v1/campaigns/{NAME}/rounds/0/policy").content
        assert services.cached_policy(NAME, 0)[0] == body
    with ServerHarness(store) as server:  # nothing is taken to exist without asking
        server.ask("GET", f"/v1/campaigns/{NAME}/rounds/0/policy")
        assert server.app.state.services.cached_policy(NAME, 0) is None


def test_a_finished_panel_is_deleted_with_its_selections(server: ServerHarness) -> None:
    server.start(plan(**PANEL), "panel")
    for number in range(12):
        assert server.report(f"device-{number}", 0, "panel").status_code == 200
    server.step()
    asked = json.dumps({"protocol": 1, "targets": [5], "wanted": 2}).encode()
    assert server.operate("PUT", "/campaigns/panel/selections/0", asked).status_code == 200
    assert server.change("closed", "panel").status_code == 200
    server.step()
    assert delete(server, "panel") == 204
    assert kind_of(server.operate("PUT", "/campaigns/panel/selections/1", asked)) == "not-found"
    assert server.step() == []


# --- how long finished campaigns are kept ---------------------------------------------------------------------


def test_finished_campaigns_are_deleted_after_so_many_days(store: Store) -> None:
    with ServerHarness(store, ServerSettings(announcement_age_s=0, keep_days=30)) as server:
        create(server, plan(), "draft")
        server.start(plan(deadline_s=None), "running")
        finish(server)
        view = server.view()
        assert (view.finished, view.keep_days, view.kept_until) == (NOW, 30, NOW + 30 * DAY_S)
        assert (server.view("running").keep_days, server.view("running").kept_until) == (30, None)
        assert [one for one in server.step(30 * DAY_S - 1) if one.campaign == NAME] == []
        assert [(one.event, one.campaign) for one in server.step(1)] == [("campaign-deleted", NAME)]
        assert server.step() == []
        assert [one["campaign"] for one in server.operate("GET", "/campaigns").json()["campaigns"]] == [
            "draft",
            "running",
        ]
        assert server.ask("GET", f"/v1/campaigns/{NAME}/rounds/0/policy").status_code == 404


def test_without_a_limit_they_are_kept(server: ServerHarness) -> None:
    finish(server)
    assert (server.view().keep_days, server.view().kept_until) == (None, None)
    assert server.step(100_000 * DAY_S) == []
    assert server.view().state == "finished"


def test_two_schedulers_delete_a_campaign_once(url: str, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = ServerSettings(announcement_age_s=0, keep_days=1)
    with (
        open_store(url) as elsewhere,
        ServerHarness(store, settings) as one,
        ServerHarness(elsewhere, settings) as other,
    ):
        finish(one)
        other.now = one.now = NOW + DAY_S
        before = other.store
        seen = [get_campaign(before, NAME)]
        assert [event.event for event in one.step()] == ["campaign-deleted"]
        monkeypatch.setattr("crowdveil.server.scheduler.list_campaigns", lambda _: seen)
        assert other.step() == []  # it read the list before, and finds nothing to delete


@pytest.mark.parametrize("days", [0, -1, 36_501, 1.5, True])
def test_a_number_of_days_that_cannot_be_is_refused(days: float) -> None:
    with pytest.raises(ValueError, match=r"keep_days = .*: should be a whole number of days from 1 to 36,500"):
        ServerSettings(keep_days=days)  # type: ignore[arg-type]
