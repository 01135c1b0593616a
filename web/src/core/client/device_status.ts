// Say what became of a device's answers in a campaign: of one, or of a panel of each that its owner gave.
//
// Who renews an answer takes part anew, with another secret and another number, so that the server cannot tell which two
// answers are one person's. Only the device knows; so it asks for each answer by itself.

import type { ParticipantState } from "../vocabulary";
import type { ParticipantStatus } from "../wire/participant";
import { BEING_CHOSEN, describeAnswerUse } from "./explain";

/** What became of the answer that was given in a round, which counts from 0. */
export interface AnswerStatus {
  readonly round: number;
  readonly status: ParticipantStatus;
}

/** How often the answer of a round was used, and the numbers of the selections that chose its sender. */
export interface AnswerUse {
  readonly round: number;
  readonly selections: number;
  readonly chosen: readonly number[];
}

/** What became of a device's answers in a campaign, the oldest first; there is at least one. */
export interface DeviceStatus {
  readonly answers: readonly AnswerStatus[];
  /** Whether any answer was selected; if none was, the state of the newest. */
  readonly state: ParticipantState;
  /** What the selected are offered; null for who was not selected. */
  readonly offer: string | null;
}

export function deviceStatus(answers: readonly AnswerStatus[]): DeviceStatus {
  const states = answers.map(({ status }) => status.state);
  return {
    answers,
    state: states.includes("selected") ? "selected" : (states.at(-1) as ParticipantState),
    offer: answers.find(({ status }) => status.offer !== null)?.status.offer ?? null,
  };
}

/** Say for how many selections each answer was used, and which of them chose its sender. */
export function describeUseOfAnswers(answers: readonly AnswerUse[]): string {
  const said = answers.map(({ round, selections, chosen }) =>
    describeAnswerUse(answers.length === 1 ? "Your answer" : `Your answer in round ${round + 1}`, selections, chosen),
  );
  if (answers.some(({ selections }) => selections > 0)) said.push(BEING_CHOSEN);
  return said.join(" ");
}
