"""What each role may do, on every route and every campaign; tokens that end; the last owner; the activity log."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx
import pytest
from sqlalchemy import event

from crowdveil.server.settings import DAY_S
from crowdveil.store import MAX_TOKENS, Store, open_store
from crowdveil.wire import Activity, ActivityList, CampaignView, NewToken, Problem, SignedIn, TokenList
from tests.server.harness import NAME, NOW, SEED, TOKEN, ServerHarness, kind_of, plan
from tests.server.test_requests import ASKED, ROLES

PLAN = plan().to_bytes()
Relations = dict[str, Any]
OK = "ok"
"""What the route answers whoever may ask: the operator's column of `ROLES`."""

EVERYONE: dict[str, Relations] = {role: {"self": OK} for role in ("owner", "planner", "viewer")}
NOBODY: Relations = dict.fromkeys(("self", "other", "nobody"), 403)
OWNERS: dict[str, Relations] = {
    "owner": dict.fromkeys(("self", "other", "nobody"), OK),
    "planner": NOBODY,
    "viewer": NOBODY,
}
OWN_TOKENS: dict[str, Relations] = {
    "owner": {"self": OK, "other": OK, "nobody": 404},
    "planner": {"self": OK, "other": 404, "nobody": 404},
    "viewer": {"self": OK, "other": 404, "nobody": 404},
}
SEEN: dict[str, Relations] = {
    "owner": {"own": OK, "shared": OK, "foreign": OK, "nowhere": 404},
    "planner": {"own": OK, "shared": OK, "foreign": 404, "nowhere": 404},
    "viewer": {"own": OK, "shared": OK, "foreign": 404, "nowhere": 404},
}
NO_VIEWER: Relations = dict.fromkeys(("own", "shared", "foreign", "nowhere"), 403)
RUN = {**SEEN, "viewer": NO_VIEWER}
OWNED: dict[str, Relations] = {**RUN, "planner": {"own": OK, "shared": 403, "foreign": 404, "nowhere": 404}}
CREATED: dict[str, Relations] = {
    "owner": {"own": OK, "shared": OK, "foreign": OK, "nowhere": OK},
    "planner": {"own": OK, "shared": OK, "foreign": 409, "nowhere": OK},
    "viewer": NO_VIEWER,
}
CAMPAIGN = "/v1/operator/campaigns/{campaign}"
ACCESS: dict[tuple[str, str], dict[str, Relations]] = {
    ("GET", "/v1/operator/campaigns"): EVERYONE,
    ("POST", "/v1/operator/preview"): EVERYONE,
    ("POST", "/v1/operator/area"): EVERYONE,
    ("PUT", CAMPAIGN): CREATED,
    ("GET", CAMPAIGN): SEEN,
    ("GET", f"{CAMPAIGN}/estimates"): SEEN,
    ("GET", f"{CAMPAIGN}/selections"): SEEN,
    ("POST", f"{CAMPAIGN}/expectation"): SEEN,
    ("PUT", f"{CAMPAIGN}/state"): RUN,
    ("PUT", f"{CAMPAIGN}/plan"): RUN,
    ("DELETE", CAMPAIGN): OWNED,
    ("POST", f"{CAMPAIGN}/invites"): RUN,
    ("PUT", f"{CAMPAIGN}/selections/{{number}}"): RUN,
    ("GET", f"{CAMPAIGN}/selections/{{number}}"): RUN,
    ("GET", f"{CAMPAIGN}/record"): RUN,
    ("PUT", f"{CAMPAIGN}/shares/{{name}}"): OWNED,
    ("DELETE", f"{CAMPAIGN}/shares/{{name}}"): OWNED,
    ("GET", "/v1/operator/me"): EVERYONE,
    ("GET", "/v1/operator/operators"): OWNERS,
    ("PUT", "/v1/operator/operators/{name}"): OWNERS,
    ("DELETE", "/v1/operator/operators/{name}"): {**OWNERS, "owner": {"self": OK, "other": OK, "nobody": 404}},
    ("GET", "/v1/operator/operators/{name}/tokens"): OWN_TOKENS,
    ("POST", "/v1/operator/operators/{name}/tokens"): {
        **OWN_TOKENS,
        "viewer": NOBODY,
    },
    ("DELETE", "/v1/operator/tokens/{token}"): OWN_TOKENS,
    ("GET", "/v1/operator/activity"): EVERYONE,
}
"""What each role is answered on every route, by whose the campaign, operator or token is."""
BODIES: dict[tuple[str, str], bytes] = {
    ("POST", "/v1/operator/preview"): PLAN,
    ("POST", "/v1/operator/area"): b'{"protocol":1,"bounds":[40.65,-74.03,40.7,-73.98],"cell_km":1.0}',
    ("PUT", CAMPAIGN): PLAN,
    ("POST", f"{CAMPAIGN}/expectation"): ASKED,
    ("PUT", f"{CAMPAIGN}/plan"): PLAN,
    ("PUT", f"{CAMPAIGN}/state"): b'{"protocol":1,"state":"open"}',
    ("POST", f"{CAMPAIGN}/invites"): b'{"protocol":1,"count":1}',
    ("PUT", f"{CAMPAIGN}/selections/{{number}}"): ASKED,
    ("POST", "/v1/operator/operators/{name}/tokens"): b'{"protocol":1}',
}


