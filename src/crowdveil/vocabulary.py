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

GRADES: Final = 2
"""How regular a visitor of a place is: regular or occasional."""

Rule = Literal["random", "target-aware"]
"""How a device picks the one place to report among its frequent places."""

Period = Literal["week", "day"]
"""What a profile predicts: at least one visit in the next week, or in the next day."""

# --- campaigns ------------------------------------------------------------------------------------------------

Algorithm = Literal["crowdveil", "algorithm-2"]
"""How a campaign is run: ours, or Algorithm 2 exactly as the paper prints it."""

CampaignState = Literal["draft", "open", "paused", "closed", "finished"]
RoundState = Literal["opening", "open", "closed"]
ParticipantState = Literal["seated", "reported", "selected", "not-selected"]
Enrolment = Literal["open", "invite"]
"""Whether anyone may take part, or only who has an invite."""

# --- defaults, each defined here and nowhere else -------------------------------------------------------------

DEFAULT_EPSILON_PER_KM: Final = log(4)
"""A report is at most 4 times as likely from one place as from another 1 km away."""
DEFAULT_NULL_EPSILON: Final = log(64)
"""A report is at most 64 times as likely from any place in the area as from outside it, and the other way round."""
DEFAULT_GRADE_EPSILON: Final = log(64)
"""A report is at most 64 times as likely from a regular visitor of a place as from an occasional one."""
DEFAULT_DELTA: Final = 0.7
"""A place is frequent if its probability is above this."""
DEFAULT_ROUNDS: Final = 6
DEFAULT_DEADLINE_S: Final = 7 * 24 * 3600
"""A round closes after a week at the latest."""
DEFAULT_CONFIDENCE: Final = 0.95
"""Of Algorithm 2: the chance that as many people as wanted can be selected."""
DEFAULT_SHARE_WANTED: Final = 0.05
"""People wanted, as a share of those who report."""

# --- long work ------------------------------------------------------------------------------------------------

Progress: TypeAlias = Callable[[int, int], None]
"""Called now and then with how much is done and how much there is in total."""
