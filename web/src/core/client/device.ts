// Take part in campaigns for one person: check, explain, draw once, keep what was drawn, and send nothing else.
//
//     GET campaign, GET policy     the same bytes for everyone; checked against link, limits and ledger, certified, explained
//     POST seat                    the first request about this device, and only if its owner agreed
//     draw, store                  in one step of the ledger; on the disk before the next line
//     PUT report                   the same bytes until a receipt comes
//
// The content, size and order of the requests do not depend on the place, nor on whether there is one, except for NULL in the
// clear. In the protected form a device outside the area draws a symbol like any other. The time needed to make the profile and
// to read the explanation may depend on the place, so the seat is requested at a whole number of seconds after the policy
// arrived. After that only the draw remains, which takes equally long for all places.
//
// What was drawn belongs to one server, known by its key and its address: secret and report are never sent to another.

import type { Area } from "../area/area";
import { explain, type Certificate } from "../certify/certificate";
import { draw } from "../draw";
import { CampaignRefused, InputError, InviteNeeded, NoOpenRound, OwnerDeclined, quoted, ServerRefused, UnexpectedAnswer } from "../errors";
import { chargeOf, type Charge } from "../limits/charge";
import { latticeOf, type Lattice } from "../limits/lattices";
import { NOT_TAKING_PART } from "../limits/map_checks";
import { checkPolicy, checkTerms } from "../limits/terms_checks";
import { newSecret, secureBelow, secureBits, type RandomBelow, type RandomBits } from "../platform/random";
import { sha256Hex } from "../platform/sha256";
import type { Policy } from "../policy/policy";
import { TIME_SCALES } from "../profile/logistic";
import { dayOf, periodsFrom, type Periods } from "../profile/periods";
import type { Place } from "../profile/place";
import type { Visits } from "../traces/visits";
import { NULL } from "../vocabulary";
import { findSplit } from "../wire/notices";
import { reportBytes, type Announcement, type ParticipantStatus, type Seat } from "../wire/participant";
import { verifyNotice, type RoundNotice, type Terms } from "../wire/terms";
import { deviceStatus, type AnswerStatus, type DeviceStatus } from "./device_status";
import type { LedgerEntry, ReportKey } from "./events";
import { excludedCells, type ExcludedPlace } from "./excluded";
import {
  describeCost,
  describeInformation,
  describeLedger,
  describeLoss,
  describePlace,
  describePresence,
  describeReport,
  describeRequest,
  EDGE,
  informationFigures,
  ledgerFigures,
  lossFigures,
  ONCE,
  presenceFigures,
  RECORD,
  reportFigures,
  RULES,
  TOLD_BY_TAKING_PART,
  type Explanation,
} from "./explain";
import { historyOf, placeToReport, type History } from "./history";
import type { InviteLink } from "./invite_link";
import type { Ledger } from "./ledger";
import type { ParticipantClient } from "./participant_client";
import { sleep, type Sleep } from "./retry";

const DAYS = { day: 1, week: 7 } as const;
/** A round may close while a device looks at it; the device then looks again, at most this often. */
const SEAT_ATTEMPTS = 3;
const LINK = "your invite link names";
const JOINED = "you were shown when you joined";

/** Settings of a device, decided by its owner. */
export interface DeviceSettings {
  /** The seat is requested at a whole multiple of this after the policy arrived; 0 requests it at once. */
  readonly seatIntervalS: number;
}

export const DEFAULT_SETTINGS: DeviceSettings = { seatIntervalS: 1 };

/** A campaign that passed every check; nothing was sent about this device yet. */
export interface CheckedCampaign {
  readonly announcement: Announcement;
  readonly notice: RoundNotice;
  readonly area: Area;
  readonly policy: Policy;
  readonly certificate: Certificate;
  readonly charge: Charge;
  readonly lattice: Lattice;
}

/** A campaign as far as the key of a report depends on it. */
export interface KeyedCampaign {
  readonly announcement: { readonly terms: Pick<Terms, "serverKey" | "campaign" | "panel"> };
  readonly notice: Pick<RoundNotice, "round">;
}

