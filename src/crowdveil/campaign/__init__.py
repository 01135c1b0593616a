"""A campaign as pure state transitions: plan, rounds, selection, forecast and audit, without I/O or clock."""

from crowdveil.campaign.forecast import expected_coverage, sketch
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
    "quota",
    "reporting_share",
    "resume",
    "select",
    "sketch",
]
