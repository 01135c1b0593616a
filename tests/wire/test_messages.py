"""Every message byte for byte, and what is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from math import inf, nan
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

import crowdveil as cv
from crowdveil.codec import canonical_json
from crowdveil.errors import InputError
from crowdveil.vocabulary import ParticipantState
from crowdveil.wire import (
    PROBLEMS,
    STATUS_BYTES,
    Activity,
    ActivityList,
    Announcement,
    AreaRequest,
    AreaShape,
    AuditRecord,
    AuditRound,
    AuditSelection,
    CampaignList,
    CampaignPlan,
    CampaignSummary,
    CampaignView,
    Estimates,
    Expectation,
    ExpectedPeople,
    ExpectedPlace,
    Health,
    InviteRequest,
    Invites,
    Message,
    NewToken,
    OperatorList,
    OperatorView,
    PanelRequest,
    ParticipantStatus,
    Preview,
    PreviewPoint,
    Problem,
    ProblemKind,
    Receipt,
    ReplacedPlan,
    Report,
    RoleChange,
    RoundEstimate,
    RoundNotice,
    RoundView,
    Seat,
    SeatRequest,
    SelectionList,
    SelectionRow,
    SelectionView,
    SignedIn,
    StateChange,
    Terms,
    TokenList,
    TokenRequest,
    TokenView,
    Withdrawal,
    policy_etag,
    secret_digest,
)
from crowdveil.wire.message import MAX_OFFER_BYTES
from crowdveil.wire.schemas import wire_messages
from tests.town import square_town

H = "0123456789abcdef" * 4
AREA: dict[str, Any] = {"kind": "points", "xy_m": [[0, 0], [1000, 0]]}
SEAT = Seat(protocol=1, campaign="coffee", participant=41, round=2, policy_hash=H, terms_hash=H)
PRIVATE_KEY = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"
"""The secret key of RFC 8032, 7.1, test 1."""
SERVER_KEY = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
TERMS = Terms(
    protocol=1,
    campaign="coffee",
    server_key=SERVER_KEY,
    name="Kaffee für alle",
    offer="A coffee",
    area=AREA,
    targets=(1,),
    target_names=("Café",),
    epsilon_per_km=1.5,
    null_epsilon=4.0,
    grade_epsilon=3.0,
    delta=0.25,
    lower_deltas=(0.125,),
    profile_constants=(-3.0, 0.75, 0.0, 0.25, 0.5, 50.0, -50.0),
    rule="target-aware",
    period="day",
    enrolment="invite",
    rounds=6,
    panel=True,
    renewal_s=7776000,
    seed_hash=H,
)
TERMS_BYTES = (
    b'{"area":{"kind":"points","xy_m":[[0,0],[1000,0]]},"campaign":"coffee","delta":0.25,"enrolment":"invite",'
    b'"epsilon_per_km":1.5,"grade_epsilon":3.0,"lower_deltas":[0.125],"name":"Kaffee f\\u00fcr alle",'
    b'"null_epsilon":4.0,"offer":"A coffee","panel":true,"period":"day","profile_constants":[-3.0,0.75,0.0,0.25,0.5,'
    b'50.0,-50.0],"protocol":1,"renewal_s":7776000,"rounds":6,"rule":"target-aware","seed_hash":"%s","server_key":"%s",'
    b'"target_names":["Caf\\u00e9"],"targets":[1]}' % (H.encode(), SERVER_KEY.encode())
)
TERMS_HASH = "d2df0800e06d01abf1a82add41b3a1bc96cc0b52e1f3ecc8477a14be9c6222b8"
SIGNATURE = (
    "698b6f0f6a5fe7bca64c4f50292b8c99c1f0b9d4368f40b43abbfe3b8050c968"
    "396f42ec67a8d75861a7594ca5a973c19f5a5034d3c00fcc64dd72510fd67903"
)
NOTICE = RoundNotice.of(TERMS, 2, H, PRIVATE_KEY)
NOTICE_BYTES = b'{"campaign":"coffee","policy_hash":"%s","round":2,"signature":"%s","terms_hash":"%s"}' % (
    H.encode(),
    SIGNATURE.encode(),
    TERMS_HASH.encode(),
)
PLAN = CampaignPlan(
    protocol=1,
    name="Coffee",
    offer="A coffee",
    area=AREA,
    targets=(1,),
    epsilon_per_km=1.5,
    delta=0.25,
    users=90,
    wanted=9,
)
PLAN_BYTES = (
    b'{"algorithm":"crowdveil","area":{"kind":"points","xy_m":[[0,0],[1000,0]]},"beyond_default_limits":false,'
    b'"confidence":0.95,"deadline_s":604800,"delta":0.25,"enrolment":"invite","epsilon_per_km":1.5,'
    b'"grade_epsilon":2.0794415416798357,"lower_deltas":null,"name":"Coffee","null_epsilon":4.1588830833596715,'
    b'"numbers":null,"offer":"A coffee","panel":false,"period":"week","prior":null,"profile_constants":null,'
    b'"protocol":1,"renewal_s":null,"round_size":null,"rounds":6,"rule":"target-aware","seed":null,"share":null,'
    b'"target_coordinates":null,"target_names":null,"targets":[1],"users":90,"wanted":9}'
)
STATUS = (
    b'{"campaign":"coffee","chosen":[2],"offer":"A coffee","padding":"%s","participant":41,"protocol":1,'
    b'"selections":3,"state":"selected"}'
)

REQUEST = PanelRequest(protocol=1, targets=(1,), wanted=8, at_most=2, within_s=86400)
REQUEST_BYTES = (
    b'{"at_most":2,"numbers":null,"other_cells":false,"protocol":1,"target_coordinates":null,"target_names":null,'
    b'"targets":[1],"wanted":8,"within_s":86400}'
)
SELECTION = SelectionView(protocol=1, number=4, made=99, rounds=1, request=REQUEST, selected=1, missing=(7,))
SELECTION_BYTES = (
    b'{"made":99,"missing":[7],"number":4,"protocol":1,"request":%s,"rounds":1,"selected":1}' % REQUEST_BYTES
)

EXPECTATION = Expectation(
    cover="each",
    numbers=(3,),
    selected=3.0,
    visitors=ExpectedPeople(people=1.5, low=0, high=3),
    places=(
        ExpectedPlace(
            wanted=3,
            selected=3.0,
            by_symbol=2.5,
            visitors=ExpectedPeople(people=1.5, low=0, high=3),
            possible=7.25,
        ),
    ),
)
EXPECTATION_BYTES = (
    b'{"advice":[],"cover":"each","numbers":[3],"places":[{"by_symbol":2.5,"possible":7.25,"selected":3.0,'
    b'"visitors":{"high":3,"low":0,"people":1.5},"wanted":3}],"selected":3.0,"visitors":{"high":3,"low":0,"people":1.5}}'
)

ANN = OperatorView(protocol=1, name="ann", role="owner", added=17, tokens=2)
VIEW = CampaignView(
    protocol=1,
    campaign="coffee",
    state="open",
    plan=PLAN,
    server_key=SERVER_KEY,
    terms_hash=H,
    created=1700000000,
    rounds=(
        RoundView(
            number=0,
            state="closed",
            policy_hash=H,
            size=15,
            deadline=None,
            seated=15,
            accepted=14,
            refused={"round-closed": 1},
        ),
    ),
    estimate=(0.25, 0.75),
    expectation=EXPECTATION,
    operator="ann",
    shared_with=("bob",),
    keep_days=90,
)
VIEW_BYTES = (
    b'{"campaign":"coffee","created":1700000000,"estimate":[0.25,0.75],"expectation":%s,"expected_coverage":null,'
    b'"failure":null,"finished":null,"keep_days":90,"kept_until":null,"operator":"ann","plan":%s,"protocol":1,"rounds":'
    b'[{"accepted":14,"deadline":null,"number":0,"policy_hash":"%s","refused":{"round-closed":1},"seated":15,'
    b'"size":15,"state":"closed"}],"selected":null,"selections":0,"server_key":"%s","shared_with":["bob"],'
    b'"state":"open","terms_hash":"%s"}' % (EXPECTATION_BYTES, PLAN_BYTES, H.encode(), SERVER_KEY.encode(), H.encode())
)
MESSAGES: dict[str, tuple[Message, bytes]] = {
    "Terms": (TERMS, TERMS_BYTES),
    "RoundNotice": (NOTICE, NOTICE_BYTES),
    "Announcement": (
        Announcement(protocol=1, terms=TERMS, notice=NOTICE, state="open"),
        b'{"notice":%s,"protocol":1,"state":"open","terms":%s}' % (NOTICE_BYTES, TERMS_BYTES),
    ),
    "SeatRequest": (
        SeatRequest(protocol=1, secret_digest=H),
        b'{"invite":null,"protocol":1,"secret_digest":"%s"}' % H.encode(),
    ),
    "Seat": (
        SEAT,
        b'{"campaign":"coffee","participant":41,"policy_hash":"%s","protocol":1,"round":2,"terms_hash":"%s"}'
        % (H.encode(), H.encode()),
    ),
    "Report": (
        Report.of(SEAT, 123),
        b'{"policy_hash":"%s","protocol":1,"round":2,"symbol":"00000123"}' % H.encode(),
    ),
    "Receipt": (
        Receipt.of("coffee", 41, Report.of(SEAT, None)),
        b'{"campaign":"coffee","digest":"011356eb7df0e7e4ecfbe2f84c4900c06e740539c09bb5e8099387a59205e097",'
        b'"participant":41,"protocol":1,"round":2}',
    ),
    "Withdrawal": (
        Withdrawal(protocol=1, campaign="coffee", participant=41),
        b'{"campaign":"coffee","participant":41,"protocol":1}',
    ),
    "ParticipantStatus": (
        ParticipantStatus.of("coffee", 41, "selected", "A coffee", selections=3, chosen=[2]),
        STATUS % (b" " * (STATUS_BYTES - len(STATUS) + 2)),
    ),
    "CampaignPlan": (PLAN, PLAN_BYTES),
    "CampaignView": (VIEW, VIEW_BYTES),
    "ReplacedPlan": (
        ReplacedPlan(protocol=1, campaign=VIEW, invites_deleted=7),
        b'{"campaign":%s,"invites_deleted":7,"protocol":1}' % VIEW_BYTES,
    ),
    "CampaignList": (
        CampaignList(
            protocol=1,
            campaigns=(CampaignSummary(campaign="coffee", name="Coffee", state="draft", panel=True, created=17),),
        ),
        b'{"campaigns":[{"campaign":"coffee","created":17,"failure":null,"name":"Coffee","operator":null,'
        b'"panel":true,"state":"draft"}],"protocol":1}',
    ),
    "RoleChange": (RoleChange(protocol=1, role="viewer"), b'{"protocol":1,"role":"viewer"}'),
    "OperatorView": (ANN, b'{"added":17,"name":"ann","protocol":1,"role":"owner","tokens":2}'),
    "OperatorList": (
        OperatorList(protocol=1, operators=(ANN,)),
        b'{"operators":[{"added":17,"name":"ann","protocol":1,"role":"owner","tokens":2}],"protocol":1}',
    ),
    "SignedIn": (
        SignedIn(protocol=1, name="ann", role="owner", token="5f0c2a9be1d4", expires=None),
        b'{"expires":null,"name":"ann","protocol":1,"role":"owner","token":"5f0c2a9be1d4"}',
    ),
    "TokenRequest": (TokenRequest(protocol=1, days=30), b'{"days":30,"protocol":1}'),
    "NewToken": (
        NewToken(protocol=1, operator="ann", id="5f0c2a9be1d4", token="a-b_c", expires=17),
        b'{"expires":17,"id":"5f0c2a9be1d4","operator":"ann","protocol":1,"token":"a-b_c"}',
    ),
    "TokenList": (
        TokenList(protocol=1, operator="ann", tokens=(TokenView(id="5f0c2a9be1d4", made=3, expires=None),)),
        b'{"operator":"ann","protocol":1,"tokens":[{"expires":null,"id":"5f0c2a9be1d4","made":3}]}',
    ),
    "ActivityList": (
        ActivityList(
            protocol=1,
            activity=(
                Activity(number=9, at=17, operator="ann", action="invites-made", campaign="coffee", detail="7 invites"),
            ),
            earlier=9,
        ),
        b'{"activity":[{"action":"invites-made","at":17,"campaign":"coffee","detail":"7 invites","number":9,'
        b'"operator":"ann"}],"earlier":9,"protocol":1}',
    ),
    "StateChange": (StateChange(protocol=1, state="paused"), b'{"protocol":1,"state":"paused"}'),
    "InviteRequest": (InviteRequest(protocol=1, count=2), b'{"count":2,"protocol":1}'),
    "Invites": (
        Invites(protocol=1, invites=("a-b", "c_d"), server_key=SERVER_KEY, terms_hash=H, policy_hash=None),
        b'{"invites":["a-b","c_d"],"policy_hash":null,"protocol":1,"server_key":"%s","terms_hash":"%s"}'
        % (SERVER_KEY.encode(), H.encode()),
    ),
    "Expectation": (EXPECTATION, EXPECTATION_BYTES),
    "Preview": (
        Preview(
            protocol=1,
            cells=2,
            people_wanted=9,
            beta=0.5,
            expected_coverage=0.75,
            by_chance=0.25,
            hit_probability=(0.5, 0.125),
            private_from_epsilon_per_km=1.5,
            expectation=EXPECTATION,
            advice=("Place 1 gets almost nobody.",),
            covers=(),
            by_epsilon=(PreviewPoint(epsilon_per_km=1.5, wanted=9, expected_coverage=0.75),),
            by_wanted=(),
        ),
        b'{"advice":["Place 1 gets almost nobody."],"beta":0.5,"by_chance":0.25,"by_epsilon":[{"epsilon_per_km":1.5,'
        b'"expected_coverage":0.75,"wanted":9}],"by_wanted":[],"cells":2,"covers":[],"expectation":%s,'
        b'"expected_coverage":0.75,"hit_probability":[0.5,0.125],"people_wanted":9,"private_from_epsilon_per_km":1.5,'
        b'"protocol":1}' % EXPECTATION_BYTES,
    ),
    "AreaRequest": (
        AreaRequest(protocol=1, bounds=(40.5, -74.0, 41.0, -73.5), cell_km=1.5),
        b'{"area":null,"bounds":[40.5,-74.0,41.0,-73.5],"cell_km":1.5,"protocol":1,"reach_km":20.0,"resolution":null,'
        b'"towers":null}',
    ),
    "AreaShape": (
        AreaShape(
            protocol=1, area=AREA, centres=((0.5, 1.5),), regions=(((0.0, 1.0), (1.0, 2.0)),), nearest_neighbour_km=1.0
        ),
        b'{"area":{"kind":"points","xy_m":[[0,0],[1000,0]]},"centres":[[0.5,1.5]],"nearest_neighbour_km":1.0,'
        b'"protocol":1,"regions":[[[0.0,1.0],[1.0,2.0]]]}',
    ),
    "Estimates": (
        Estimates(
            protocol=1,
            rounds=(
                RoundEstimate(
                    round=0, prior=(0.25, 0.75), grade_shares=(0.5, 0.25), outside_share=0.25, expected_coverage=0.5
                ),
            ),
        ),
        b'{"protocol":1,"rounds":[{"expected_coverage":0.5,"grade_shares":[0.5,0.25],"outside_share":0.25,'
        b'"prior":[0.25,0.75],"round":0}]}',
    ),
    "PanelRequest": (REQUEST, REQUEST_BYTES),
    "SelectionView": (SELECTION, SELECTION_BYTES),
    "SelectionList": (
        SelectionList(protocol=1, selections=(SELECTION,)),
        b'{"protocol":1,"selections":[%s]}' % SELECTION_BYTES,
    ),
    "Health": (Health(protocol=1, status="ok"), b'{"protocol":1,"status":"ok"}'),
    "SelectionRow": (
        SelectionRow(place=1, name="Café", latitude=40.5, longitude=-73.5, participant=41, chance=0.5, chosen="filled"),
        b'{"chance":0.5,"chosen":"filled","latitude":40.5,"longitude":-73.5,"name":"Caf\\u00e9","participant":41,'
        b'"place":1}',
    ),
    "AuditRecord": (
        AuditRecord(
            protocol=1,
            campaign="coffee",
            plan=PLAN,
            terms=TERMS,
            notices=(NOTICE,),
            rounds=(AuditRound.of(0, b"policy", (1, 0), 1),),
            rows=((0, H, 0, 0), (1, H, 0, None)),
            selections=(
                AuditSelection(
                    participants=(0,),
                    targets=(0,),
                    chances=(0.5,),
                    chosen=("symbol",),
                    missing=(8,),
                    request=REQUEST,
                    made=99,
                    rounds=1,
                    seed=H,
                ),
            ),
        ),
        b'{"campaign":"coffee","notices":[%s],"plan":%s,"protocol":1,"rounds":[{"counts":[1,0],"nulls":1,"number":0,'
        b'"policy":"cG9saWN5"}],"rows":[[0,"%s",0,0],[1,"%s",0,null]],"selections":[{"chances":[0.5],'
        b'"chosen":["symbol"],"made":99,"missing":[8],"participants":[0],"request":%s,"rounds":1,"seed":"%s",'
        b'"targets":[0]}],"terms":%s}'
        % (NOTICE_BYTES, PLAN_BYTES, H.encode(), H.encode(), REQUEST_BYTES, H.encode(), TERMS_BYTES),
    ),
    "Problem": (
        Problem.of_input(InputError("symbol", "12", "should be 8 digits")),
        b"""{"detail":"symbol = '12': should be 8 digits","expected":"should be 8 digits","field":"symbol",\
"status":422,"title":"A field is not valid","type":"/problems/invalid","value":"'12'"}""",
    ),
}
"""One of each, and its bytes."""
PARTS = {"AuditRound", "AuditSelection", "CampaignSummary", "ExpectedPeople", "ExpectedPlace"}
PARTS |= {"Activity", "PreviewPoint", "RoundEstimate", "RoundView", "TokenView"}
"""Messages that travel within others only."""


def altered(name: str, change: Callable[[dict[str, Any]], object]) -> bytes:
    document = json.loads(MESSAGES[name][1])
    change(document)
    return json.dumps(document).encode()


# --- what is right --------------------------------------------------------------------------------------------


def test_every_message_has_its_bytes_written_down() -> None:
    assert {one.__name__ for one in wire_messages()} == MESSAGES.keys() | PARTS


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_is_these_bytes_and_comes_back_from_them(name: str) -> None:
    message, data = MESSAGES[name]
    assert message.to_bytes() == data
    assert type(message).from_bytes(data) == message
    spaced = json.dumps(json.loads(data), indent=2).encode()
    assert type(message).from_bytes(spaced).to_bytes() == data


def test_a_plain_message_has_only_fields_that_json_writes_as_they_are() -> None:
    found = [one for one in wire_messages() if one.plain]
    assert {one.__name__ for one in found} == {"Seat", "Report", "Receipt"}
    for one in found:
        for field in one.model_fields.values():
            patterns = [getattr(part, "pattern", None) for part in field.metadata]
            plain = any(pattern and re.fullmatch(r"\^[][(){}|a-z0-9,$-]+", pattern) for pattern in patterns)
            assert field.annotation is int or plain


@given(st.integers(0, 2**53 - 1), st.integers(0, 2**53 - 1), st.one_of(st.none(), st.integers(0, 10**8 - 1)))
def test_the_bytes_of_a_plain_message_are_the_canonical_form(participant: int, number: int, symbol: int | None) -> None:
    seat = Seat(
        protocol=1,
        campaign="c-0",
        participant=participant,
        round=number,
        policy_hash="a" * 64,
        terms_hash="0" * 64,
    )
    report = Report.of(seat, symbol)
    for one in (seat, report, Receipt.of("coffee", participant, report)):
        assert one.to_bytes() == canonical_json(one.model_dump(mode="json")).encode("ascii")
        assert type(one).from_bytes(one.to_bytes()) == one


@given(st.none() | st.integers(0, 10**8 - 1))
def test_a_report_is_as_long_for_every_symbol_and_for_null(symbol: int | None) -> None:
    report = Report.of(SEAT, symbol)
    assert len(report.to_bytes()) == len(MESSAGES["Report"][1])
    assert report.symbol_number == symbol
    assert Report.from_bytes(report.to_bytes()).digest == report.digest


def test_a_symbol_that_does_not_fit_its_eight_digits_is_refused() -> None:
    for symbol in (-1, 10**8):
        with pytest.raises(InputError, match="up to 8 digits"):
            Report.of(SEAT, symbol)


@given(
    st.sampled_from(get_args(ParticipantState)),
    st.integers(0, 2**53 - 1),
    st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=MAX_OFFER_BYTES // 12),
)
def test_a_status_is_as_long_whether_selected_or_not(state: ParticipantState, participant: int, offer: str) -> None:
    chosen = range(100) if state == "selected" else ()
    status = ParticipantStatus.of("coffee", participant, state, offer, selections=100, chosen=chosen)
    assert len(status.to_bytes()) == STATUS_BYTES
    assert ParticipantStatus.from_bytes(status.to_bytes()) == status
    assert status.offer == (offer if state == "selected" else None)


def test_a_status_has_room_for_the_longest_offer_and_the_longest_name() -> None:
    longest = "x" * (MAX_OFFER_BYTES - 2)
    status = ParticipantStatus.of("c" * 63, 2**53 - 1, "selected", longest, selections=1000, chosen=range(1000))
    assert len(status.to_bytes()) == STATUS_BYTES


def test_equal_reports_have_equal_receipts_and_different_ones_different_receipts() -> None:
    receipts = [Receipt.of("coffee", 41, Report.of(SEAT, symbol)).digest for symbol in (1, 1, 2, None)]
    assert receipts[0] == receipts[1]
    assert len(set(receipts)) == 3


def test_an_areas_own_description_travels_and_gives_the_same_area() -> None:
    area = square_town(3)
    described = PLAN.model_copy(update={"area": area.describe()})
    assert cv.Area.from_description(CampaignPlan.from_bytes(described.to_bytes()).area) == area


def test_how_many_are_wanted_can_be_said_as_a_share() -> None:
    shared = altered("CampaignPlan", lambda d: d.update(wanted=None, share=0.1))
    assert CampaignPlan.from_bytes(shared).people_wanted == PLAN.people_wanted == 9
    tiny = altered("CampaignPlan", lambda d: d.update(wanted=None, share=0.0001))
    assert CampaignPlan.from_bytes(tiny).people_wanted == 1


def test_an_audited_policy_comes_back_byte_for_byte() -> None:
    data = bytes(range(256))
    assert AuditRound.of(0, data, (), 0).policy_bytes == data


def test_secrets_and_etags_are_written_in_one_way() -> None:
    assert secret_digest("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert policy_etag(H) == f'"{H}"'


# --- what is refused ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_with_an_unknown_field_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="extra = 1: is not a field of this message"):
        type(MESSAGES[name][0]).from_bytes(altered(name, lambda d: d.update(extra=1)))


WITHOUT_PROTOCOL = ("Expectation", "Problem", "RoundNotice", "SelectionRow")
"""Parts of other messages, and those that other standards define."""


@pytest.mark.parametrize("name", [name for name in MESSAGES if name not in WITHOUT_PROTOCOL])
@pytest.mark.parametrize("protocol", [0, 2, "1", 1.0, True, None])
def test_a_message_of_another_protocol_is_refused(name: str, protocol: object) -> None:
    with pytest.raises(InputError, match="protocol"):
        type(MESSAGES[name][0]).from_bytes(altered(name, lambda d: d.update(protocol=protocol)))


@pytest.mark.parametrize("name", [name for name in MESSAGES if name not in WITHOUT_PROTOCOL])
def test_a_message_that_does_not_say_its_protocol_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="protocol = None: is missing"):
        type(MESSAGES[name][0]).from_bytes(altered(name, lambda d: d.pop("protocol")))


WRONG: list[tuple[str, str, object]] = [
    ("Report", "symbol", 123),
    ("Report", "symbol", "123"),
    ("Report", "symbol", "0000012³"),
    ("Report", "symbol", "00000123\n"),
    ("Report", "symbol", "NULLNULL"),
    ("Report", "round", "2"),
    ("Report", "round", -1),
    ("Report", "round", 2.0),
    ("Report", "round", True),
    ("Report", "round", 2**53),
    ("Report", "policy_hash", H.upper()),
    ("Report", "policy_hash", H + "0"),
    ("Seat", "campaign", "../etc"),
    ("Seat", "campaign", "Coffee"),
    ("Seat", "campaign", ""),
    ("SeatRequest", "secret_digest", None),
    ("SeatRequest", "invite", "with space"),
    ("Announcement", "terms", None),
    ("Announcement", "state", "lost"),
    ("Terms", "rule", "nearest"),
    ("Terms", "epsilon_per_km", 0),
    ("Terms", "epsilon_per_km", "1.5"),
    ("Terms", "null_epsilon", None),
    ("Terms", "target_names", []),
    ("Terms", "target_names", ["one", "two"]),
    ("Terms", "target_names", ["a\u202eb"]),
    ("Terms", "target_names", ["x" * 201]),
    ("Terms", "targets", []),
    ("Terms", "targets", [1.0]),
    ("Terms", "targets", "1"),
    ("Terms", "area", {"kind": "points", "xy_m": [[0.5, 0]]}),
    ("Terms", "area", {"kind": "points", "deep": [{"x": None}]}),
    ("Terms", "area", []),
    ("Terms", "server_key", H[:-1]),
    ("Terms", "server_key", H.upper()),
    ("RoundNotice", "signature", H),
    ("RoundNotice", "policy_hash", None),
    ("CampaignPlan", "name", "two\nlines"),
    ("CampaignPlan", "name", ""),
    ("CampaignPlan", "offer", "null\x00"),
    ("CampaignPlan", "offer", "ü" * 501),
    ("CampaignPlan", "share", 0.5),
    ("CampaignPlan", "wanted", None),
    ("CampaignPlan", "confidence", 1),
    ("CampaignPlan", "delta", -0.1),
    ("CampaignPlan", "seed", 7),
    ("CampaignPlan", "null_epsilon", None),
    ("CampaignPlan", "beyond_default_limits", 1),
    ("ParticipantStatus", "padding", ""),
    ("ParticipantStatus", "offer", None),
    ("ParticipantStatus", "state", "reported"),
    ("AuditRecord", "rows", [[0, 0, 0]]),
    ("AuditRecord", "rows", [[0, H, 0, "1"]]),
    ("AuditRecord", "rounds", [{"number": 0, "policy": "not base64!", "counts": [], "nulls": 0}]),
    ("AuditRecord", "selection", {"participants": [1], "chances": [], "hits": 0, "short": 0}),
    ("SelectionRow", "chance", 1.5),
    ("Problem", "status", 200),
    ("Problem", "type", "/problems/nonsense"),
    ("Problem", "type", "invalid"),
]


@pytest.mark.parametrize(("name", "field", "value"), WRONG)
def test_a_value_that_is_not_valid_is_refused(name: str, field: str, value: object) -> None:
    kind = type(MESSAGES[name][0])
    with pytest.raises(InputError):
        kind.from_bytes(altered(name, lambda d: d.update({field: value})))


@pytest.mark.parametrize("number", [nan, inf, -inf])
@pytest.mark.parametrize(
    ("name", "field"), [("Terms", "delta"), ("CampaignPlan", "epsilon_per_km"), ("SelectionRow", "chance")]
)
def test_nan_and_infinity_are_refused_in_json_and_in_the_library(name: str, field: str, number: float) -> None:
    message = MESSAGES[name][0]
    with pytest.raises(InputError, match="not a number that JSON knows"):
        type(message).from_bytes(altered(name, lambda d: d.update({field: number})))
    with pytest.raises(ValueError, match=field):
        type(message)(**{**dict(message), field: number})


def test_a_number_beyond_all_bounds_is_refused() -> None:
    with pytest.raises(InputError, match="epsilon_per_km"):
        CampaignPlan.from_bytes(PLAN_BYTES.replace(b'_km":1.5', b'_km":1e999'))


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"1", b"\xff", b'{"round":1,"round":2}', b"[" * 100_000, b'{"symbol":"\\ud800"}']
)
def test_what_is_no_json_object_is_refused_with_one_clear_error(data: bytes) -> None:
    with pytest.raises(InputError):
        Report.from_bytes(data)


def test_a_refusal_names_the_field_the_value_and_what_would_be_right() -> None:
    with pytest.raises(InputError) as refused:
        CampaignView.from_bytes(altered("CampaignView", lambda d: d["rounds"][0].update(seated="15")))
    assert (refused.value.field, refused.value.value) == ("rounds.0.seated", "15")
    assert "valid integer" in refused.value.expected


def test_a_message_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        SEAT.round = 3


# --- problems -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", get_args(ProblemKind))
def test_every_problem_is_in_the_table_and_travels(kind: ProblemKind) -> None:
    problem = Problem.of(kind)
    assert 400 <= problem.status < 600
    assert problem.detail == problem.title == PROBLEMS[kind].title
    assert Problem.from_bytes(problem.to_bytes()).kind == kind


def test_the_table_has_no_other_problems() -> None:
    assert set(PROBLEMS) == set(get_args(ProblemKind))
