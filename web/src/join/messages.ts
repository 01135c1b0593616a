// What the page and its worker say to each other. The worker is the device: visits, ledger, secret and requests live in it;
// the page draws what it is told.

import type { Caps } from "../core/caps";
import type { EntryState } from "../core/ledger/events";
import type { CampaignState, Standing } from "../core/wire/participant";

export type TroubleKind =
  | "storage-blocked"
  | "storage-full"
  | "ledger-altered"
  | "no-campaign"
  | "not-yet"
  | "refused"
  | "limits"
  | "lifetime"
  | "no-answer"
  | "strange-answer"
  | "paused"
  | "no-seat"
  | "bad-invite"
  | "declined"
  | "uncounted"
  | "broken-file"
  | "empty-file"
  | "same-file"
  | "failed";

/** Why something did not go on: the kind decides what is drawn, the words are the program's own. */
export interface Trouble {
  readonly kind: TroubleKind;
  readonly words: string;
  /** What the campaign announced, where that much is known. */
  readonly info: InfoView | null;
}

export interface InfoView {
  readonly campaign: string;
  readonly name: string;
  readonly offer: string;
  readonly epsilonPerKm: number;
  readonly delta: number;
  readonly period: "week" | "day";
  readonly nullEpsilon: number | null;
  readonly enrolment: "open" | "invite";
  readonly rounds: number;
  readonly round: number | null;
  readonly state: CampaignState;
}

export interface EntryView {
  readonly campaign: string;
  readonly state: EntryState;
  readonly epsilonPerKm: number;
  readonly drawn: boolean;
  readonly reason: string;
  readonly at: string;
}

export interface SourceView {
  readonly id: number;
  readonly name: string;
  readonly recorded: boolean;
  readonly visits: number;
  /** Milliseconds since 1970 of the first and the last visit. */
  readonly from: number;
  readonly to: number;
  readonly dropped: readonly (readonly [reason: string, rows: number])[];
}

export interface Answered {
  readonly state: Standing;
  readonly offer: string | null;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** What is on this device. */
export interface Local {
  readonly hasLedger: boolean;
  readonly spentPerKm: number;
  /** The part of it that the owner told of when the ledger began. */
  readonly beforePerKm: number;
  readonly entries: readonly EntryView[];
  readonly entry: EntryView | null;
  readonly caps: Caps;
  readonly usualCaps: Caps;
  readonly sources: readonly SourceView[];
  /** The last answer about this campaign, and the name it was announced under. */
  readonly answered: Answered | null;
  readonly name: string | null;
  /** Campaigns that were looked at or joined here. */
  readonly known: readonly { readonly campaign: string; readonly name: string | null }[];
}

export interface Looked {
  readonly info: InfoView;
  readonly cells: number;
  readonly policyHash: string;
  readonly smallestPerKm: number;
  /** The checker's own words. */
  readonly checked: string;
  /** When it was fetched, in milliseconds since 1970, if there is no network now. */
  readonly offlineSince: number | null;
}

export interface PlaceView {
  readonly cell: number;
  readonly latitude: number;
  readonly longitude: number;
  readonly visits: number;
  readonly probability: number;
  readonly frequent: boolean;
  readonly target: boolean;
}

export interface Odds {
  readonly name: string;
  readonly share: number;
  readonly selecting: boolean;
}

export interface Places {
  readonly counted: number;
  readonly outsideArea: number;
  readonly outsidePeriods: number;
  readonly periods: number;
  /** The likeliest first; no more than are drawn. */
  readonly places: readonly PlaceView[];
  readonly frequent: number;
  /** The cell that is drawn from; null if there is no frequent place. */
  readonly chosen: number | null;
  readonly map: MapView;
  readonly leaves: Leaves;
}

/** What stood beside the button when it was pressed; nothing else is drawn from. */
export interface Seen {
  readonly policyHash: string;
  readonly chosen: number | null;
}

/** What would be sent: drawn from these odds. */
export interface Leaves {
  /** There is no frequent place. */
  readonly none: boolean;
  /** ... and that is said in the clear, not drawn. */
  readonly clear: boolean;
  readonly odds: readonly Odds[];
  readonly others: readonly Others[];
}

/** Symbols that are not listed one by one. */
export interface Others {
  readonly symbols: number;
  readonly share: number;
  readonly selecting: boolean;
}

export interface MapView {
  readonly regions: readonly (readonly (readonly [latitude: number, longitude: number])[])[];
  readonly values: readonly number[];
  readonly targets: readonly number[];
}

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly bytes: number;
  /** null while there is no answer; 0 if none came. */
  readonly status: number | null;
  readonly problem: string | null;
}

export type Happening =
  | { readonly what: "read"; readonly done: number; readonly total: number }
  | { readonly what: "checking"; readonly done: number; readonly total: number }
  | { readonly what: "asked"; readonly asked: Asked }
  | { readonly what: "elsewhere"; readonly busy: boolean }
  | { readonly what: "changed"; readonly looked: Looked; readonly places: Places };

export interface Api {
  open(campaign: string): Promise<Local>;
  look(): Promise<Looked>;
  places(): Promise<Places>;
  importFile(file: File, zone: string): Promise<SourceView>;
  removeSource(id: number): Promise<void>;
  record(latitude: number, longitude: number, offsetS: number): Promise<SourceView>;
  join(alreadySpentPerKm: number, invite: string | null, seen: Seen | null): Promise<EntryView>;
  /** Whether to go on after what "changed": with what is seen now, or null for a no. */
  agree(seen: Seen | null): Promise<void>;
  status(): Promise<Answered>;
  setCaps(caps: Caps): Promise<void>;
  deleteEverything(): Promise<void>;
}

export interface Call {
  readonly id: number;
  readonly name: keyof Api;
  readonly given: readonly unknown[];
}

export type Said =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly trouble: Trouble }
  | { readonly happening: Happening };