/** What a device takes from outside; each has a secure or real default. */
export interface DeviceEnvironment {
  readonly randomBits: RandomBits;
  readonly randomBelow: RandomBelow;
  readonly sleep: Sleep;
  /** Seconds that only ever grow. */
  readonly monotonicS: () => number;
  /** Today on the clock of the wall, in days since 1970-01-01. */
  readonly today: () => number;
  /** Certifies elsewhere, such as in a worker, so that the page stays alive. */
  readonly check: (policy: Policy, announcement: Announcement, area: Area) => Certificate | Promise<Certificate>;
}

export const DEFAULT_ENVIRONMENT: DeviceEnvironment = {
  randomBits: secureBits,
  randomBelow: secureBelow,
  sleep,
  monotonicS: () => performance.now() / 1000,
  today: () => {
    const now = new Date();
    return dayOf(now.getFullYear(), now.getMonth() + 1, now.getDate());
  },
  check: checkPolicy,
};

/** What a joining device is given besides the campaign. */
export interface JoinOptions {
  readonly invite?: string | null;
  readonly link?: InviteLink | null;
  /** Is given the explanation and may decline, before the server learns of this device. */
  readonly agree: (explanation: Explanation) => boolean | Promise<boolean>;
}

/** The place of a report; the page may show it, and ask again, before it is returned. */
export type PickPlace = (checked: CheckedCampaign) => Place | Promise<Place>;

export class Device {
  constructor(
    private readonly settings: DeviceSettings,
    private readonly ledger: Ledger,
    private readonly client: ParticipantClient,
    /** The server's address. */
    readonly server: string,
    private readonly environment: DeviceEnvironment = DEFAULT_ENVIRONMENT,
  ) {}

  /**
   * Fetch the announcement and the policy, and check both; the server learns only that someone asked. With an invite link, the
   * server's key, the terms and (if it names one) the policy have to be those of the link.
   */
  async checkCampaign(campaign: string, link: InviteLink | null = null): Promise<CheckedCampaign> {
    await this.ledger.checkActive();
    const announcement = await this.announcement(campaign, link);
    const { terms, notice } = announcement;
    const limits = await this.ledger.limits();
    const area = await checkTerms(terms, limits);
    const charge = chargeOf(terms, limits);
    const lattice = await latticeOf(area);
    await this.ledger.check(charge, lattice);
    if (announcement.state !== "open" || notice === null) {
      throw new NoOpenRound(`The campaign is ${announcement.state} and has no open round. Try again later.`);
    }
    await this.ledger.checkRound(keyOf({ announcement, notice }), terms.renewalS);
    const policy = await this.client.policy(campaign, notice.round);
    const certificate = await this.environment.check(policy, announcement, area);
    return { announcement, notice, area, policy, certificate, charge, lattice };
  }

  /** The periods that a profile for this campaign is made from: up to yesterday. */
  periods({ period }: Pick<Terms, "period">): Periods {
    const [days, count] = [DAYS[period], TIME_SCALES[period].history];
    return periodsFrom(this.environment.today() - days * count, count, days);
  }

  /** What the device knows of its owner's places in a campaign's cells. */
  async history(checked: CheckedCampaign, visits: Visits, excluded: readonly ExcludedPlace[]): Promise<History> {
    const { terms } = checked.announcement;
    const { delta } = await this.ledger.limits();
    return historyOf(visits, checked.area, this.periods(terms), terms.profileConstants, excluded, delta);
  }

  /**
   * The place to draw from; it stays on the device, and is picked once per report: it is stored before it is returned, so that
   * declining and asking again gives the same place.
   */
  async place(checked: CheckedCampaign, visits: Visits): Promise<Place> {
    const { terms } = checked.announcement;
    const excluded = await this.ledger.excluded();
    const { profile } = await this.history(checked, visits, excluded);
    const never = excludedCells(checked.area, excluded);
    return this.ledger.keepPlace(keyOf(checked), terms.hash, never, () =>
      placeToReport(profile, terms, this.environment.randomBelow),
    );
  }