NEW = {("DELETE", "/v1/operator/tokens/{token}"): 204, ("PUT", f"{CAMPAIGN}/shares/{{name}}"): 200}
"""What is answered where it exists; `ROLES` has the answer where it does not."""


class Team:
    """Operators of a server, and the requests of each."""

    def __init__(self, server: ServerHarness) -> None:
        self.server = server
        self.tokens = {"operator": TOKEN}

    def ask(self, who: str, method: str, path: str, body: bytes | Mapping[str, object] | None = None) -> httpx.Response:
        sent = json.dumps({"protocol": 1, **body}).encode() if isinstance(body, Mapping) else body
        return self.server.ask(method, f"/v1/operator{path}", sent, authorization=f"Bearer {self.tokens[who]}")

    def put(self, name: str, role: str, by: str = "operator") -> httpx.Response:
        return self.ask(by, "PUT", f"/operators/{name}", {"role": role})

    def make_token(self, name: str, by: str = "operator", **fields: object) -> NewToken:
        answer = self.ask(by, "POST", f"/operators/{name}/tokens", fields)
        assert answer.status_code == 200, answer.text
        return NewToken.from_bytes(answer.content)

    def add(self, name: str, role: str, days: int | None = None) -> NewToken:
        assert self.put(name, role).status_code == 200
        made = self.make_token(name, days=days)
        self.tokens[name] = made.token
        return made

    def create(self, campaign: str, by: str = "operator", **changes: Any) -> None:
        assert self.ask(by, "PUT", f"/campaigns/{campaign}", plan(**changes).to_bytes()).status_code == 200

    def share(self, campaign: str, name: str, by: str = "operator") -> None:
        assert self.ask(by, "PUT", f"/campaigns/{campaign}/shares/{name}").status_code == 200

    def log(self, who: str = "operator", query: str = "?limit=200") -> ActivityList:
        return ActivityList.from_bytes(self.ask(who, "GET", f"/activity{query}").content)


@pytest.fixture
def team(server: ServerHarness) -> Team:
    """Oona is an owner too, Paul a planner, Vera a viewer; Bob is a planner with campaigns of his own."""
    found = Team(server)
    for name, role in (("oona", "owner"), ("paul", "planner"), ("vera", "planner"), ("bob", "planner")):
        found.add(name, role)
    for name in ("oona", "paul", "vera"):
        found.create(f"{name}-own", name)
        found.create(f"{name}-shared", "bob")
        found.share(f"{name}-shared", name, "bob")
    found.create("foreign", "bob")
    assert found.put("vera", "viewer").status_code == 200
    return found


