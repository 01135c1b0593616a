"""Say what became of a device's answers in a campaign: of one, or of a panel of each that its owner gave.

Who renews an answer takes part anew, with another secret and another number, so that the server cannot tell which two
answers are one person's. Only the device knows; so it asks for each answer by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from crowdveil.client.explain import BEING_CHOSEN, describe_answer_use
from crowdveil.vocabulary import ParticipantState
from crowdveil.wire import ParticipantStatus


class AnswerStatus(NamedTuple):
    """What became of the answer that was given in a round, which counts from 0."""

    round: int
    status: ParticipantStatus


@dataclass(frozen=True)
class DeviceStatus:
    """What became of a device's answers in a campaign, the oldest first; there is at least one."""

    answers: tuple[AnswerStatus, ...]

    @property
    def state(self) -> ParticipantState:
        """Whether any answer was selected; if none was, the state of the newest."""
        states = [one.status.state for one in self.answers]
        return "selected" if "selected" in states else states[-1]

    @property
    def offer(self) -> str | None:
        """What the selected are offered; None for who was not selected."""
        return next((one.status.offer for one in self.answers if one.status.offer is not None), None)


def describe_use_of_answers(answers: Sequence[AnswerStatus]) -> str:
    """Say for how many selections each answer was used, and which of them chose its sender."""
    said = []
    for number, status in answers:
        whose = "Your answer" if len(answers) == 1 else f"Your answer in round {number + 1}"
        said.append(describe_answer_use(whose, status.selections, status.chosen))
    if any(one.status.selections for one in answers):
        said.append(BEING_CHOSEN)
    return " ".join(said)