  /** Explain what would leave the device, what others can learn from it at most, and what it costs. */
  async explain(checked: CheckedCampaign, place: Place): Promise<Explanation> {
    const { announcement, policy, certificate, notice, area, charge } = checked;
    const { terms } = announcement;
    const before = await this.ledger.spentEver();
    const hasPlace = place.cell !== NULL;
    const neighbourKm = area.nearestNeighbourKm;
    const excludedHere = excludedCells(area, await this.ledger.excluded()).size > 0;
    const text = [
      describeRequest(terms, notice.round),
      describePlace(area, place, terms, excludedHere),
      describeReport(policy, place),
      describeInformation(policy),
      ...(hasPlace ? [describeLoss(terms.epsilonPerKm, before, neighbourKm)] : []),
      describePresence(terms, before, hasPlace),
      EDGE,
      ...(hasPlace ? [RULES[terms.rule]] : []),
      TOLD_BY_TAKING_PART,
      RECORD,
      describeCost(charge, await this.ledger.spent(), await this.ledger.limits()),
      ...(terms.panel ? [ONCE] : []),
    ];
    const figures = [
      reportFigures(policy, place),
      informationFigures(policy),
      lossFigures(terms.epsilonPerKm, before, neighbourKm),
      presenceFigures(terms, before),
      `Checked on this device: ${explain(certificate)}`,
      `Policy, the same for everyone: ${policy.hash}.`,
      `Terms: ${terms.hash}. Server's key: ${terms.serverKey}.`,
    ];
    return { text: text.join("\n"), figures: figures.join("\n") };
  }

  /** Take part once. A second call continues where the first one stopped; nothing is ever drawn twice. */
  async join(campaign: string, pickPlace: PickPlace, options: JoinOptions): Promise<LedgerEntry> {
    const link = this.checkedLink(campaign, options);
    const entry = await this.ledger.find(campaign, this.server);
    if (entry === null || entry.state === "joining") {
      return this.send(await this.takeSeatAndDraw(campaign, pickPlace, options, link));
    }
    if (entry.state === "drawn") {
      await this.ledger.checkActive();
      await this.announcement(campaign, link);
    }
    return this.send(entry);
  }

  /**
   * Answer a panel again, in a later round than this device's last answer. That is a new draw from a place picked anew, and costs
   * as much as the first. The server cannot tell which of its earlier participants this is: the device shows it another secret.
   */
  async renew(campaign: string, pickPlace: PickPlace, options: JoinOptions): Promise<LedgerEntry> {
    const link = this.checkedLink(campaign, options);
    const entry = await this.joined(campaign);
    if (entry.state === "withdrawn") throw new CampaignRefused(`You left campaign ${campaign}. This phone does not answer it again.`);
    if (entry.state === "joining" || entry.state === "drawn") return this.join(campaign, pickPlace, options);
    const { terms, notice } = await this.announcement(campaign, link);
    if (!terms.panel) throw new CampaignRefused(`Campaign ${campaign} asks once, and you have answered it.`);
    if (notice === null || notice.round <= entry.key.report) {
      throw new NoOpenRound("There is nothing to renew now: your answer is still in use. Try again later.");
    }
    return this.send(await this.takeSeatAndDraw(campaign, pickPlace, options, link));
  }

  /**
   * Ask the server whether this device was selected in a campaign that it joined. Of a panel whose answer was renewed it asks for
   * each answer, because selections used the earlier ones too.
   */
  async status(campaign: string): Promise<DeviceStatus> {
    const { serverKey } = (await this.joined(campaign)).key;
    const mine = (await this.ledger.entries()).filter(
      ({ key, server, state }) =>
        key.serverKey === serverKey && key.campaign === campaign && server === this.server && state !== "withdrawn",
    );
    if (mine.length === 0) throw new CampaignRefused(`You left campaign ${campaign}, so you cannot be selected in it.`);
    const answers: AnswerStatus[] = [];
    for (const entry of mine.toSorted((one, other) => one.key.report - other.key.report)) {
      const status = await this.statusOf(entry);
      if (status !== null) answers.push({ round: entry.key.report, status });
    }
    if (answers.length === 0) throw new CampaignRefused(`You have not answered campaign ${campaign} yet: this phone has no seat in it.`);
    return deviceStatus(answers);
  }

