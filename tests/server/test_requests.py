"""Who may ask what, how requests are refused, and what every answer carries."""

from __future__ import annotations

import io
import json
import logging
import sqlite3
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from pathlib import Path
from threading import Event

import pytest

from crowdveil.errors import InputError, StoreError
from crowdveil.server.logs import JsonLines
from crowdveil.server.rate_limit import RateLimiter, is_loopback, network_of
from crowdveil.server.request_guard import CROSS_ORIGIN, HEADERS
from crowdveil.server.settings import ServerSettings
from crowdveil.store import NoSeat, SeatClaim, Store, StoredReport, open_store, report_rows, take_seats
from crowdveil.store import StoredSeat as StoredSeat
from crowdveil.wire import Problem, Report, Seat
from tests.server.harness import NAME, TOKEN, ServerHarness, kind_of, plan

NEW = plan().to_bytes()
ASKED = b'{"protocol":1,"targets":[5],"wanted":2}'
EVERYONE = {"nobody": 200, "stranger": 200, "participant": 200, "operator": 200}
OPERATORS = {"nobody": 401, "stranger": 401, "participant": 403, "operator": 200}
PARTICIPANTS = {"nobody": 401, "stranger": 404, "participant": 200, "operator": 403}
ROLES = {
    ("GET", "/v1/campaigns/{campaign}"): EVERYONE,
    ("GET", "/v1/campaigns/{campaign}/rounds/{number}/policy"): EVERYONE,
    ("POST", "/v1/campaigns/{campaign}/seats"): EVERYONE,
    ("PUT", "/v1/campaigns/{campaign}/report"): PARTICIPANTS,
    ("DELETE", "/v1/campaigns/{campaign}/report"): PARTICIPANTS,
    ("GET", "/v1/campaigns/{campaign}/status"): PARTICIPANTS,
    ("GET", "/v1/operator/campaigns"): OPERATORS,
    ("PUT", "/v1/operator/campaigns/{campaign}"): OPERATORS,
    ("GET", "/v1/operator/campaigns/{campaign}"): OPERATORS,
    ("DELETE", "/v1/operator/campaigns/{campaign}"): {**OPERATORS, "operator": 409},
    ("PUT", "/v1/operator/campaigns/{campaign}/plan"): {**OPERATORS, "operator": 409},
    ("PUT", "/v1/operator/campaigns/{campaign}/state"): OPERATORS,
    ("POST", "/v1/operator/campaigns/{campaign}/invites"): OPERATORS,
    ("POST", "/v1/operator/preview"): OPERATORS,
    ("POST", "/v1/operator/area"): OPERATORS,
    ("GET", "/v1/operator/campaigns/{campaign}/estimates"): OPERATORS,
    ("GET", "/v1/operator/campaigns/{campaign}/selections"): OPERATORS,
    ("GET", "/v1/operator/campaigns/{campaign}/selections/{number}"): {**OPERATORS, "operator": 409},
    ("PUT", "/v1/operator/campaigns/{campaign}/selections/{number}"): {**OPERATORS, "operator": 409},
    ("POST", "/v1/operator/campaigns/{campaign}/expectation"): {**OPERATORS, "operator": 409},
    ("GET", "/v1/operator/campaigns/{campaign}/record"): {**OPERATORS, "operator": 409},
    ("PUT", "/v1/operator/campaigns/{campaign}/shares/{name}"): {**OPERATORS, "operator": 404},
    ("DELETE", "/v1/operator/campaigns/{campaign}/shares/{name}"): OPERATORS,
    ("GET", "/v1/operator/me"): OPERATORS,
    ("GET", "/v1/operator/operators"): OPERATORS,
    ("PUT", "/v1/operator/operators/{name}"): OPERATORS,
    ("GET", "/v1/operator/operators/{name}/tokens"): OPERATORS,
    ("POST", "/v1/operator/operators/{name}/tokens"): OPERATORS,
    ("DELETE", "/v1/operator/operators/{name}"): {**OPERATORS, "operator": 204},
    ("DELETE", "/v1/operator/tokens/{token}"): {**OPERATORS, "operator": 404},
    ("GET", "/v1/operator/activity"): OPERATORS,
    ("GET", "/healthz"): EVERYONE,
    ("GET", "/metrics"): EVERYONE,
    ("GET", "/v1/ping"): dict.fromkeys(EVERYONE, 204),
}
"""What each kind of sender is answered, on every route; `test_team` has what each role of operators is."""
SECRETS = {"stranger": "somebody-else", "participant": "a-device", "operator": TOKEN}


