"""Define the words that every room shares: NULL, rules, periods, algorithms, states, and the defaults of a campaign.

Imports nothing of the project, so that any room may import it.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log
from typing import Final, Literal, TypeAlias

# --- the place to report --------------------------------------------------------------------------------------

NULL: Final = -1
"""The place of someone without a frequent place: a number in Python, NULL in SQL and prose, `nullnull` on the wire."""

Rule = Literal["random", "target-aware"]
"""How a device picks the one place to report."""

Period = Literal["week", "day"]
"""What a profile predicts: at least one visit in the next week, or in the next day."""

# --- campaigns ------------------------------------------------------------------------------------------------

Algorithm = Literal["crowdveil", "algorithm-2"]
"""How a campaign is run: ours, or Algorithm 2 exactly as the paper prints it."""

Cover = Literal["any", "each", "numbers"]
"""What a campaign covers: any of its targets, each with the same number of people, or each with a number of its own."""

Chosen = Literal["symbol", "filled"]
"""How a person was selected: by the symbol that selects for the place, or to fill up, by the next best symbol."""

CampaignState = Literal["draft", "open", "paused", "closed", "finished"]
RoundState = Literal["opening", "open", "closed"]
ParticipantState = Literal["seated", "reported", "selected", "not-selected"]
Enrolment = Literal["open", "invite"]
"""Whether anyone may take part, or only who has an invite."""

# --- operators ------------------------------------------------------------------------------------------------

OperatorRole = Literal["owner", "planner", "viewer"]
"""An owner sees and runs every campaign and manages operators. A planner creates campaigns, and sees and runs these and
those shared with them. A viewer sees the campaigns shared with them, as counts, and changes nothing."""

ActivityAction = Literal[
    "campaign-created",
    "plan-replaced",
    "campaign-started",
    "campaign-paused",
    "campaign-closed",
    "campaign-deleted",
    "campaign-shared",
    "campaign-unshared",
    "invites-made",
    "selection-made",
    "selection-exported",
    "record-exported",
    "operator-added",
    "operator-role-changed",
    "operator-removed",
    "token-made",
    "token-revoked",
]
"""What the activity log records of operators."""

# --- defaults, each defined here and nowhere else -------------------------------------------------------------

DEFAULT_EPSILON_PER_KM: Final = log(4)
"""A report is at most 4 times as likely from one place as from another 1 km away."""
DEFAULT_NULL_EPSILON: Final = log(64)
"""A report is at most 64 times as likely from any place in the area as from outside it, and the other way round."""
DEFAULT_DELTA: Final = 0.5
"""A place is frequent, and its visitor regular, if the probability of a visit is above this."""
DEFAULT_LOWER_DELTAS: Final = (0.2,)
"""Below δ: the thresholds that divide those who are not regular visitors into further grades."""
DEFAULT_PROFILE_METHOD: Final = "logistic"
"""How devices estimate the probability of a visit."""
DEFAULT_RULE: Final[Rule] = "target-aware"
"""Devices report a target rather than another place, so that no visitor of a target is missed."""
DEFAULT_GRADE_EPSILON: Final = log(8)
"""A report is at most 8 times as likely from one grade of visitors as from the next, so 64 times between any two of
the three grades."""
DEFAULT_ROUNDS: Final = 6
DEFAULT_DEADLINE_S: Final = 7 * 24 * 3600
"""A round closes after a week at the latest."""
DEFAULT_CONFIDENCE: Final = 0.95
"""Of Algorithm 2: the chance that as many people as wanted can be selected."""
DEFAULT_SHARE_WANTED: Final = 0.05
"""People wanted, as a share of everyone who is invited."""


def grade_thresholds(delta: float, lower_deltas: tuple[float, ...] | None = None) -> tuple[float, ...]:
    """Return what divides the grades: δ, then the thresholds below it (default: the usual ones that lie below δ)."""
    usual = tuple(one for one in DEFAULT_LOWER_DELTAS if one < delta)
    return (delta, *(usual if lower_deltas is None else lower_deltas))


DEFAULT_THRESHOLDS: Final = grade_thresholds(DEFAULT_DELTA)
PROFILE_CONSTANTS: Final = 7
"""How many constants the prediction of devices has (`profile.logistic`)."""
MAX_PROFILE_CONSTANT: Final = 50.0
"""They lie between -50 and 50: a change of one fact by 1 is then never more than certainty."""


# --- long work ------------------------------------------------------------------------------------------------

Progress: TypeAlias = Callable[[int, int], None]
"""Called now and then with how much is done and how much there is in total."""
