// What the page and its worker say to each other. The worker is the device: visits, ledger, secret and requests live in it;
// the page draws what it is told.

import type { AnswerUse } from "../core/client/device_status";
import type { EntryState } from "../core/client/events";
import type { ExcludedPlace } from "../core/client/excluded";
import type { InviteLink } from "../core/client/invite_link";
import type { Charge, Spent } from "../core/limits/charge";
import type { PrivacyLimits } from "../core/limits/privacy_limits";
import type { CampaignState, Enrolment, ParticipantState, Period, Rule } from "../core/vocabulary";

export type FailureKind =
  | "storage-blocked"
  | "storage-full"
  | "ledger-altered"
  | "ledger-moved"
  | "no-campaign"
  | "bad-link"
  | "no-open-round"
  | "refused"
  | "limits"
  | "lifetime"
  | "no-answer"
  | "unexpected-answer"
  | "paused"
  | "no-seat"
  | "bad-invite"
  | "too-many-seats"
  | "declined"
  | "not-counted"
  | "broken-file"
  | "empty-file"
  | "same-file"
  | "failed";

/** Why something did not go on: the kind decides what the page shows beside the message. */
export interface Failure {
  readonly kind: FailureKind;
  readonly message: string;
  /** The exact numbers behind the message; empty where there are none. */
  readonly figures: string;
  /** What the campaign announced, where that much is known. */
  readonly info: AnnouncementView | null;
}

export interface AnnouncementView {
  readonly campaign: string;
  readonly name: string;
  readonly offer: string;
  readonly epsilonPerKm: number;
  readonly delta: number;
  readonly lowerDeltas: readonly number[];
  readonly period: Period;
  readonly nullEpsilon: number | null;
  readonly gradeEpsilon: number | null;
  readonly rule: Rule;
  readonly enrolment: Enrolment;
  readonly rounds: number;
  readonly round: number | null;
  /** Whether one answer serves any number of selections. */
  readonly panel: boolean;
  readonly renewalS: number | null;
  readonly state: CampaignState;
  readonly serverKey: string;
  readonly termsHash: string;
}

/** Where a campaign is: a server and its campaign, and the link that led there, if one did. */
export interface CampaignAddress {
  readonly server: string;
  /** Empty where the address names none. */
  readonly campaign: string;
  readonly link: InviteLink | null;
}