  /**
   * Leave a campaign: have the server forget this device's seat and answer, and never answer it again. That is possible until
   * the round is closed. What the answer cost stays charged, because the server saw it.
   */
  async leave(campaign: string): Promise<LedgerEntry> {
    const entry = await this.joined(campaign);
    if (entry.state === "withdrawn") return entry;
    await this.ledger.checkActive();
    try {
      const withdrawal = await this.client.withdraw(campaign, entry.secret);
      if (entry.participant >= 0 && (withdrawal.campaign !== campaign || withdrawal.participant !== entry.participant)) {
        throw new UnexpectedAnswer(
          `The server's confirmation in campaign ${campaign} is for another participant than you. Leave again to ask once more.`,
        );
      }
    } catch (error) {
      if (!(error instanceof ServerRefused)) throw error;
      if (error.kind === "round-closed") throw tooLate(error);
      if (error.kind !== "unknown-participant") throw error;
    }
    return this.ledger.withdraw(entry.key);
  }

  /** Describe what this device has sent so far, when and to whom, and how much of its owner's limit that used. */
  async summary(): Promise<Explanation> {
    const entries = await this.ledger.entries();
    const [spent, limits] = [await this.ledger.spent(), await this.ledger.limits()];
    return { text: describeLedger(entries, spent, limits), figures: ledgerFigures(entries, spent, limits) };
  }

  // --- who is on the other side -----------------------------------------------------------------------------------

  /** Fetch the announcement; refuse another server or other conditions than the link and the ledger know. */
  private async announcement(campaign: string, link: InviteLink | null): Promise<Announcement> {
    const announcement = await this.client.campaign(campaign);
    const { terms, notice } = announcement;
    if (terms.campaign !== campaign) {
      throw new UnexpectedAnswer(
        `You asked for campaign ${quoted(campaign)}, but the server answered with ${quoted(terms.campaign)}.`,
      );
    }
    if (notice !== null) checkSigned(notice, terms.serverKey);
    if (link !== null) {
      compare("server's key", link.key, terms.serverKey, LINK);
      compare("hash of the terms", link.termsHash, terms.hash, LINK);
      if (link.policyHash !== null && notice !== null) compare("policy", link.policyHash, notice.policyHash, LINK);
    }
    const entry = await this.ledger.find(campaign, this.server);
    if (entry !== null) {
      compare("server's key", entry.key.serverKey, terms.serverKey, JOINED);
      compare("hash of the terms", entry.termsHash, terms.hash, JOINED);
    }
    const elsewhere = (await this.ledger.entries()).find(
      ({ key, server }) => key.serverKey === terms.serverKey && key.campaign === campaign && server !== this.server,
    );
    if (elsewhere !== undefined) {
      throw new CampaignRefused(
        `You joined campaign ${campaign} on a server at another address. This phone answers there only.`,
        `It was joined at ${quoted(elsewhere.server)}, not at ${quoted(this.server)}.`,
      );
    }
    return announcement;
  }

  private checkedLink(campaign: string, { link = null }: JoinOptions): InviteLink | null {
    if (link !== null && (link.campaign !== campaign || link.server !== this.server)) {
      throw new InputError("link", `${link.campaign} at ${link.server}`, `should be for ${campaign} at ${this.server}`);
    }
    return link;
  }

  /** Ask what became of one answer; null if it was begun, but has no seat. */
  private async statusOf({ key, secret, state, offer }: LedgerEntry): Promise<ParticipantStatus | null> {
    let status: ParticipantStatus;
    try {
      status = await this.client.status(key.campaign, secret);
    } catch (error) {
      if (!(error instanceof ServerRefused && error.kind === "unknown-participant" && state === "joining")) throw error;
      return null;
    }
    if (status.offer !== null && status.offer !== offer) {
      throw new CampaignRefused(
        "The server shows you another offer than it announced to everyone when you joined. Do not follow it.",
        `It announced ${quoted(offer)}.`,
      );
    }
    return status;
  }