MEMBERS = {"owner": "oona", "planner": "paul", "viewer": "vera"}


def where(team: Team, method: str, path: str, who: str, whose: str) -> tuple[str, bytes | None]:
    """The address and the body for a request about one's own, another's or nobody's campaign, operator or token."""
    body = BODIES.get((method, path))
    if path.startswith(CAMPAIGN):
        campaign = {"own": f"{who}-own", "shared": f"{who}-shared"}.get(whose, whose)
        if method == "PUT" and path == CAMPAIGN and whose == "nowhere":
            campaign = f"{who}-new"
        return path.format(campaign=campaign, number=0, name="operator"), body
    if path == "/v1/operator/operators/{name}" and method == "DELETE":
        team.put("spare", "viewer")
        return path.format(name={"self": "spare", "other": "spare", "nobody": "nobody"}[whose]), None
    if path == "/v1/operator/operators/{name}" and method == "PUT" and whose == "nobody":
        return path.format(name=f"{who}-new"), b'{"protocol":1,"role":"viewer"}'
    if path == "/v1/operator/operators/{name}":
        role = {"self": next(role for role, name in MEMBERS.items() if name == who)}.get(whose, "planner")
        body = json.dumps({"protocol": 1, "role": role}).encode()
    name = {"self": who, "other": "bob"}.get(whose, "nobody")
    if path.endswith("/preview"):
        return f"{path}?curves=no", body
    token = "0" * 12 if whose == "nobody" or "{token}" not in path else team.make_token(name).id
    return path.format(name=name, token=token), body


def test_every_route_answers_every_role_by_whose_the_thing_is(team: Team) -> None:
    document = team.server.ask("GET", "/openapi.json").json()
    routes = {(method.upper(), path) for path, answers in document["paths"].items() for method in answers}
    assert {route for route in routes if route[1].startswith("/v1/operator/")} == ACCESS.keys()
    for (method, path), roles in ACCESS.items():
        assert roles.keys() == MEMBERS.keys(), path
        for role, relations in roles.items():
            for whose, expected in relations.items():
                address, body = where(team, method, path, MEMBERS[role], whose)
                answer = team.ask(MEMBERS[role], method, address.removeprefix("/v1/operator"), body)
                if expected == OK:
                    expected = NEW.get((method, path)) or ROLES[method, path]["operator"]
                assert answer.status_code == expected, (method, path, role, whose, answer.text)
                assert str(expected) in document["paths"][path][method.lower()]["responses"], (method, path, expected)


