"""What terms and signed notices prove: same hashes everywhere, forged notices refused, split views found."""

from __future__ import annotations

import hashlib
import struct
from typing import Any

import pytest

from crowdveil.errors import InputError
from crowdveil.wire import (
    Announcement,
    CampaignPlan,
    RoundNotice,
    Terms,
    find_split,
    new_private_key,
    public_key,
)
from crowdveil.wire.signing import SMALL_ORDER, check_signature
from tests.wire.test_messages import NOTICE, PLAN, PRIVATE_KEY, SERVER_KEY, TERMS, TERMS_HASH, H

OTHER = "fedcba9876543210" * 4
PRIME = 2**255 - 19


def test_one_signature_for_all_messages_is_refused_under_every_key_of_small_order() -> None:
    """R = 1 and S = 0 satisfy S·B = R + h·A whenever h·A = 1, as for all messages under the key A = 1."""
    forged = "01" + "0" * 126
    for y in SMALL_ORDER:
        for sign in (0x00, 0x80):
            key = y[:-2] + f"{int(y[-2:], 16) | sign:02x}"
            for message in range(16):
                with pytest.raises(InputError, match="was not made with the server's key"):
                    check_signature(key, forged, bytes([message]))


def test_the_keys_of_small_order_are_those_whose_eightfold_is_the_identity() -> None:
    d = -121665 * pow(121666, -1, PRIME) % PRIME

    def added(one: tuple[int, int], two: tuple[int, int]) -> tuple[int, int]:
        (x1, y1), (x2, y2) = one, two
        product = d * x1 * x2 * y1 * y2
        x = (x1 * y2 + x2 * y1) * pow(1 + product, -1, PRIME)
        y = (y1 * y2 + x1 * x2) * pow(1 - product, -1, PRIME)
        return x % PRIME, y % PRIME

    def point(key: str) -> tuple[int, int]:
        y = int.from_bytes(bytes.fromhex(key), "little") % PRIME
        square = (y * y - 1) * pow(d * y * y + 1, -1, PRIME) % PRIME
        x = pow(square, (PRIME + 3) // 8, PRIME)
        x = x if x * x % PRIME == square else x * pow(2, (PRIME - 1) // 4, PRIME) % PRIME
        assert x * x % PRIME == square
        return x, y

    ys = set()
    for key in SMALL_ORDER:
        one = point(key)
        ys.add(one[1])
        for _ in range(3):
            one = added(one, one)
        assert one == (0, 1)
    # Eight points have an order that divides 8: pairs with the same y, and the two with x = 0.
    assert len(ys) == 5


def changed(**fields: Any) -> Terms:
    return Terms.model_validate({**dict(TERMS), **fields})


def test_the_hash_of_terms_is_over_text_in_which_reals_are_the_digits_of_their_doubles() -> None:
    def digits(number: float) -> str:
        return struct.pack(">d", number).hex()

    text = TERMS.to_bytes().decode()
    for name, number in (("delta", 0.25), ("epsilon_per_km", 1.5), ("grade_epsilon", 3.0), ("null_epsilon", 4.0)):
        text = text.replace(f'"{name}":{number}', f'"{name}":"{digits(number)}"')
    for name, numbers in (("lower_deltas", TERMS.lower_deltas), ("profile_constants", TERMS.profile_constants or ())):
        before, after = (",".join(map(one, numbers)) for one in (repr, lambda number: f'"{digits(number)}"'))
        text = text.replace(f'"{name}":[{before}]', f'"{name}":[{after}]')
    assert TERMS.hash == hashlib.sha256(text.encode()).hexdigest() == TERMS_HASH


def test_a_whole_number_in_json_gives_the_same_hash_as_a_real_one() -> None:
    assert (
        Terms.from_bytes(
            TERMS.to_bytes().replace(b":4.0", b":4").replace(b":3.0", b":3e0").replace(b"50.0", b"50")
        ).hash
        == TERMS_HASH
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"campaign": "tea"},
        {"server_key": H},
        {"name": "Coffee"},
        {"offer": "A tea"},
        {"area": {"kind": "points", "xy_m": [[0, 0], [1001, 0]]}},
        {"targets": (0,)},
        {"target_names": ("Cafe",)},
        {"target_names": None},
        {"epsilon_per_km": 1.5000000000000002},
        {"null_epsilon": 4.1},
        {"grade_epsilon": None, "lower_deltas": ()},
        {"grade_epsilon": None, "null_epsilon": None, "lower_deltas": ()},
        {"delta": 0.2},
        {"lower_deltas": (0.1,)},
        {"lower_deltas": ()},
        {"profile_constants": None},
        {"profile_constants": (-3.0, 0.75, 0.0, 0.25, 0.5, 50.0, 50.0)},
        {"rule": "random"},
        {"period": "week"},
        {"enrolment": "open"},
        {"rounds": 5},
        {"seed_hash": OTHER},
    ],
)
def test_whatever_changes_in_the_terms_changes_their_hash(fields: dict[str, Any]) -> None:
    assert changed(**fields).hash != TERMS_HASH


def test_a_servers_notice_is_accepted_and_anything_else_refused() -> None:
    NOTICE.verify(SERVER_KEY)
    for fields in ({"policy_hash": OTHER}, {"round": 1}, {"terms_hash": OTHER}, {"campaign": "tea"}):
        with pytest.raises(InputError, match=r"notice\.signature.*was not made with the server's key"):
            NOTICE.model_copy(update=fields).verify(SERVER_KEY)
    with pytest.raises(InputError, match=r"notice\.signature"):
        NOTICE.verify(public_key(new_private_key()))
    with pytest.raises(InputError, match=r"notice\.signature"):
        NOTICE.verify("f" * 64)