  private async joined(campaign: string): Promise<LedgerEntry> {
    const entry = await this.ledger.find(campaign, this.server);
    if (entry === null) {
      throw new InputError("campaign", campaign, "this device has not joined it on this server");
    }
    return entry;
  }

  // --- the steps of joining ---------------------------------------------------------------------------------------

  private async takeSeatAndDraw(
    campaign: string,
    pickPlace: PickPlace,
    { agree, invite = null }: JoinOptions,
    link: InviteLink | null,
  ): Promise<LedgerEntry> {
    const notices: RoundNotice[] = [];
    let mismatch = "";
    for (let attempt = 0; attempt < SEAT_ATTEMPTS; attempt++) {
      const checked = await this.checkCampaign(campaign, link);
      const { terms } = checked.announcement;
      const card = await this.inviteFor(checked, invite ?? link?.invite ?? null);
      notices.push(checked.notice);
      checkNoSplit(notices, terms.serverKey);
      const sinceS = this.environment.monotonicS();
      const place = await pickPlace(checked);
      if (!(await agree(await this.explain(checked, place)))) {
        throw new OwnerDeclined(`You declined to answer campaign ${campaign}. This phone sent nothing.`);
      }
      await this.waitForInterval(sinceS);
      const seat = await this.seat(checked, card);
      const { round } = checked.notice;
      mismatch =
        `The seat is in round ${seat.round + 1} under policy ${seat.policyHash.slice(0, 12)} and terms ` +
        `${seat.termsHash.slice(0, 12)}, but round ${round + 1} under ${checked.policy.hash.slice(0, 12)} and ` +
        `${terms.hash.slice(0, 12)} is announced.`;
      if (seat.termsHash !== terms.hash) break;
      if (seat.round === round && seat.policyHash === checked.policy.hash) return this.draw(checked, place);
    }
    throw new CampaignRefused(
      "The server gave this phone other conditions than it announced to everyone. This phone did not answer.",
      mismatch,
    );
  }

  /** The invite that was given, or the one that this device took its earlier seat in the panel with. */
  private async inviteFor(checked: CheckedCampaign, given: string | null): Promise<string | null> {
    const { terms } = checked.announcement;
    if (given !== null || terms.enrolment === "open") return given;
    const mine = (await this.ledger.entries()).filter(
      ({ key }) => key.serverKey === terms.serverKey && key.campaign === terms.campaign,
    );
    const known = mine.findLast(({ invite }) => invite !== "")?.invite;
    const begun = mine.some(({ key }) => key.report === keyOf(checked).report);
    if (known === undefined && !begun) {
      throw new InviteNeeded("This campaign needs an invite link. Join with the link that you were given.");
    }
    return known ?? null;
  }

  private async waitForInterval(sinceS: number): Promise<void> {
    const { seatIntervalS } = this.settings;
    if (seatIntervalS <= 0) return;
    const passedS = this.environment.monotonicS() - sinceS;
    await this.environment.sleep(Math.max(1, Math.ceil(passedS / seatIntervalS)) * seatIntervalS - passedS);
  }

  private async seat(checked: CheckedCampaign, invite: string | null): Promise<Seat> {
    const { terms } = checked.announcement;
    const [key, { campaign }] = [keyOf(checked), terms];
    const recipient = { name: terms.name, offer: terms.offer, server: this.server, termsHash: terms.hash };
    const entry = await this.ledger.begin(key, newSecret, recipient);
    if (entry.policyHash !== "") return seatOf(entry);
    const seat = await this.client.takeSeat(campaign, entry.secret, invite);
    if (seat.campaign !== campaign) {
      throw new UnexpectedAnswer(
        `You asked to take part in ${quoted(campaign)}, but the server answered for ${quoted(seat.campaign)}.`,
      );
    }
    return seat.termsHash === terms.hash ? seatOf(await this.ledger.seat(key, seat, invite)) : seat;
  }