@contextmanager
def counted(store: Store) -> Iterator[list[str]]:
    """The statements that a block sends to the database."""
    sent: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        sent.append(statement)

    event.listen(store._engine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        event.remove(store._engine, "before_cursor_execute", note)


def test_a_campaign_of_others_is_answered_like_one_that_does_not_exist(team: Team) -> None:
    compared = 0
    for (method, path), roles in ACCESS.items():
        for role, relations in roles.items():
            if path.startswith(CAMPAIGN) and relations["foreign"] == 404:
                found = []
                for campaign in ("foreign", "nowhere"):
                    address, body = where(team, method, path, MEMBERS[role], campaign)
                    with counted(team.server.store) as statements:
                        answer = team.ask(MEMBERS[role], method, address.removeprefix("/v1/operator"), body)
                    words = answer.text.replace(campaign, "…")
                    found.append(
                        (answer.status_code, words, dict(answer.headers, **{"content-length": ""}), statements)
                    )
                assert found[0] == found[1], (method, path, role)
                compared += 1
    assert compared >= 12


def test_lists_show_what_is_ones_own_or_shared(team: Team) -> None:
    def listed(who: str) -> set[str]:
        return {one["campaign"] for one in team.ask(who, "GET", "/campaigns").json()["campaigns"]}

    assert listed("paul") == {"paul-own", "paul-shared"}
    assert listed("vera") == {"vera-own", "vera-shared"}
    assert listed("bob") == {"paul-shared", "vera-shared", "oona-shared", "foreign"}
    assert listed("oona") == listed("operator") == listed("bob") | {"paul-own", "vera-own", "oona-own"}
    view = CampaignView.from_bytes(team.ask("vera", "GET", "/campaigns/vera-shared").content)
    assert (view.operator, view.shared_with) == ("bob", ("vera",))
    assert view.plan.seed is None, "whoever knows the seed can foretell the lottery"
    assert CampaignView.from_bytes(team.ask("bob", "GET", "/campaigns/vera-shared").content).plan.seed == SEED


def test_a_share_ends_and_the_name_of_a_removed_operator_inherits_nothing(team: Team) -> None:
    assert team.ask("bob", "DELETE", "/campaigns/paul-shared/shares/paul").status_code == 200
    assert team.ask("bob", "DELETE", "/campaigns/paul-shared/shares/paul").status_code == 200  # again: no change
    assert kind_of(team.ask("paul", "GET", "/campaigns/paul-shared")) == "not-found"
    assert kind_of(team.ask("bob", "PUT", "/campaigns/foreign/shares/nobody")) == "not-found"
    assert CampaignView.from_bytes(team.ask("bob", "PUT", "/campaigns/foreign/shares/bob").content).shared_with == ()
    assert team.ask("operator", "DELETE", "/operators/bob").status_code == 204
    assert kind_of(team.ask("bob", "GET", "/me")) == "unauthorized"
    assert CampaignView.from_bytes(team.ask("operator", "GET", "/campaigns/foreign").content).operator is None
    team.server.now += 1
    team.add("bob", "planner")
    assert team.ask("bob", "GET", "/campaigns").json()["campaigns"] == []
    assert team.log("bob").activity == ()
    assert kind_of(team.ask("operator", "DELETE", "/operators/nobody")) == "not-found"


def test_a_role_counts_from_the_next_request_on_and_nobody_raises_their_own(team: Team) -> None:
    assert team.ask("paul", "PUT", "/campaigns/paul-own/state", {"state": "open"}).status_code == 200
    assert kind_of(team.put("paul", "owner", by="paul")) == "forbidden"
    assert team.put("paul", "viewer").status_code == 200
    refused = team.ask("paul", "PUT", "/campaigns/paul-own/state", {"state": "paused"})
    assert "'paul' is a viewer; only owners and planners may do this" in Problem.from_bytes(refused.content).detail
    assert team.put("vera", "owner").status_code == 200
    assert team.ask("vera", "GET", "/campaigns/foreign").status_code == 200


@pytest.mark.parametrize("name", ["Ann", "-ann", "a_b", "ann%20b", "a" * 64, "ä"])
def test_names_are_those_of_ids(server: ServerHarness, name: str) -> None:
    refused = Team(server).put(name, "viewer")
    assert kind_of(refused) == "invalid"
    assert refused.json()["expected"] == "should be small letters, digits and - (at most 63), such as ann"
    assert refused.json()["field"] == "name"


def test_bad_requests_about_operators_name_the_field(team: Team) -> None:
    for path, body, field in (
        ("PUT /operators/eve", {"role": "king"}, "role"),
        ("PUT /operators/eve", {"role": "viewer", "token": "x"}, "token"),
        ("POST /operators/bob/tokens", {"days": 0}, "days"),
        ("POST /operators/bob/tokens", {"days": 3651}, "days"),
        ("GET /activity?limit=201", None, "limit"),
        ("GET /activity?before=0", None, "before"),
        ("DELETE /tokens/short", None, "token"),
    ):
        method, address = path.split(" ")
        answer = team.ask("operator", method, address, body)
        assert kind_of(answer) == "invalid", (path, answer.text)
        assert answer.json()["field"] == field


# --- tokens ---------------------------------------------------------------------------------------------------


def test_a_token_is_shown_once_listed_by_its_id_and_replaced(team: Team) -> None:
    first, second = team.make_token("paul", "paul"), team.make_token("paul", "paul", days=30)
    assert second.expires == NOW + 30 * DAY_S
    found = TokenList.from_bytes(team.ask("paul", "GET", "/operators/paul/tokens").content)
    assert {first.id, second.id} <= {one.id for one in found.tokens}
    assert first.token not in team.ask("operator", "GET", "/operators/paul/tokens").text
    team.tokens["paul"] = second.token
    who = SignedIn.from_bytes(team.ask("paul", "GET", "/me").content)
    assert (who.name, who.role, who.token, who.expires) == ("paul", "planner", second.id, second.expires)
    assert team.ask("paul", "DELETE", f"/tokens/{first.id}").status_code == 204
    assert kind_of(team.ask("paul", "DELETE", f"/tokens/{first.id}")) == "not-found"
    assert team.ask("paul", "DELETE", f"/tokens/{second.id}").status_code == 204  # signs out
    assert kind_of(team.ask("paul", "GET", "/me")) == "unauthorized"


def test_nobody_but_an_owner_gives_more_time_than_they_have(team: Team) -> None:
    limited = team.make_token("paul", days=7)
    team.tokens["paul"] = limited.token
    assert team.make_token("paul", "paul").expires == limited.expires
    assert team.make_token("paul", "paul", days=3).expires == NOW + 3 * DAY_S
    refused = team.ask("paul", "POST", "/operators/paul/tokens", {"days": 8})
    assert kind_of(refused) == "invalid"
    assert "should be at most 7.0, or left out: your own token expires then" in refused.json()["detail"]
    team.tokens["oona"] = team.make_token("oona", days=1).token
    assert team.make_token("paul", "oona", days=400).expires == NOW + 400 * DAY_S


def test_an_operator_has_only_so_many_tokens_and_expired_ones_make_room(team: Team) -> None:
    for _ in range(MAX_TOKENS - 1):
        team.make_token("vera", days=1)
    refused = team.ask("operator", "POST", "/operators/vera/tokens", {})
    assert kind_of(refused) == "invalid"
    assert "has 20 tokens already" in refused.json()["detail"]
    team.server.now += DAY_S
    listed = team.ask("operator", "GET", "/operators").json()["operators"]
    assert [one["tokens"] for one in listed if one["name"] == "vera"] == [1]
    team.make_token("vera")
    assert len(team.ask("vera", "GET", "/operators/vera/tokens").json()["tokens"]) == 2


def test_a_revoked_and_an_expired_token_work_on_no_server_of_the_database(url: str) -> None:
    with ExitStack() as stack:
        both = [stack.enter_context(ServerHarness(stack.enter_context(open_store(url)))) for _ in range(2)]
        one, other = (Team(server) for server in both)
        made = one.add("paul", "planner")
        one.create("his", "paul")
        for name in ("removed", "demoted", "limited"):
            one.add(name, "owner", 1 if name == "limited" else None)
        other.tokens = one.tokens
        everywhere = [(team, name) for team in (one, other) for name in ("paul", "removed", "demoted", "limited")]
        assert {team.ask(name, "GET", "/campaigns/his").status_code for team, name in everywhere} == {200}
        assert one.ask("operator", "DELETE", f"/tokens/{made.id}").status_code == 204
        assert one.ask("operator", "DELETE", "/operators/removed").status_code == 204
        assert one.put("demoted", "viewer").status_code == 200
        for server in both:
            server.now += DAY_S - 1
        assert {team.ask("limited", "GET", "/me").status_code for team in (one, other)} == {200}
        for server in both:
            server.now += 1
        for team in (one, other):
            for method, path in ACCESS:
                address = path.format(campaign="his", number=0, name="paul", token="0" * 12)
                for name in ("paul", "removed", "limited"):
                    body = BODIES.get((method, path))
                    refused = team.ask(name, method, address.removeprefix("/v1/operator"), body)
                    assert refused.status_code == 401, (method, path, name)
            told = Problem.from_bytes(team.ask("limited", "GET", "/me").content).detail
            assert told == "this token expired on 2023-11-15 at 22:13 UTC; ask an owner for a new one"
            assert kind_of(team.ask("demoted", "GET", "/campaigns/his")) == "not-found"
            # Nor does it name an operator to a device's route.
            status = team.server.ask("GET", "/v1/campaigns/his/status", authorization=f"Bearer {made.token}")
            assert kind_of(status) == "unknown-participant"


# --- the last owner -------------------------------------------------------------------------------------------


def test_the_last_owner_who_can_sign_in_stays(server: ServerHarness) -> None:
    team = Team(server)
    mine = SignedIn.from_bytes(team.ask("operator", "GET", "/me").content).token

    def refused() -> set[str]:
        return {
            kind_of(answer)
            for answer in (
                team.put("operator", "planner"),
                team.ask("operator", "DELETE", "/operators/operator"),
                team.ask("operator", "DELETE", f"/tokens/{mine}"),
            )
        }

    assert refused() == {"last-owner"}
    assert team.put("oona", "owner").status_code == 200
    assert refused() == {"last-owner"}  # she has no token
    team.tokens["oona"] = team.make_token("oona", days=1).token
    server.now += DAY_S
    assert refused() == {"last-owner"}  # hers has expired
    other = team.make_token("operator")
    assert team.ask("operator", "DELETE", f"/tokens/{mine}").status_code == 204
    team.tokens["operator"] = other.token
    team.tokens["oona"] = team.make_token("oona").token
    assert team.put("operator", "planner").status_code == 200
    assert team.ask("oona", "DELETE", "/operators/operator").status_code == 204
    told = team.ask("oona", "DELETE", "/operators/oona").json()["detail"]
    assert told == "operator = 'oona': nobody else could sign in as an owner then; add another owner with a token first"


# --- the log --------------------------------------------------------------------------------------------------


def test_every_change_is_logged_once_and_what_changes_nothing_is_not(server: ServerHarness) -> None:
    team = Team(server)
    paul = team.add("paul", "planner")
    team.put("paul", "planner")
    before = team.log().activity[0].number
    team.create(NAME, "paul")
    for _ in range(2):  # the second time nothing changes
        changed = plan(enrolment="invite", rounds=1).to_bytes()
        assert team.ask("paul", "PUT", f"/campaigns/{NAME}/plan", changed).status_code == 200
    for _ in range(2):
        assert team.ask("paul", "PUT", f"/campaigns/{NAME}/state", {"state": "open"}).status_code == 200
        team.share(NAME, "operator", "paul")
    server.step()
    links = team.ask("paul", "POST", f"/campaigns/{NAME}/invites", {"count": 7}).json()["invites"]
    assert server.take_seat("a-device", invite=links[0]).status_code == 200
    for state in ("paused", "open", "closed"):
        assert team.ask("paul", "PUT", f"/campaigns/{NAME}/state", {"state": state}).status_code == 200
    server.step()
    for path in ("selections/0", "record"):
        assert team.ask("paul", "GET", f"/campaigns/{NAME}/{path}").status_code == 200
    team.ask("paul", "DELETE", f"/campaigns/{NAME}/shares/operator")
    extra = team.make_token("paul", "paul")
    team.ask("paul", "DELETE", f"/tokens/{extra.id}")
    assert team.ask("paul", "DELETE", f"/campaigns/{NAME}").status_code == 204
    team.put("paul", "viewer")
    team.ask("operator", "DELETE", "/operators/paul")
    lines = [one for one in reversed(team.log().activity) if one.number > before]
    assert [(one.operator, one.action, one.campaign, one.detail) for one in lines] == [
        ("paul", "campaign-created", NAME, ""),
        ("paul", "plan-replaced", NAME, ""),
        ("paul", "campaign-started", NAME, "was draft"),
        ("paul", "campaign-shared", NAME, "operator"),
        ("paul", "invites-made", NAME, "7 invites"),
        ("paul", "campaign-paused", NAME, "was open"),
        ("paul", "campaign-started", NAME, "was paused"),
        ("paul", "campaign-closed", NAME, "was open"),
        ("paul", "selection-exported", NAME, "selection 1: 0 people"),
        ("paul", "record-exported", NAME, ""),
        ("paul", "campaign-unshared", NAME, "operator"),
        ("paul", "token-made", None, f"paul: {extra.id}"),
        ("paul", "token-revoked", None, f"paul: {extra.id}"),
        ("paul", "campaign-deleted", NAME, "was finished"),
        ("operator", "operator-role-changed", None, "paul: viewer, was planner"),
        ("operator", "operator-removed", None, "paul: was viewer"),
    ]
    assert {one.at for one in lines} == {NOW}
    told = team.ask("operator", "GET", "/activity?limit=200").text
    assert all(secret not in told for secret in (paul.token, extra.token, TOKEN, *links))


def test_a_panels_selection_is_logged_with_its_number_and_count(server: ServerHarness) -> None:
    team = Team(server)
    team.create("panel", panel=True, wanted=None, rounds=1, seed=None)
    assert team.ask("operator", "PUT", "/campaigns/panel/state", {"state": "open"}).status_code == 200
    server.step()
    for number in range(12):
        assert server.report(f"device-{number}", 0, "panel").status_code == 200
    server.step()
    for _ in range(2):
        assert team.ask("operator", "PUT", "/campaigns/panel/selections/0", ASKED).status_code == 200
    made = [one.detail for one in team.log().activity if one.action == "selection-made"]
    assert made == ["selection 1: 2 people"]


def test_the_log_is_read_page_by_page_and_shows_what_is_ones_own(team: Team) -> None:
    whole = team.log().activity
    assert [one.number for one in whole] == sorted({one.number for one in whole}, reverse=True)
    read: list[Activity] = []
    before = ""
    while True:
        page = team.log(query=f"?limit=5{before}")
        read += page.activity
        if page.earlier is None:
            break
        before = f"&before={page.earlier}"
    assert tuple(read) == whole
    assert {one.campaign for one in team.log("paul").activity} == {"paul-own", "paul-shared"}
    assert {(one.operator, one.campaign) for one in team.log("vera").activity} == {
        ("vera", "vera-own"),
        ("bob", "vera-shared"),
    }
    assert team.log("oona").activity == team.log().activity


def test_what_cannot_be_logged_does_not_happen(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError("no space left")

    for module in ("campaigns", "deletion", "participants", "operators", "activity"):
        monkeypatch.setattr(f"crowdveil.store.{module}.write_activity", full)
    for method, path, body in (
        ("PUT", "/campaigns/new", PLAN),
        ("PUT", "/campaigns/paul-own/state", b'{"protocol":1,"state":"open"}'),
        ("PUT", "/campaigns/paul-own/plan", plan(wanted=2).to_bytes()),
        ("DELETE", "/campaigns/paul-own", None),
        ("PUT", "/campaigns/paul-own/shares/vera", None),
        ("POST", "/campaigns/paul-own/invites", b'{"protocol":1,"count":1}'),
        ("POST", "/operators/paul/tokens", b'{"protocol":1}'),
    ):
        assert kind_of(team.ask("paul", method, path, body)) == "internal"
    monkeypatch.undo()
    assert kind_of(team.ask("paul", "GET", "/campaigns/new")) == "not-found"
    view = CampaignView.from_bytes(team.ask("paul", "GET", "/campaigns/paul-own").content)
    assert (view.state, view.shared_with) == ("draft", ())
    assert len(team.ask("paul", "GET", "/operators/paul/tokens").json()["tokens"]) == 1
