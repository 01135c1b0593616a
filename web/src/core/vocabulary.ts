// Words that the device, the server and the pages share, and the defaults that hold everywhere; defined once.

/** The place of a person without a frequent place. */
export const NULL = -1;

/** How one of several frequent places is picked. */
export type Rule = "random" | "target-aware";
/** What profiles count in. */
export type Period = "week" | "day";
/** How a campaign's policies are made. */
export type Algorithm = "crowdveil" | "algorithm-2";
/** Who may take a seat: everyone, or whoever has an invite. */
export type Enrolment = "open" | "invite";

/** What an operator may do: everything; run campaigns of their own and those shared with them; look. */
export type OperatorRole = "owner" | "planner" | "viewer";

export const CAMPAIGN_STATES = ["draft", "open", "paused", "closed", "finished"] as const;
/** What a campaign covers: any of its targets, each with the same number of people, or each with a number of its own. */
export type Cover = "any" | "each" | "numbers";
/** How a person was selected: by the symbol that selects for the place, or to fill up, by the next best symbol. */
export type Chosen = "symbol" | "filled";
export type CampaignState = (typeof CAMPAIGN_STATES)[number];
export type RoundState = "opening" | "open" | "closed";
export const PARTICIPANT_STATES = ["seated", "reported", "selected", "not-selected"] as const;
export type ParticipantState = (typeof PARTICIPANT_STATES)[number];

/** An answer is at most 4 times as likely from one place as from one 1 km away. */
export const DEFAULT_EPSILON_PER_KM = Math.log(4);
/** ε₀: an answer is at most 64 times as likely from any place as from outside the area, and the other way round. */
export const DEFAULT_NULL_EPSILON = Math.log(64);
/** ε₁: an answer is at most 8 times as likely from one grade of visitors as from the next, so 64 times between any two of three. */
export const DEFAULT_GRADE_EPSILON = Math.log(8);
/** A place is frequent if a visit in the next period is more likely than this. */
export const DEFAULT_DELTA = 0.5;
/** Below δ: the thresholds of further grades. */
export const DEFAULT_LOWER_DELTAS: readonly number[] = [0.2];
/** How a device picks the one place to report. */
export const DEFAULT_RULE: Rule = "target-aware";
/** How sure a campaign wants to be of its number of people. */
export const DEFAULT_CONFIDENCE = 0.95;
/** A round closes after a week at the latest. */
export const DEFAULT_DEADLINE_S = 7 * 24 * 3600;
/** A status names at most so many selections. */
export const MAX_CHOSEN_SHOWN = 32;

/** Called with how much of a long task is done. */
export type Progress = (done: number, total: number) => void;
