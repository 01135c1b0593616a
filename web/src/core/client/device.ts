// Take part in campaigns for one person: check, explain, draw once, keep what was drawn, and send nothing else.
//
//     GET campaign, GET policy     the same bytes for everyone; checked against the limits, certified, explained
//     POST seat                    the first request about this device, and only if its owner agreed
//     draw, store                  in one step of the ledger; on the disk before the next line
//     PUT report                   the same bytes until a receipt comes
//
// The content, size and order of the requests do not depend on the place, nor on whether there is one, except for NULL in the
// clear. Where NULL is protected, a device without a place draws a symbol like any other. The time needed to make the profile
// and to read the explanation may depend on the place, so the seat is requested at a whole number of seconds after the policy
// arrived. After that only the draw remains, which takes equally long for all places.

import type { Area } from "../area/area";
import { explain, type Certificate } from "../certify/certificate";
import { draw } from "../draw";
import { CampaignRefused, InputError, NoOpenRound, OwnerDeclined, quoted, ServerRefused, UnexpectedAnswer } from "../errors";
import { newSecret, secureBelow, secureBits, type RandomBelow, type RandomBits } from "../platform/random";
import { sha256Hex } from "../platform/sha256";
import type { Policy } from "../policy/policy";
import { countVisits } from "../profile/counts";
import { recency } from "../profile/methods";
import { dayOf, periodsFrom, type Periods } from "../profile/periods";
import { choosePlace } from "../profile/place";
import type { Profile } from "../profile/profile";
import type { Visits } from "../traces/visits";
import { NULL } from "../vocabulary";
import { reportBytes, type Announcement, type ParticipantStatus, type Seat } from "../wire/participant";
import type { LedgerEntry } from "./events";
import {
  describeCost,
  describeLedger,
  describeLoss,
  describeNull,
  describeReport,
  ledgerFigures,
  lossFigures,
  nullFigures,
  reportFigures,
  type Explanation,
} from "./explain";
import type { Ledger } from "./ledger";
import type { ParticipantClient } from "./participant_client";
import { checkAnnouncement, checkLimits, checkPolicy, DEFAULT_LIMITS, type PrivacyLimits } from "./privacy_limits";
import { sleep, type Sleep } from "./retry";

const DAYS = { day: 1, week: 7 } as const;
/** A round may close while a device looks at it; the device then looks again, at most this often. */
const SEAT_ATTEMPTS = 3;

/** Settings of a device, decided by its owner. */
export interface DeviceSettings {
  readonly limits: PrivacyLimits;
  /** Number of weeks (or days, as the campaign asks) up to today that the profile is made from. */
  readonly periods: number;
  /** After how many of them a visit counts half. */
  readonly halfLifePeriods: number;
  /** The seat is requested at a whole multiple of this after the policy arrived; 0 requests it at once. */
  readonly seatIntervalS: number;
}

export const DEFAULT_SETTINGS: DeviceSettings = { limits: DEFAULT_LIMITS, periods: 26, halfLifePeriods: 4, seatIntervalS: 1 };

/** A campaign that passed every check; nothing was sent about this device yet. */
export interface CheckedCampaign {
  readonly announcement: Announcement;
  readonly area: Area;
  readonly policy: Policy;
  readonly certificate: Certificate;
  readonly round: number;
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

export class Device {
  constructor(
    private readonly settings: DeviceSettings,
    private readonly ledger: Ledger,
    private readonly client: ParticipantClient,
    private readonly environment: DeviceEnvironment = DEFAULT_ENVIRONMENT,
  ) {
    checkLimits(settings.limits);
  }