def test_every_server_has_a_key_of_its_own() -> None:
    assert public_key(PRIVATE_KEY) == SERVER_KEY
    assert len({new_private_key() for _ in range(20)}) == 20


def test_an_announcement_carries_only_a_notice_of_its_own_terms() -> None:
    for notice, text in (
        (NOTICE.model_copy(update={"terms_hash": OTHER}), "of the terms that are announced"),
        (NOTICE.model_copy(update={"campaign": "tea"}), "of the announced campaign"),
        (RoundNotice.of(TERMS, 6, H, PRIVATE_KEY), "should be below 6"),
    ):
        document = b'{"notice":%s,"protocol":1,"state":"open","terms":%s}' % (notice.to_bytes(), TERMS.to_bytes())
        with pytest.raises(InputError, match=text):
            Announcement.from_bytes(document)
    assert Announcement(protocol=1, terms=TERMS, notice=None, state="paused").notice is None


# --- split views --------------------------------------------------------------------------------------------------


def test_equal_notices_and_notices_of_other_rounds_are_no_split_view() -> None:
    later = RoundNotice.of(TERMS, 3, OTHER, PRIVATE_KEY)
    assert find_split([NOTICE, NOTICE, later], SERVER_KEY) is None
    assert find_split([], SERVER_KEY) is None


def test_two_policies_for_one_round_prove_a_split_view() -> None:
    other = RoundNotice.of(TERMS, 2, OTHER, PRIVATE_KEY)
    later = RoundNotice.of(TERMS, 3, OTHER, PRIVATE_KEY)
    assert find_split([NOTICE, later, other], SERVER_KEY) == (NOTICE, other)


def test_two_terms_of_one_campaign_prove_a_split_view() -> None:
    other = RoundNotice.of(changed(offer="A tea"), 3, H, PRIVATE_KEY)
    assert find_split([NOTICE, other], SERVER_KEY) == (NOTICE, other)
    elsewhere = RoundNotice.of(changed(campaign="tea"), 2, OTHER, PRIVATE_KEY)
    assert find_split([NOTICE, elsewhere], SERVER_KEY) is None


def test_a_forged_notice_cannot_make_a_server_look_guilty() -> None:
    forged = RoundNotice.of(TERMS, 2, OTHER, new_private_key())
    assert find_split([NOTICE, forged], SERVER_KEY) is None
    assert find_split([forged, NOTICE], SERVER_KEY) is None


# --- plans --------------------------------------------------------------------------------------------------------


def test_a_plan_is_protected_by_invite_and_with_a_deadline_unless_it_says_otherwise() -> None:
    assert (PLAN.enrolment, PLAN.deadline_s, PLAN.beyond_default_limits) == ("invite", 7 * 24 * 3600, False)
    assert PLAN.null_epsilon == pytest.approx(4.1588830833596715, abs=0)
    assert PLAN.grade_epsilon == pytest.approx(2.0794415416798357, abs=0)
    assert (PLAN.rule, PLAN.thresholds) == ("target-aware", (0.25, 0.2))


@pytest.mark.parametrize(
    ("changes", "thresholds"),
    [
        ({"delta": 0.5}, (0.5, 0.2)),
        ({"delta": 0.2}, (0.2,)),
        ({"delta": 0.1}, (0.1,)),
        ({"delta": 0.1, "lower_deltas": (0.05, 0.01)}, (0.1, 0.05, 0.01)),
        ({"lower_deltas": ()}, (0.25,)),
        ({"null_epsilon": None, "grade_epsilon": None}, (0.25,)),
    ],
)
def test_a_plan_has_the_usual_thresholds_below_delta_unless_it_says_otherwise(
    changes: dict[str, Any], thresholds: tuple[float, ...]
) -> None:
    assert CampaignPlan.model_validate({**dict(PLAN), **changes}).thresholds == thresholds


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"lower_deltas": (0.25,)}, "should fall"),
        ({"lower_deltas": (0.1, 0.2)}, "should fall"),
        ({"lower_deltas": (0.1, 0.0)}, "greater than 0"),
        ({"lower_deltas": (0.2, 0.1, 0.05, 0.04, 0.03, 0.02, 0.01)}, "at most 6"),
        ({"null_epsilon": None, "grade_epsilon": None, "lower_deltas": (0.1,)}, "applies only to grades"),
        ({"profile_constants": (1.0,) * 6}, "at least 7"),
        ({"profile_constants": (1.0,) * 8}, "at most 7"),
        ({"profile_constants": (51.0,) * 7}, "less than or equal to 50"),
        ({"profile_constants": (float("nan"),) * 7}, "finite"),
    ],
)
def test_thresholds_and_constants_that_no_device_could_use_are_refused(changes: dict[str, Any], said: str) -> None:
    for kind, message in ((CampaignPlan, PLAN), (Terms, TERMS)):
        with pytest.raises(ValueError, match=said):
            kind.model_validate({**dict(message), **changes})


def test_grades_without_a_protected_outside_are_refused_in_plans_and_terms() -> None:
    for kind, message in ((CampaignPlan, PLAN), (Terms, TERMS)):
        nothing = {"null_epsilon": None, "grade_epsilon": None, "lower_deltas": ()}
        clear = kind.model_validate({**dict(message), **nothing})
        assert clear.null_epsilon is None
        with pytest.raises(ValueError, match="grade_epsilon needs null_epsilon"):
            kind.model_validate({**dict(message), "null_epsilon": None})