export interface EntryView {
  readonly campaign: string;
  readonly name: string;
  readonly server: string;
  readonly serverKey: string;
  /** Number of the report in the campaign: of a panel, its round. */
  readonly report: number;
  readonly state: EntryState;
  readonly charge: Charge | null;
  readonly drawn: boolean;
  /** What was sent, as a participant would say it; null until something was drawn. */
  readonly answer: string | null;
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

export interface StatusAnswer {
  readonly state: ParticipantState;
  readonly offer: string | null;
  /** What each answer was used for, the oldest first: of a panel there is one for each round that was answered. */
  readonly answers: readonly AnswerUse[];
  /** The open round of a panel in which the answer can be renewed; null if there is none. */
  readonly renewal: number | null;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** What is on this device. */
export interface DeviceState {
  readonly hasLedger: boolean;
  /** The record of answers was moved to another device; this one no longer answers. */
  readonly retired: boolean;
  /** What counts against the limits. */
  readonly spent: Spent;
  /** What all answers revealed, however long ago. */
  readonly spentEver: Spent;
  /** The part of it that the owner told of when the ledger began. */
  readonly before: Spent;
  readonly excluded: readonly ExcludedPlace[];
  readonly entries: readonly EntryView[];
  /** What this device did in this campaign last; a renewal that was begun, but not answered, does not hide the answer before it. */
  readonly entry: EntryView | null;
  readonly limits: PrivacyLimits;
  readonly defaultLimits: PrivacyLimits;
  readonly sources: readonly SourceView[];
  /** The last answer about this campaign, and the name it was announced under. */
  readonly answered: StatusAnswer | null;
  readonly name: string | null;
  /** Whether this campaign is a panel; null if that is not known on this device. */
  readonly panel: boolean | null;
  /** Campaigns that were looked at or joined here. */
  readonly known: readonly { readonly server: string; readonly campaign: string; readonly name: string | null }[];
}

export interface CheckedView {
  readonly info: AnnouncementView;
  readonly cells: number;
  readonly policyHash: string;
  readonly charge: Charge;
  /** How far the nearest parts of the map are from each other. */
  readonly neighbourKm: number;
  /** What the checker found, in words. */
  readonly explanation: string;
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

export interface AnswerChance {
  /** As a participant would say it. */
  readonly answer: string;
  readonly share: number;
  readonly selecting: boolean;
}

export interface PlacesView {
  readonly counted: number;
  readonly outsideArea: number;
  readonly outsidePeriods: number;
  readonly periods: number;
  /** Visits to places that are never reported. */
  readonly left: number;
  /** Whether places in this area are never reported. */
  readonly excludedHere: boolean;
  /** The likeliest first; no more than are drawn. */
  readonly places: readonly PlaceView[];
  readonly frequent: number;
  /** The place that is drawn from; null until one was picked, which happens once for a campaign. */
  readonly picked: PickedPlace | null;
  readonly map: MapView;
}

/** The place of an answer, and what would be sent from it. */
export interface PickedPlace {
  /** null for being outside, or without a frequent place where that is said in the clear. */
  readonly cell: number | null;
  readonly grade: number;
  /** Where it is; null where there is none. */
  readonly centre: readonly [latitude: number, longitude: number] | null;
  /** How far its part of the map reaches; a place that is never reported has to cover all of it. */
  readonly radiusKm: number;
  readonly reply: ReplyPreview;
}

/** What stood beside the button when it was pressed; nothing else is drawn from. */
export interface ShownChoice {
  readonly policyHash: string;
  readonly cell: number | null;
  readonly grade: number;
}

/** What would be sent: in words, in exact numbers, and as a list of answers to draw from. */
export interface ReplyPreview {
  /** Which place it is about. */
  readonly place: string;
  readonly text: string;
  readonly information: string;
  readonly figures: string;
  /** Some answers name a part of the map. */
  readonly namesPlaces: boolean;
  /** There is no place. */
  readonly none: boolean;
  /** ... and that is said in the clear, not drawn. */
  readonly clear: boolean;
  readonly chances: readonly AnswerChance[];
  readonly others: readonly OtherSymbols[];
}

/** Symbols that are not listed one by one. */
export interface OtherSymbols {
  readonly symbols: number;
  readonly share: number;
  readonly selecting: boolean;
}

export interface MapView {
  readonly regions: readonly (readonly (readonly [latitude: number, longitude: number])[])[];
  readonly values: readonly number[];
  readonly targets: readonly number[];
}

export interface LoggedRequest {
  readonly method: string;
  readonly path: string;
  readonly bytes: number;
  /** null while there is no answer; 0 if none came. */
  readonly status: number | null;
  readonly problem: string | null;
}

export type WorkerEvent =
  | { readonly what: "read"; readonly done: number; readonly total: number }
  | { readonly what: "checking"; readonly done: number; readonly total: number }
  | { readonly what: "request"; readonly request: LoggedRequest }
  | { readonly what: "elsewhere"; readonly busy: boolean }
  | { readonly what: "changed"; readonly checked: CheckedView; readonly places: PlacesView };

export interface WorkerApi {
  open(address: CampaignAddress): Promise<DeviceState>;
  /** Begin the record of answers, with what the owner says was spent before. */
  begin(alreadySpent: Spent): Promise<void>;
  checkCampaign(): Promise<CheckedView>;
  places(): Promise<PlacesView>;
  /** Pick the place of the answer, once; later calls give the same. */
  pickPlace(): Promise<PlacesView>;
  exclude(place: ExcludedPlace): Promise<void>;
  includeAgain(number: number): Promise<void>;
  importFile(file: File, zone: string): Promise<SourceView>;
  removeSource(id: number): Promise<void>;
  record(latitude: number, longitude: number, offsetS: number): Promise<SourceView>;
  join(invite: string | null, seen: ShownChoice | null): Promise<EntryView>;
  /** The same for a new answer in a later round of a panel. */
  renew(invite: string | null, seen: ShownChoice | null): Promise<EntryView>;
  /** Whether to go on after what "changed": with what is seen now, or null for a no. */
  agree(seen: ShownChoice | null): Promise<void>;
  status(): Promise<StatusAnswer>;
  /** Have the server forget the answer, before its round closes. */
  leave(): Promise<EntryView>;
  setLimits(limits: PrivacyLimits): Promise<void>;
  /** The record of answers as a text for another device; this one no longer answers. */
  exportLedger(): Promise<string>;
  importLedger(text: string): Promise<void>;
  deleteEverything(): Promise<void>;
}

export interface WorkerCall {
  readonly id: number;
  readonly name: keyof WorkerApi;
  readonly given: readonly unknown[];
}

export type WorkerMessage =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly failure: Failure }
  | { readonly event: WorkerEvent };
