"""Messages of protocol 1 as bytes, and canonical texts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from crowdveil.codec import canonical_json, parse_json
from crowdveil.errors import CrowdveilError, InputError
from crowdveil.vocabulary import ParticipantState
from crowdveil.wire import (
    PROBLEMS,
    Announcement,
    ParticipantStatus,
    Problem,
    Receipt,
    Report,
    RoundNotice,
    Seat,
    SeatRequest,
    Terms,
    Withdrawal,
    find_split,
    public_key,
    secret_digest,
)
from crowdveil.wire.message import Message
from crowdveil.wire.participant import STATUS_BYTES
from crowdveil.wire.signing import SMALL_ORDER

Case = dict[str, Any]
WRONG: tuple[Any, ...] = (None, True, -1, 1.5, 2**53, "", "x", "X" * 64, [], [True], [1.5], {})
HASH = "0123456789abcdef" * 4
PRIVATE_KEY = "11" * 32
OTHER_KEY = "22" * 32
DAY_S = 86_400
PANELS: tuple[Case, ...] = (
    {"panel": True, "rounds": 1},
    {"panel": True, "renewal_s": 30 * DAY_S},
    {"panel": True, "rounds": 2, "renewal_s": 1},
)
"""What panels say beside the other terms."""
SEAT = Seat(protocol=1, campaign="winter-air", participant=317, round=2, policy_hash=HASH, terms_hash=HASH[::-1])
TERMS: Case = {
    "protocol": 1,
    "campaign": "winter-air",
    "server_key": public_key(PRIVATE_KEY),
    "name": "Winter air – Zürich 🌫",
    "offer": "A sensor,\nand our thanks",
    "area": {"kind": "points", "centres_m": [[0, 0], [1000, 0]]},
    "targets": [1],
    "target_names": None,
    "epsilon_per_km": 1.3862943611198906,
    "null_epsilon": 4.1588830833596715,
    "grade_epsilon": 2.0794415416798357,
    "delta": 0.7,
    "lower_deltas": [0.2],
    "profile_constants": None,
    "rule": "target-aware",
    "period": "week",
    "enrolment": "open",
    "rounds": 3,
    "panel": False,
    "renewal_s": None,
    "seed_hash": HASH,
}


def announced(terms: Terms, policy_hash: str = HASH, number: int = 0, private_key: str = PRIVATE_KEY) -> Announcement:
    """What a server announces while a round is open."""
    notice = RoundNotice.of(terms, number, policy_hash, private_key)
    return Announcement(protocol=1, terms=terms, notice=notice, state="open")


def message_cases() -> Iterator[Case]:
    """What is sent, byte by byte, and what is read, accepted or refused."""
    for symbol in (None, 0, 1, 7, 401, 99_999_999):
        report = Report.of(SEAT, symbol)
        receipt = Receipt.of(SEAT.campaign, SEAT.participant, report)
        yield {
            "kind": "report",
            "symbol": symbol,
            "round": SEAT.round,
            "policy_hash": HASH,
            "bytes": report.to_bytes().decode(),
            "digest": report.digest,
            "receipt": receipt.to_bytes().decode(),
        }
    for secret, invite in (("s3cret", None), ("x" * 43, "INV-1-2-3")):
        sent = SeatRequest(protocol=1, secret_digest=secret_digest(secret), invite=invite)
        yield {"kind": "enrolment", "secret": secret, "invite": invite, "bytes": sent.to_bytes().decode()}
    open_round = json.loads(announced(Terms.model_validate(TERMS)).to_bytes())
    yield from _read_cases(Announcement, open_round)
    yield from _read_cases(Announcement, {**open_round, "notice": None, "state": "draft"})
    for part in ("terms", "notice"):
        for field in open_round[part]:
            for wrong in WRONG:
                yield _read(Announcement, json.dumps({**open_round, part: {**open_round[part], field: wrong}}))
        yield _read(Announcement, json.dumps({**open_round, part: {**open_round[part], "more": 1}}))
    changes: tuple[Case, ...] = (
        {"null_epsilon": None},
        {"null_epsilon": None, "grade_epsilon": None},
        {"grade_epsilon": None},
        *({"target_names": names} for names in (["Zoo"], ["x" * 200], ["x" * 201], [""], ["a", "b"], ["a\u202eb"])),
        *PANELS,
        {"panel": True},
        {"panel": True, "rounds": 1, "renewal_s": DAY_S},
        {"renewal_s": DAY_S},
    )
    for change in changes:
        yield _read(Announcement, json.dumps({**open_round, "notice": None, "terms": {**TERMS, **change}}))
    yield from _read_cases(Withdrawal, {"protocol": 1, "campaign": "winter-air", "participant": 3})
    yield from _read_cases(Seat, json.loads(SEAT.to_bytes()))
    yield from _read_cases(Receipt, json.loads(Receipt.of("winter-air", 3, Report.of(SEAT, 1)).to_bytes()))
    yield from _status_cases()
    for kind in PROBLEMS:
        yield from _read_cases(Problem, json.loads(Problem.of(kind, "why").to_bytes()))
    told = Problem.of_input(InputError("round", 5, "should be 0"))
    yield from _read_cases(Problem, json.loads(told.to_bytes()))


def _status_cases() -> Iterator[Case]:
    """Statuses, and the same with other selections in as many bytes."""
    offer = "Come to the bridge 🌉"
    cases: tuple[tuple[ParticipantState, int, tuple[int, ...]], ...] = (
        ("seated", 0, ()),
        ("reported", 3, ()),
        ("selected", 1, (0,)),
        ("selected", 52, (3, 17, 51)),
        ("selected", 1000, tuple(range(900, 1000))),
    )
    for state, selections, chosen in cases:
        status = ParticipantStatus.of("winter-air", 317, state, offer, selections=selections, chosen=chosen)
        yield {"kind": "ParticipantStatus", "body": status.to_bytes().decode(), "ok": True}
        yield from _resized(status, selections=[-1, 1.5, None, "3", True, 2**53, 7])
        yield from _resized(status, chosen=[None, 3, [], [0], [-1], [1.5], ["0"], [True], [2**53], list(range(33))])
        yield from _resized(status, state=["seated", "selected", "chosen"])


def _resized(status: ParticipantStatus, **changes: list[Any]) -> Iterator[Case]:
    for field, values in changes.items():
        for value in values:
            bare = {**json.loads(status.to_bytes()), field: value, "padding": ""}
            size = len(canonical_json(bare).encode("ascii"))
            yield _read(ParticipantStatus, canonical_json({**bare, "padding": " " * (STATUS_BYTES - size)}))


def _read_cases(kind: type[Message], document: Case) -> Iterator[Case]:
    """The message, and the same with each field missing or wrong."""
    yield _read(kind, json.dumps(document))
    yield _read(kind, json.dumps({**document, "more": 1}))
    yield _read(kind, json.dumps(document)[:-1])
    yield _read(kind, "[]")
    for field in document:
        yield _read(kind, json.dumps({name: value for name, value in document.items() if name != field}))
        for wrong in WRONG:
            yield _read(kind, json.dumps({**document, field: wrong}))
        text = json.dumps(document)
        yield _read(kind, text[:-1] + f', "{field}": {json.dumps(document[field])}}}')


def _read(kind: type[Message], body: str) -> Case:
    try:
        kind.from_bytes(body.encode())
    except CrowdveilError:
        return {"kind": kind.__name__, "body": body, "ok": False}
    return {"kind": kind.__name__, "body": body, "ok": True}


def notice_cases() -> Iterator[Case]:
    """Terms with their hashes, notices with who signed them, and which of them prove a split view."""
    terms = Terms.model_validate(TERMS)
    changes: tuple[Case, ...] = (
        {},
        {"name": "Winter"},
        {"epsilon_per_km": 1},
        {"epsilon_per_km": 0.1},
        {"delta": 5e-324, "lower_deltas": []},
        {"lower_deltas": []},
        {"lower_deltas": [0.5, 0.25, 0.125]},
        {"profile_constants": [-3, 0.8370, -0.9560, 1e-7, 0.5192, 50, -50]},
        {"grade_epsilon": None, "lower_deltas": []},
        {"null_epsilon": None, "grade_epsilon": None, "lower_deltas": []},
        {"targets": [1, 0]},
        {"target_names": ["Hauptbahnhof – Zürich 🌫"]},
        {"targets": [1, 0], "target_names": ["b", "a"]},
        *PANELS,
        {"area": {"kind": "points", "centres_m": [[0, 0], [10**15, -3]], "é": ["🌫"]}},
    )
    for change in changes:
        changed = Terms.model_validate({**TERMS, **change})
        yield {"kind": "terms", "announcement": announced(changed).to_bytes().decode(), "hash": changed.hash}
    notices = [
        RoundNotice.of(terms, 0, HASH, PRIVATE_KEY),
        RoundNotice.of(terms, 1, HASH, PRIVATE_KEY),
        RoundNotice.of(terms, 1, HASH[::-1], PRIVATE_KEY),
        RoundNotice.of(terms, 0, HASH, OTHER_KEY),
        RoundNotice.of(terms, 0, HASH, PRIVATE_KEY).model_copy(update={"policy_hash": HASH[::-1]}),
        RoundNotice.of(Terms.model_validate({**TERMS, "name": "Spring"}), 0, HASH, PRIVATE_KEY),
        RoundNotice.of(terms, 2, HASH, PRIVATE_KEY).model_copy(update={"signature": "0" * 128}),
        # One signature that passes under every key of small order, for some messages or for all.
        *(
            RoundNotice.of(terms, number, HASH, PRIVATE_KEY).model_copy(update={"signature": "01" + "0" * 126})
            for number in range(8)
        ),
    ]
    keys = [public_key(PRIVATE_KEY), public_key(OTHER_KEY), *sorted(SMALL_ORDER)]
    keys += [one[:-2] + f"{int(one[-2:], 16) | 0x80:02x}" for one in sorted(SMALL_ORDER)]
    yield {
        "kind": "signatures",
        "notices": [notice.model_dump() for notice in notices],
        "signed": [[_is_signed(notice, key) for key in keys] for notice in notices],
        "keys": keys,
        "splits": [
            [i, j, find_split([one, two], public_key(PRIVATE_KEY)) is not None]
            for i, one in enumerate(notices)
            for j, two in enumerate(notices)
        ],
    }


def _is_signed(notice: RoundNotice, key: str) -> bool:
    try:
        notice.verify(key)
    except InputError:
        return False
    return True


def canonical_cases() -> Iterator[Case]:
    """JSON texts and their canonical form, or None where they are refused."""
    for text in (
        '{"b": 1, "a": [1, -2, 0, "x"], "ä": "\\u00e4\\n\\t\\"\\\\/\\u007f"}',
        '{"\\ud83c\\udf2b": 1, "\\uffee": 2, "Z": 3, "a": {}}',
        '{"a": 123456789012345678901234567890, "b": -9007199254740993}',
        '["\\ud800", "\\b\\f\\r", "é🌫", null, true, false]',
        " [ ] ",
        '{"a": 1, "a": 2}',
        '{"a": NaN}',
        "[1, 2",
        "[01]",
        '["\\x"]',
        "[1,]",
        '"\t"',
        "[-]",
        "",
        "[1] 2",
    ):
        try:
            yield {"text": text, "canonical": canonical_json(parse_json(text, "text"))}
        except CrowdveilError:
            yield {"text": text, "canonical": None}
