"""Run a campaign as pure state transitions, without I/O, clock or randomness.

plan            what an operator fixes before the start
state           rounds: which policy comes next, what is learned from a round, who is selected in the end
selection       who is selected from given reports, and the lottery among equals
forecast        the expected coverage, before the start and between rounds
audit           repeats a finished campaign from its public record
from_wire       from an operator's message to a plan
"""

from crowdveil.campaign.forecast import expected_coverage, preview_state
from crowdveil.campaign.plan import Plan
from crowdveil.campaign.selection import Reports, Selection
from crowdveil.campaign.state import (
    Event,
    RoundClosed,
    RoundOpened,
    State,
    advance,
    begin,
    next_policy,
    quota,
    reporting_share,
    resume,
    select,
)
from crowdveil.vocabulary import Algorithm

__all__ = [
    "Algorithm",
    "Event",
    "Plan",
    "Reports",
    "RoundClosed",
    "RoundOpened",
    "Selection",
    "State",
    "advance",
    "begin",
    "expected_coverage",
    "next_policy",
    "preview_state",
    "quota",
    "reporting_share",
    "resume",
    "select",
]