  /** Fetch the announcement and the policy, and check both; the server learns only that someone asked. */
  async checkCampaign(campaign: string): Promise<CheckedCampaign> {
    const announcement = await this.client.campaign(campaign);
    if (announcement.campaign !== campaign) {
      throw new UnexpectedAnswer(
        `You asked for campaign ${quoted(campaign)}, but the server answered with ${quoted(announcement.campaign)}.`,
      );
    }
    const { limits } = this.settings;
    const area = await checkAnnouncement(announcement, limits);
    await this.ledger.checkLifetime(announcement.epsilonPerKm, limits.lifetimeEpsilonPerKm);
    if (announcement.state !== "open" || announcement.open === null) {
      throw new NoOpenRound(`The campaign is ${announcement.state} and has no open round. Try again later.`);
    }
    const { round } = announcement.open;
    const policy = await this.client.policy(campaign, round);
    const certificate = await this.environment.check(policy, announcement, area);
    return { announcement, area, policy, certificate, round };
  }

  /** The periods that a profile for this campaign is made from: up to yesterday. */
  periods(announcement: Announcement): Periods {
    const days = DAYS[announcement.period];
    return periodsFrom(this.environment.today() - days * this.settings.periods, this.settings.periods, days);
  }

  profile(checked: CheckedCampaign, visits: Visits): Profile {
    const periods = this.periods(checked.announcement);
    return recency(countVisits(visits, checked.area, periods), periods, this.settings.halfLifePeriods);
  }

  /** The cell to draw from, or `NULL`; it stays on the device. */
  place(checked: CheckedCampaign, profile: Profile): number {
    const { delta, rule } = checked.announcement;
    return choosePlace(profile, delta, rule, checked.policy.targets, this.environment.randomBelow);
  }

  /** Explain what would leave the device, what others can learn from it at most, and what it costs. */
  async explain(checked: CheckedCampaign, cell: number): Promise<Explanation> {
    const { announcement, policy, certificate, round } = checked;
    const { name, rounds, epsilonPerKm, nullEpsilon } = announcement;
    const spent = await this.ledger.spentEpsilonPerKm();
    const text = [
      `Campaign ${quoted(name)}, round ${round + 1} of ${rounds}, asks for one answer.`,
      describeReport(policy, cell),
      describeNull(nullEpsilon),
      ...(cell === NULL ? [] : [describeLoss(epsilonPerKm, spent)]),
      "The organiser can see that you take part, when, and from which network address.",
      describeCost(epsilonPerKm, spent, this.settings.limits.lifetimeEpsilonPerKm),
    ];
    const figures = [
      reportFigures(policy, cell),
      nullFigures(nullEpsilon),
      lossFigures(epsilonPerKm, spent),
      `Checked on this device: ${explain(certificate)}`,
      `Policy, the same for everyone: ${policy.hash}.`,
    ];
    return { text: text.join("\n"), figures: figures.join("\n") };
  }

  /**
   * Take part once. A second call continues where the first one stopped; nothing is ever drawn twice. `agree` is given the
   * explanation and may decline, before the server learns of this device.
   */
  async join(
    campaign: string,
    profileFor: (checked: CheckedCampaign) => Profile | Promise<Profile>,
    agree: (explanation: Explanation) => boolean | Promise<boolean>,
    invite: string | null = null,
  ): Promise<LedgerEntry> {
    const entry = await this.ledger.entry(campaign);
    if (entry?.symbol != null) return this.send(entry);
    return this.send(await this.takeSeatAndDraw(campaign, profileFor, agree, invite));
  }

  /** Ask the server whether this device was selected in a campaign that it joined. */
  async status(campaign: string): Promise<ParticipantStatus> {
    const entry = await this.ledger.entry(campaign);
    if (entry === null) throw new InputError("campaign", campaign, "should be a campaign that this device has joined");
    return this.client.status(campaign, entry.secret);
  }

  /** Describe what this device has answered so far, and how much of its owner's limit that used. */
  async summary(): Promise<Explanation> {
    const entries = [...(await this.ledger.entries()).values()];
    const [spent, limit] = [await this.ledger.spentEpsilonPerKm(), this.settings.limits.lifetimeEpsilonPerKm];
    return { text: describeLedger(entries, spent, limit), figures: ledgerFigures(entries, spent, limit) };
  }