@pytest.fixture
def started(server: ServerHarness) -> ServerHarness:
    server.start()
    assert server.report("a-device", 0).status_code == 200
    return server


def body_for(server: ServerHarness, method: str, path: str) -> bytes | None:
    seat = Seat.from_bytes(server.take_seat("a-device").content)
    return {
        "/v1/campaigns/{campaign}/seats": b'{"protocol":1,"secret_digest":"%s"}' % (b"ab" * 32),
        "/v1/campaigns/{campaign}/report": Report.of(seat, 0).to_bytes() if method == "PUT" else None,
        "/v1/operator/campaigns/{campaign}": NEW if method == "PUT" else None,
        "/v1/operator/campaigns/{campaign}/plan": NEW,
        "/v1/operator/campaigns/{campaign}/state": b'{"protocol":1,"state":"open"}',
        "/v1/operator/campaigns/{campaign}/invites": b'{"protocol":1,"count":1}',
        "/v1/operator/preview": NEW,
        "/v1/operator/campaigns/{campaign}/selections/{number}": ASKED if method == "PUT" else None,
        "/v1/operator/campaigns/{campaign}/expectation": ASKED,
        "/v1/operator/operators/{name}": b'{"protocol":1,"role":"viewer"}' if method == "PUT" else None,
        "/v1/operator/operators/{name}/tokens": b'{"protocol":1}' if method == "POST" else None,
        "/v1/operator/area": b'{"protocol":1,"bounds":[40.65,-74.03,40.7,-73.98],"cell_km":1.0}',
    }.get(path)


def test_every_route_answers_every_role_as_the_table_says(started: ServerHarness) -> None:
    document = started.ask("GET", "/openapi.json").json()
    routes = {(method.upper(), path) for path, answers in document["paths"].items() for method in answers}
    assert routes == ROLES.keys()
    for (method, path), expected in ROLES.items():
        where = path.format(campaign=NAME, number=0, name="nobody-yet", token="0" * 12)
        for role, status in expected.items():
            headers = {} if role == "nobody" else {"authorization": f"Bearer {SECRETS[role]}"}
            answer = started.ask(method, where, body_for(started, method, path), **headers)
            assert answer.status_code == status, (method, path, role, answer.text)
            assert str(status) in document["paths"][path][method.lower()]["responses"], (method, path, status)


def test_every_answer_has_the_security_headers_and_names_no_software(started: ServerHarness) -> None:
    for answer in (
        started.ask("GET", f"/v1/campaigns/{NAME}"),
        started.ask("GET", "/v1/operator/campaigns"),
        started.ask("GET", "/nowhere"),
        started.ask("DELETE", "/healthz"),
        started.ask("PUT", f"/v1/campaigns/{NAME}/report", b"x" * 70_000, authorization="Bearer a-device"),
    ):
        expected = HEADERS | (CROSS_ORIGIN if answer.url.path.startswith("/v1/campaigns/") else {})
        assert {name: answer.headers[name] for name in expected} == expected
        assert "cache-control" in answer.headers
        assert "server" not in answer.headers


# --- bad input ------------------------------------------------------------------------------------------------


