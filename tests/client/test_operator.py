"""The operator's side of the line, against the real application: every request, and refusals in the server's words."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import pytest

import crowdveil as cv
from crowdveil.client import HttpReply, HttpRequest, Operator, RetryPolicy
from crowdveil.errors import CampaignRefused, ServerRefused, ServerUnreachable
from crowdveil.store import open_store
from crowdveil.wire import SelectionRow
from tests.client.fake_server import no_answer
from tests.server.harness import NAME, TOKEN, ServerHarness, plan


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerHarness]:
    with open_store(f"sqlite:///{tmp_path / 'server.sqlite'}") as store, ServerHarness(store) as opened:
        yield opened


@pytest.fixture
def operator(server: ServerHarness) -> Operator:
    return Operator(server, TOKEN, sleep=lambda _: None)


def test_a_campaign_is_run_from_draft_to_record(server: ServerHarness, operator: Operator) -> None:
    assert operator.campaigns().campaigns == ()
    assert operator.create(NAME, plan()).state == "draft"
    assert operator.create(NAME, plan()).state == "draft"
    assert [one.campaign for one in operator.campaigns().campaigns] == [NAME]
    assert operator.set_state(NAME, "open").state == "open"
    for _ in range(2):
        server.step()
        for _ in range(6):
            server.report(f"secret-{len(server.view().rounds)}-{server.view().rounds[-1].accepted}", 0)
    server.step()
    view = operator.view(NAME)
    assert (view.state, view.selected) == ("finished", 3)
    rows = list(csv.DictReader(io.StringIO(operator.selection_csv(NAME))))
    assert list(rows[0]) == list(SelectionRow.model_fields)
    assert [int(row["participant"]) for row in rows] == list(operator.record(NAME).selections[0].participants)


def test_a_preview_keeps_nothing(operator: Operator) -> None:
    preview = operator.preview(plan())
    assert preview.expected_coverage > preview.by_chance
    assert operator.campaigns().campaigns == ()


def test_invites_are_as_many_as_asked_for_and_all_different(server: ServerHarness, operator: Operator) -> None:
    operator.create(NAME, plan(enrolment="invite"))
    assert len(set(operator.invites(NAME, 20).invites)) == 20
    with pytest.raises(cv.InputError, match="count = 0"):
        operator.invites(NAME, 0)


def test_any_number_of_invites_is_made_in_as_many_requests_as_that_takes(
    operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crowdveil.client.operator.MAX_INVITES", 7)
    operator.create(NAME, plan(enrolment="invite"))
    seen: list[tuple[int, int]] = []
    made = operator.make_invites(NAME, 20, progress=lambda done, of: seen.append((done, of)))
    assert len(set(made.invites)) == 20
    assert made.terms_hash == operator.view(NAME).terms_hash
    assert seen == [(7, 20), (14, 20), (20, 20)]
    with pytest.raises(cv.InputError, match="count = 0"):
        operator.make_invites(NAME, 0)


def test_a_campaign_has_at_most_ten_invites_for_each_person(
    operator: Operator, server: ServerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crowdveil.client.operator.MAX_INVITES", 50)
    operator.create(NAME, plan(enrolment="invite"))
    most = 10 * plan().users
    with pytest.raises(cv.InputError, match=f"count = 100000000: should be at most {most}: 10 for each person who may"):
        operator.make_invites(NAME, 100_000_000)
    operator.make_invites(NAME, most - 30)
    with pytest.raises(
        ServerRefused, match="count = 50: should be at most 30: 10 for each person who may take part, of which 90 exist"
    ):
        operator.make_invites(NAME, 50)
    operator.set_state(NAME, "open")
    server.step()
    assert operator.make_invites(NAME, 30).invites
    with pytest.raises(ServerRefused, match=r"count = 1: should be at most 0: .* of which 120 exist"):
        operator.invites(NAME, 1)


def test_waiting_ends_when_the_campaign_is_open_and_when_it_is_finished(server: ServerHarness) -> None:
    def step(_: float) -> None:
        server.step()

    operator = Operator(server, TOKEN, sleep=step)
    operator.create(NAME, plan())
    operator.set_state(NAME, "open")
    assert [bool(one.policy_hash) for one in operator.wait_until_open(NAME).rounds] == [True]
    operator.set_state(NAME, "closed")
    seen: list[tuple[int, int]] = []
    assert operator.wait_until_finished(NAME, progress=lambda done, of: seen.append((done, of))).state == "finished"
    assert set(seen) == {(0, plan().users)}


def test_waiting_for_a_policy_ends_when_the_time_is_up(operator: Operator) -> None:
    operator.create(NAME, plan())
    assert operator.wait_until_open(NAME, timeout_s=0.0).state == "draft"


def test_refusals_are_in_the_servers_words(operator: Operator) -> None:
    with pytest.raises(ServerRefused, match="not-found") as refused:
        operator.view("nowhere")
    assert refused.value.kind == "not-found"
    operator.create(NAME, plan())
    with pytest.raises(ServerRefused, match="wrong-state"):
        operator.record(NAME)
    with pytest.raises(ServerRefused):
        operator.create(NAME, plan(users=13))


def test_a_wrong_token_is_refused_and_a_torn_one_not_even_sent(server: ServerHarness) -> None:
    with pytest.raises(ServerRefused, match="unauthorized"):
        Operator(server, "another-token", sleep=lambda _: None).campaigns()
    for torn in ("", " spaced", "two\nlines", "naïve"):
        with pytest.raises(cv.InputError, match="token") as refused:
            Operator(server, torn)
        assert torn not in str(refused.value) or not torn


def test_a_busy_server_is_asked_again_and_a_dead_one_is_told_about(server: ServerHarness) -> None:
    class Shaky:
        def __init__(self, failures: int) -> None:
            self.failures = failures

        def send(self, request: HttpRequest) -> HttpReply:
            self.failures -= 1
            return no_answer() if self.failures >= 0 else server.send(request)

    retry_policy = RetryPolicy(attempts=3)
    assert Operator(Shaky(2), TOKEN, retry_policy=retry_policy, sleep=lambda _: None).campaigns().campaigns == ()
    with pytest.raises(ServerUnreachable, match="Is the server running"):
        Operator(Shaky(3), TOKEN, retry_policy=retry_policy, sleep=lambda _: None).campaigns()


def test_an_answer_that_is_none_is_refused() -> None:
    class Odd:
        def send(self, request: HttpRequest) -> HttpReply:
            return HttpReply(200, body=b"\xff" + request.body)

    operator = Operator(Odd(), TOKEN, sleep=lambda _: None)
    for ask in (operator.campaigns, lambda: operator.selection_csv(NAME), lambda: operator.record(NAME)):
        with pytest.raises(CampaignRefused, match="answer is not valid"):
            ask()


def test_a_campaigns_name_cannot_leave_its_place_in_the_path(server: ServerHarness) -> None:
    seen: list[str] = []

    class Watching:
        def send(self, request: HttpRequest) -> HttpReply:
            seen.append(request.path)
            return server.send(request)

    with pytest.raises(ServerRefused):
        Operator(Watching(), TOKEN, sleep=lambda _: None).view("../preview?x=1")
    assert seen == ["/v1/operator/campaigns/..%2Fpreview%3Fx%3D1"]


def test_operators_tokens_shares_and_the_log_are_asked_for_by_name(server: ServerHarness, operator: Operator) -> None:
    assert (operator.me().name, operator.me().role) == ("operator", "owner")
    assert operator.put_operator("ann", "planner").tokens == 0
    made = operator.make_token("ann", days=2)
    ann = Operator(server, made.token, sleep=lambda _: None)
    ann.create(NAME, plan())
    assert ann.share(NAME, "operator").shared_with == ("operator",)
    assert ann.unshare(NAME, "operator").shared_with == ()
    assert [one.id for one in ann.tokens("ann").tokens] == [made.id]
    with pytest.raises(ServerRefused, match="forbidden"):
        ann.put_operator("ann", "owner")
    with pytest.raises(cv.InputError, match="role = 'king'"):
        operator.put_operator("ann", "king")  # type: ignore[arg-type]
    found = operator.activity(limit=2)
    assert [one.action for one in found.activity] == ["campaign-unshared", "campaign-shared"]
    assert operator.activity(before=found.earlier, limit=1).activity[0].action == "campaign-created"
    operator.revoke_token(made.id)
    with pytest.raises(ServerRefused, match="unauthorized"):
        ann.me()
    operator.remove_operator("ann")
    assert [one.name for one in operator.operators().operators] == ["operator"]


def test_a_draft_is_edited_copied_and_deleted(server: ServerHarness, operator: Operator) -> None:
    operator.create(NAME, plan(enrolment="invite", name=NAME))
    operator.invites(NAME, 3)
    replaced = operator.replace_plan(NAME, plan(enrolment="invite", name=NAME, users=24))
    assert (replaced.campaign.plan.users, replaced.invites_deleted) == (24, 0)
    assert operator.replace_plan(NAME, plan(enrolment="invite", name=NAME, targets=(6,))).invites_deleted == 3
    copied, again = operator.copy(NAME, "again"), operator.view("again")
    assert copied == again
    assert copied.plan == plan(enrolment="invite", name="again", targets=(6,), seed=None)  # the seed is its own
    assert operator.copy(NAME, "again") == copied  # the same request again changes nothing
    operator.create("named", plan())
    assert operator.copy("named", "like-it").plan.name == plan().name != "named"
    operator.delete(NAME)
    with pytest.raises(ServerRefused, match="not-found"):
        operator.view(NAME)
    operator.set_state("again", "open")
    with pytest.raises(ServerRefused, match="close the campaign first"):
        operator.delete("again")
    assert operator.copy("again", "third").state == "draft"