  private async takeSeatAndDraw(
    campaign: string,
    profileFor: (checked: CheckedCampaign) => Profile | Promise<Profile>,
    agree: (explanation: Explanation) => boolean | Promise<boolean>,
    invite: string | null,
  ): Promise<LedgerEntry> {
    let mismatch = "";
    for (let attempt = 0; attempt < SEAT_ATTEMPTS; attempt++) {
      const checked = await this.checkCampaign(campaign);
      const sinceS = this.environment.monotonicS();
      const cell = this.place(checked, await profileFor(checked));
      if (!(await agree(await this.explain(checked, cell)))) {
        throw new OwnerDeclined(`You declined to answer campaign ${campaign}. This phone sent nothing.`);
      }
      await this.waitForInterval(sinceS);
      const seat = await this.seat(campaign, invite);
      if (seat.round === checked.round && seat.policyHash === checked.policy.hash) return this.draw(checked, cell);
      mismatch =
        `The seat is in round ${seat.round + 1} under policy ${seat.policyHash.slice(0, 12)}, but round ` +
        `${checked.round + 1} under ${checked.policy.hash.slice(0, 12)} is announced.`;
    }
    throw new CampaignRefused(
      "The server gave this phone other conditions than it announced to everyone. This phone did not answer.",
      mismatch,
    );
  }

  private async waitForInterval(sinceS: number): Promise<void> {
    const { seatIntervalS } = this.settings;
    if (seatIntervalS <= 0) return;
    const passedS = this.environment.monotonicS() - sinceS;
    await this.environment.sleep(Math.max(1, Math.ceil(passedS / seatIntervalS)) * seatIntervalS - passedS);
  }

  private async seat(campaign: string, invite: string | null): Promise<Omit<Seat, "campaign">> {
    const entry = await this.ledger.begin(campaign, newSecret);
    if (entry.seat !== null) return entry.seat;
    const seat = await this.client.takeSeat(campaign, entry.secret, invite);
    if (seat.campaign !== campaign) {
      throw new UnexpectedAnswer(
        `You asked to take part in ${quoted(campaign)}, but the server answered for ${quoted(seat.campaign)}.`,
      );
    }
    return (await this.ledger.seat(campaign, seat)).seat as NonNullable<LedgerEntry["seat"]>;
  }

  private draw(checked: CheckedCampaign, cell: number): Promise<LedgerEntry> {
    const { policy, certificate, announcement } = checked;
    const { campaign, epsilonPerKm } = announcement;
    const clear = cell === NULL && !policy.protectsNull;
    return this.ledger.drawOnce(campaign, epsilonPerKm, this.settings.limits.lifetimeEpsilonPerKm, () => {
      // Where NULL is sent in the clear, a device without a place draws as well and ignores the result, so that it takes as
      // long as any other.
      const symbol = draw(policy, clear ? 0 : cell, certificate, this.environment.randomBits);
      return clear ? NULL : symbol;
    });
  }

  private async send(entry: LedgerEntry): Promise<LedgerEntry> {
    if (entry.state === "acknowledged") return entry;
    if (entry.state === "refused") throw new CampaignRefused(`campaign ${entry.campaign}: ${entry.reason}`);
    const seat = entry.seat as NonNullable<LedgerEntry["seat"]>;
    const report = reportBytes(seat, entry.symbol === NULL ? null : entry.symbol);
    try {
      const receipt = await this.client.sendReport(entry.campaign, entry.secret, report);
      const same =
        receipt.campaign === entry.campaign &&
        receipt.participant === seat.participant &&
        receipt.round === seat.round &&
        receipt.digest === sha256Hex(report);
      if (!same) {
        throw new UnexpectedAnswer(
          `The server's receipt in campaign ${entry.campaign} is for another report than yours. Join again to send ` +
            "yours once more.",
        );
      }
      return await this.ledger.acknowledge(entry.campaign, receipt.digest);
    } catch (error) {
      if (error instanceof ServerRefused) await this.ledger.refuse(entry.campaign, error.message);
      throw error;
    }
  }
}