BAD = {
    "no JSON": (b"{", "malformed", "body"),
    "not UTF-8": (b'{"protocol":1,"symbol":"\xff"}', "malformed", "body"),
    "a list": (b"[]", "malformed", "body"),
    "a field twice": (b'{"protocol":1,"protocol":1}', "malformed", "body"),
    "not a number": (b'{"protocol":NaN}', "malformed", "body"),
    "very deep": (b"[" * 5000, "malformed", "body"),
    "a field missing": (b'{"protocol":1}', "invalid", "secret_digest"),
    "a field too many": (b'{"protocol":1,"secret_digest":"%s","place":7}' % (b"ab" * 32), "invalid", "place"),
    "another protocol": (b'{"protocol":2,"secret_digest":"%s"}' % (b"ab" * 32), "invalid", "protocol"),
    "a number as text": (b'{"protocol":"1","secret_digest":"%s"}' % (b"ab" * 32), "invalid", "protocol"),
    "no hash": (b'{"protocol":1,"secret_digest":"me"}', "invalid", "secret_digest"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_body_is_refused_with_its_field_and_what_would_be_right(started: ServerHarness, what: str) -> None:
    body, kind, field = BAD[what]
    answer = started.ask("POST", f"/v1/campaigns/{NAME}/seats", body)
    assert kind_of(answer) == kind
    problem = Problem.from_bytes(answer.content)
    assert problem.field == field
    assert problem.expected


def test_a_plan_that_is_not_valid_is_refused_before_anything_is_stored(server: ServerHarness) -> None:
    for changes, field in (
        ({"targets": (16,)}, "targets"),
        ({"users": 2, "wanted": 3}, "wanted"),
        ({"rounds": 13}, "rounds"),
        ({"round_size": 7}, "round_size"),
        ({"prior": (0.5, 0.5)}, "prior"),
        ({"epsilon_per_km": 1e308}, "epsilon_per_km"),
        ({"area": {"kind": "donut"}}, "kind"),
    ):
        for method, path in (("PUT", f"/campaigns/{NAME}"), ("POST", "/preview")):
            answer = server.operate(method, path, plan(**changes).to_bytes())
            assert kind_of(answer) == "invalid", (changes, answer.text)
            assert field in answer.json()["detail"]
    assert server.operate("GET", "/campaigns").json()["campaigns"] == []


def test_a_body_of_another_type_or_too_large_is_refused(started: ServerHarness) -> None:
    path = f"/v1/campaigns/{NAME}/seats"
    assert kind_of(started.ask("POST", path, b"{}", content_type="text/plain")) == "unsupported-media-type"
    assert kind_of(started.ask("POST", path, b" " * 65_537)) == "too-large"
    assert kind_of(started.ask("POST", path, b" " * 65_536)) == "malformed"

    async def endless() -> AsyncIterator[bytes]:
        for _ in range(70):
            yield b" " * 1000

    answer = started.stream("POST", path, endless())
    assert kind_of(answer) == "too-large"
    assert kind_of(started.operate("PUT", "/campaigns/big", b" " * (8 << 20) + b" ")) == "too-large"
    assert kind_of(started.ask("PUT", "/v1/operator/campaigns/big", b" " * 100_000)) == "unauthorized"


def test_an_unknown_path_or_method_is_a_problem_document_too(started: ServerHarness) -> None:
    assert kind_of(started.ask("GET", "/v1/campaigns/nobody")) == "not-found"
    assert kind_of(started.ask("GET", "/v1/campaigns/No%20Way")) == "invalid"
    assert kind_of(started.ask("GET", f"/v1/campaigns/{NAME}/rounds/-1/policy")) == "invalid"
    answer = started.ask("DELETE", f"/v1/campaigns/{NAME}/seats")
    assert kind_of(answer) == "method-not-allowed"
    assert answer.headers["allow"] == "POST"


# --- reports --------------------------------------------------------------------------------------------------


def test_the_same_report_gets_the_same_receipt_and_a_changed_one_is_refused(started: ServerHarness) -> None:
    first = started.report("me", 1)
    again = started.report("me", 1)
    assert (first.status_code, first.content) == (again.status_code, again.content)
    assert kind_of(started.report("me", 0)) == "report-conflict"
    assert kind_of(started.report("me", 2)) == "report-conflict"
    assert sorted(report_rows(started.store, NAME).symbol.tolist()) == [0, 1]


def test_a_report_that_does_not_match_its_seat_is_refused(started: ServerHarness) -> None:
    seat = Seat.from_bytes(started.take_seat("me").content)
    assert kind_of(started.send_report("me", Report.of(seat.model_copy(update={"round": 1}), 0))) == "wrong-round"
    other = seat.model_copy(update={"policy_hash": "0" * 64})
    assert kind_of(started.send_report("me", Report.of(other, 0))) == "wrong-policy"
    assert kind_of(started.send_report("me", Report.of(seat, 99_999_999))) == "wrong-symbol"
    assert started.send_report("me", Report.of(seat, 1)).status_code == 200
    assert started.view().rounds[0].refused == {"wrong-round": 1, "wrong-policy": 1, "wrong-symbol": 1}


def test_when_the_database_fails_no_report_is_acknowledged(
    started: ServerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(store: Store, reports: list[StoredReport]) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr("crowdveil.server.commit_queue.add_reports", fails)
    answer = started.report("me", 1)
    assert kind_of(answer) == "unavailable"
    assert answer.headers["retry-after"]
    assert "disk" not in answer.text
    monkeypatch.undo()
    assert started.report("me", 1).status_code == 200


def test_an_unexpected_error_is_answered_without_its_message(
    started: ServerHarness, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("symbol 17 of participant 3")

    monkeypatch.setattr("crowdveil.server.commit_queue.add_reports", fails)
    with caplog.at_level(logging.ERROR):
        answer = started.report("me", 1)
    assert kind_of(answer) == "internal"
    assert "17" not in answer.text
    (record,) = caplog.records
    line = json.loads(JsonLines(lambda: 0.0).format(record))
    assert (line["event"], line["error"]) == ("internal", "RuntimeError")
    assert "participant" not in json.dumps(line)


def test_a_request_to_a_full_commit_queue_is_answered_with_503(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    writing, go_on = Event(), Event()

    def slowly(into: Store, requests: Sequence[SeatClaim]) -> list[StoredSeat | NoSeat]:
        writing.set()
        assert go_on.wait(20)
        return take_seats(into, requests)

    monkeypatch.setattr("crowdveil.server.commit_queue.take_seats", slowly)
    with ServerHarness(store, ServerSettings(max_queue_length=1)) as server:
        server.start()
        first = server.take_seat_later("one")
        assert writing.wait(20)
        others = [server.take_seat_later("two"), server.take_seat_later("three")]
        done, waiting = wait(others, return_when=FIRST_COMPLETED)
        assert [kind_of(one.result()) for one in done] == ["unavailable"]
        go_on.set()
        assert [one.result().status_code for one in (first, *waiting)] == [200, 200]


# --- limits ---------------------------------------------------------------------------------------------------


def test_requests_per_address_are_limited_except_from_this_machine(store: Store) -> None:
    few = ServerSettings(requests_per_minute=3)
    with ServerHarness(store, few, client="203.0.113.9") as server:
        answers = [server.ask("GET", "/v1/ping") for _ in range(4)]
        assert [one.status_code for one in answers] == [204, 204, 204, 429]
        assert kind_of(answers[-1]) == "too-many-requests"
        assert answers[-1].headers["retry-after"]
    with ServerHarness(store, few) as server:
        assert {server.ask("GET", "/v1/ping").status_code for _ in range(10)} == {204}


def test_wrong_tokens_per_address_are_limited(store: Store) -> None:
    path, few = "/v1/operator/campaigns", ServerSettings(failures_per_minute=3)
    with ServerHarness(store, few, client="203.0.113.9") as server:
        assert [kind_of(server.ask("GET", path)) for _ in range(5)] == ["unauthorized"] * 5
        assert server.operate("GET", "/campaigns").status_code == 200
        guesses = [kind_of(server.ask("GET", path, authorization=f"Bearer guess-{i}")) for i in range(4)]
        assert guesses == ["unauthorized"] * 3 + ["too-many-requests"]
        assert server.operate("GET", "/campaigns").status_code == 200  # who has the token is never locked out
    with ServerHarness(store, few) as server:
        assert {kind_of(server.ask("GET", path, authorization="Bearer guess")) for _ in range(9)} == {"unauthorized"}


def test_seats_per_address_are_limited_in_open_campaigns_only(store: Store) -> None:
    few = ServerSettings(seats_per_address=2, announcement_age_s=0)
    with ServerHarness(store, few, client="203.0.113.9") as server:
        server.start()
        assert [server.take_seat(f"device-{number}").status_code for number in range(3)] == [200, 200, 403]
        assert kind_of(server.take_seat("device-9")) == "too-many-seats"
        assert server.take_seat("device-0").status_code == 200  # the same seat again
        server.start(plan(enrolment="invite"), "invited")
        invites = server.operate("POST", "/campaigns/invited/invites", b'{"protocol":1,"count":3}').json()["invites"]
        assert {server.take_seat(one, "invited", one).status_code for one in invites} == {200}
    with ServerHarness(store, few, client="203.0.113.10") as server:
        assert server.take_seat("elsewhere").status_code == 200
        assert server.take_seat("device-1").status_code == 200
        assert server.take_seat("device-0").status_code == 200  # seated elsewhere: the limit is for new devices
        assert kind_of(server.take_seat("device-9")) == "too-many-seats"
    with ServerHarness(store, few) as server:  # this machine
        assert {server.take_seat(f"mine-{number}").status_code for number in range(3)} == {200}


def test_pages_of_any_origin_may_use_the_participants_routes_and_no_others(started: ServerHarness) -> None:
    asked = {"origin": "https://page.example", "access_control_request_method": "PUT"}
    preflight = started.ask("OPTIONS", f"/v1/campaigns/{NAME}/report", None, **asked)
    assert preflight.status_code == 204
    assert preflight.headers["access-control-allow-origin"] == "*"
    assert "authorization" in preflight.headers["access-control-allow-headers"]
    assert "DELETE" in preflight.headers["access-control-allow-methods"]
    refused = started.ask("PUT", f"/v1/campaigns/{NAME}/report", b"{", origin="https://page.example")
    assert refused.status_code == 401
    assert refused.headers["access-control-allow-origin"] == "*"  # a page can read why
    for method, path in (
        ("OPTIONS", "/v1/operator/campaigns"),
        ("GET", "/v1/operator/campaigns"),
        ("OPTIONS", "/healthz"),
        ("GET", "/metrics"),
        ("GET", "/console"),
    ):
        answer = started.ask(method, path, None, **asked)
        assert not [name for name in answer.headers if name.startswith("access-control-")], (method, path)
    assert "access-control-allow-credentials" not in preflight.headers


def test_a_bucket_refills_and_addresses_of_one_network_share_it() -> None:
    time = 0.0
    limiter = RateLimiter(60, lambda: time)
    for _ in range(60):
        assert limiter.allows("2001:db8::1")
        limiter.count("2001:db8::1")
    assert not limiter.allows("2001:db8::ffff")
    assert limiter.allows("2001:db8:0:1::1")
    time = 1.0
    assert limiter.allows("2001:db8::1")
    assert network_of("::ffff:203.0.113.9") == "203.0.113.9"
    assert is_loopback("127.0.0.1")
    assert not is_loopback("somewhere")


@pytest.mark.parametrize("name", ["body_bytes", "max_queue_length", "announcement_age_s"])
def test_a_setting_that_is_not_valid_is_named(name: str) -> None:
    with pytest.raises(InputError, match=name):
        ServerSettings(**{name: -1})


# --- what is kept, logged and counted -------------------------------------------------------------------------


def test_logs_are_json_lines_without_messages_of_other_libraries() -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines(lambda: 1.5))
    for name, message in (("crowdveil", "round-opened"), ("uvicorn.error", "Invalid request: 203.0.113.9")):
        handler.emit(logging.makeLogRecord({"name": name, "levelname": "INFO", "msg": message, "round": 2}))
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert lines == [
        {"at": 1.5, "level": "info", "event": "round-opened", "round": 2},
        {"at": 1.5, "level": "info", "event": "Invalid request", "round": 2},
    ]


def test_metrics_count_reports_by_outcome(started: ServerHarness) -> None:
    started.report("me", 1)
    started.report("me", 1)
    started.report("me", 0)
    text = started.ask("GET", "/metrics").text
    for line in (
        'crowdveil_reports_total{outcome="accepted"} 2.0',
        'crowdveil_reports_total{outcome="repeated"} 1.0',
        'crowdveil_reports_total{outcome="report-conflict"} 1.0',
        'crowdveil_seats_total{outcome="given"} 4.0',
        f'crowdveil_campaign_state{{campaign="{NAME}",state="open"}} 1.0',
        f'crowdveil_round{{campaign="{NAME}",state="open"}} 0.0',
    ):
        assert line in text, line


def test_health_is_bad_when_nothing_can_be_stored(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    with open_store(f"sqlite:///{path}") as store, ServerHarness(store) as server:
        assert server.ask("GET", "/healthz").json() == {"protocol": 1, "status": "ok"}
        with sqlite3.connect(path) as other:
            other.execute("DROP TABLE alembic_version")
        other.close()
        assert kind_of(server.ask("GET", "/healthz")) == "unavailable"


def test_only_hashes_of_tokens_and_secrets_are_stored(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    with open_store(f"sqlite:///{path}") as store, ServerHarness(store) as server:
        server.start(plan(enrolment="invite"))
        invite = server.operate("POST", f"/campaigns/{NAME}/invites", b'{"protocol":1,"count":1}').json()["invites"][0]
        assert server.take_seat("the-devices-secret", invite=invite).status_code == 200
    kept = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    for secret in (TOKEN, "the-devices-secret", invite):
        assert secret.encode() not in kept