  private draw(checked: CheckedCampaign, place: Place): Promise<LedgerEntry> {
    const { policy, certificate, charge, lattice, notice } = checked;
    const clear = place.cell === NULL && !policy.protectsNull;
    const { renewalS } = checked.announcement.terms;
    return this.ledger.drawOnce(keyOf(checked), { charge, lattice, notice, renewalS }, () => {
      // Where NULL is sent in the clear, a device without a place draws as well and ignores the result, so that it takes as
      // long as any other.
      const symbol = draw(policy, clear ? 0 : place.cell, certificate, this.environment.randomBits, place.grade);
      return clear ? [NULL, "outside"] : [symbol, policy.symbolName(symbol)];
    });
  }

  private async send(entry: LedgerEntry): Promise<LedgerEntry> {
    const { campaign } = entry.key;
    if (entry.state === "acknowledged") return entry;
    if (entry.state === "refused") throw new CampaignRefused(`campaign ${campaign}: ${entry.reason}`);
    if (entry.state === "withdrawn") {
      throw new CampaignRefused(`You left campaign ${campaign}. This phone does not answer it again.`);
    }
    const report = reportBytes(entry, entry.symbol === NULL ? null : entry.symbol);
    try {
      const receipt = await this.client.sendReport(campaign, entry.secret, report);
      const same =
        receipt.campaign === campaign &&
        receipt.participant === entry.participant &&
        receipt.round === entry.round &&
        receipt.digest === sha256Hex(report);
      if (!same) {
        throw new UnexpectedAnswer(
          `The server's receipt in campaign ${campaign} is for another report than yours. Join again to send ` +
            "yours once more.",
        );
      }
      return await this.ledger.acknowledge(entry.key, receipt.digest);
    } catch (error) {
      if (error instanceof ServerRefused) await this.ledger.refuse(entry.key, error.message);
      throw error;
    }
  }
}

/** What this device's report in a campaign is known by; every round of a panel asks for a new one. */
export function keyOf({ announcement, notice }: KeyedCampaign): ReportKey {
  const { serverKey, campaign, panel } = announcement.terms;
  return { serverKey, campaign, report: panel ? notice.round : 0 };
}

function seatOf({ key, participant, round, policyHash, termsHash }: LedgerEntry): Seat {
  return { campaign: key.campaign, participant, round, policyHash, termsHash };
}

function checkSigned(notice: RoundNotice, serverKey: string): void {
  try {
    verifyNotice(notice, serverKey);
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    throw new CampaignRefused(`The server did not sign what it announces. ${NOT_TAKING_PART}`, error.message);
  }
}

function checkNoSplit(notices: readonly RoundNotice[], serverKey: string): void {
  const split = findSplit(notices, serverKey);
  if (split === null) return;
  const [one, other] = split;
  throw new CampaignRefused(
    "The server signed two different announcements for the same round, by which people can be singled " +
      `out. ${NOT_TAKING_PART}`,
    `Terms ${one.termsHash.slice(0, 12)} and ${other.termsHash.slice(0, 12)}, policies ${one.policyHash.slice(0, 12)} and ` +
      `${other.policyHash.slice(0, 12)}.`,
  );
}

function compare(what: string, expected: string, found: string, known: string): void {
  if (found === expected) return;
  throw new CampaignRefused(
    `This is not the campaign that ${known}: the ${what} differs. ${NOT_TAKING_PART}`,
    `Expected ${expected.slice(0, 12)}, found ${found.slice(0, 12)}.`,
  );
}

function tooLate(error: ServerRefused): CampaignRefused {
  return new CampaignRefused(
    "It is too late to leave: the round is closed, and your answer has been counted with all others. The answer stays in " +
      "the organiser's record, so that the selection can be checked; your place was never sent.",
    error.detail,
  );
}
