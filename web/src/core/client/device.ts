// The device: decides for itself, draws once, keeps what it drew, and sends nothing else.
//
//     GET campaign, GET policy     the same bytes for everyone; checked against the owner's limits, certified, explained in words
//     POST seat                    only now does the server hear of this device, and only if its owner agreed
//     draw, store                  in one step of the ledger, on the disk before the next line
//     PUT report                   the same bytes until a receipt comes
//
// What is sent, how long it is and in which order does not depend on the place, nor on whether there is one, but for NULL in
// the clear. Making the profile and reading the explanation take time that may depend on it, so the seat is asked for on a
// beat: whole seconds after the policy came. From then on only the draw is left, which takes equally long for all places.

import { explain, type Certificate } from "../certify/certificate";
import { draw } from "../draw";
import { CampaignRefused, InputError, NoOpenRound, OwnerDeclined, ServerRefused, UnexpectedAnswer } from "../errors";
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
import { uploadBytes, type Announcement, type ParticipantStatus, type Seat } from "../wire/participant";
import type { LedgerEntry } from "./events";
import { describeLedger, describeLoss, describeNull, describeReply } from "./explain";
import { checkLifetime, type Ledger } from "./ledger";
import type { ParticipantClient } from "./participant_client";
import { checkLimits, checkPolicy, checkTerms, DEFAULT_LIMITS, type AnnouncedTerms, type PrivacyLimits } from "./privacy_limits";
import { sleep, type Sleep } from "./retry";

const DAYS = { day: 1, week: 7 } as const;
/** Rounds may advance while a device looks at one; it looks again, but not for ever. */
const SEAT_ATTEMPTS = 3;

/** What the device's owner decides. */
export interface DeviceSettings {
  readonly limits: PrivacyLimits;
  /** Weeks (or days, as the campaign asks) up to today that the profile is made from. */
  readonly periods: number;
  readonly halfLifePeriods: number;
  /** The seat is asked for at a whole multiple of this after the policy came; 0 to ask at once. */
  readonly beatS: number;
}

export const DEFAULT_SETTINGS: DeviceSettings = { limits: DEFAULT_LIMITS, periods: 26, halfLifePeriods: 4, beatS: 1 };

/** A campaign that passed every check: nothing was sent about this device yet. */
export interface Offer {
  readonly info: Announcement;
  readonly terms: AnnouncedTerms;
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
  readonly check: (policy: Policy, policyHash: string, terms: AnnouncedTerms) => Certificate | Promise<Certificate>;
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

  /** Fetch what is announced and the policy, and check both; tells the server nothing but an interest. */
  async look(campaign: string): Promise<Offer> {
    const info = await this.client.campaign(campaign);
    if (info.campaign !== campaign) {
      throw new UnexpectedAnswer(`asked for campaign '${campaign}', the server answered with '${info.campaign}'`);
    }
    const { limits } = this.settings;
    const terms = await checkTerms(info, limits);
    checkLifetime(await this.ledger.spentEpsilonPerKm(), terms.epsilonPerKm, limits.lifetimeEpsilonPerKm);
    if (info.state !== "open" || info.open === null) {
      throw new NoOpenRound(`the campaign is ${info.state} and has no open round; ask again later`);
    }
    const { round, policyHash } = info.open;
    const policy = await this.client.policy(campaign, round);
    return { info, terms, policy, certificate: await this.environment.check(policy, policyHash, terms), round };
  }

  /** The periods that a profile for this campaign is made from: up to yesterday. */
  periods(info: Announcement): Periods {
    const days = DAYS[info.period];
    return periodsFrom(this.environment.today() - days * this.settings.periods, this.settings.periods, days);
  }

  profile(offer: Offer, visits: Visits): Profile {
    const periods = this.periods(offer.info);
    return recency(countVisits(visits, offer.terms.area, periods), periods, this.settings.halfLifePeriods);
  }

  /** The cell to draw from, or `NULL`; stays on the device. */
  place(offer: Offer, profile: Profile): number {
    const { delta, rule } = offer.info;
    return choosePlace(profile, delta, rule, offer.terms.targets, this.environment.randomBelow);
  }

  /** What would leave the device, and what it could tell at most. */
  async explain(offer: Offer, place: number): Promise<string> {
    const { info, terms, policy, certificate, round } = offer;
    return [
      `Campaign '${info.name}', round ${round + 1} of ${info.rounds}, asks for one reply.`,
      describeReply(policy, place),
      describeNull(terms.nullEpsilon),
      describeLoss(terms.epsilonPerKm, await this.ledger.spentEpsilonPerKm()),
      `Checked on this device: ${explain(certificate)}`,
      `Everyone should be shown the same policy: ${policy.hash}.`,
      "That you take part, when, and from which network address is visible to the server.",
    ].join("\n");
  }

  /**
   * Take part once. Called again, it goes on where it stopped; what was drawn is never drawn again. `agree` is shown the
   * explanation and may decline, before the server hears of this device.
   */
  async join(
    campaign: string,
    profileFor: (offer: Offer) => Profile | Promise<Profile>,
    agree: (explanation: string) => boolean | Promise<boolean>,
    invite: string | null = null,
  ): Promise<LedgerEntry> {
    const entry = await this.ledger.entry(campaign);
    if (entry?.symbol != null) return this.send(entry);
    return this.send(await this.takeSeatAndDraw(campaign, profileFor, agree, invite));
  }

  /** How this device stands in a campaign it joined. */
  async status(campaign: string): Promise<ParticipantStatus> {
    const entry = await this.ledger.entry(campaign);
    if (entry === null) throw new InputError("campaign", campaign, "this device has not joined it");
    return this.client.status(campaign, entry.secret);
  }

  /** The ledger in words. */
  async summary(): Promise<string> {
    const entries = [...(await this.ledger.entries()).values()];
    return describeLedger(entries, await this.ledger.spentEpsilonPerKm(), this.settings.limits.lifetimeEpsilonPerKm);
  }

  private async takeSeatAndDraw(
    campaign: string,
    profileFor: (offer: Offer) => Profile | Promise<Profile>,
    agree: (explanation: string) => boolean | Promise<boolean>,
    invite: string | null,
  ): Promise<LedgerEntry> {
    let mismatch = "";
    for (let attempt = 0; attempt < SEAT_ATTEMPTS; attempt++) {
      const offer = await this.look(campaign);
      const sinceS = this.environment.monotonicS();
      const place = this.place(offer, await profileFor(offer));
      if (!(await agree(await this.explain(offer, place)))) {
        throw new OwnerDeclined(`campaign ${campaign}: declined by the device's owner; nothing was drawn or sent`);
      }
      await this.waitForTheBeat(sinceS);
      const seat = await this.seat(campaign, invite);
      if (seat.round === offer.round && seat.policyHash === offer.policy.hash) return this.draw(offer, place);
      mismatch =
        `the seat is in round ${seat.round + 1} under policy ${seat.policyHash.slice(0, 12)}, but round ` +
        `${offer.round + 1} under ${offer.policy.hash.slice(0, 12)} is announced to everyone; nothing was drawn`;
    }
    throw new CampaignRefused(mismatch);
  }

  private async waitForTheBeat(sinceS: number): Promise<void> {
    const { beatS } = this.settings;
    if (beatS <= 0) return;
    const passed = this.environment.monotonicS() - sinceS;
    await this.environment.sleep(Math.max(1, Math.ceil(passed / beatS)) * beatS - passed);
  }

  private async seat(campaign: string, invite: string | null): Promise<Omit<Seat, "campaign">> {
    const entry = await this.ledger.begin(campaign, newSecret);
    if (entry.seat !== null) return entry.seat;
    const seat = await this.client.enrol(campaign, entry.secret, invite);
    if (seat.campaign !== campaign) {
      throw new UnexpectedAnswer(`asked for a seat in '${campaign}', the server answered with one in '${seat.campaign}'`);
    }
    return (await this.ledger.seat(campaign, seat)).seat as NonNullable<LedgerEntry["seat"]>;
  }

  private draw(offer: Offer, place: number): Promise<LedgerEntry> {
    const { policy, certificate, terms, info } = offer;
    const clear = place === NULL && !policy.protectsNull;
    return this.ledger.drawOnce(info.campaign, terms.epsilonPerKm, this.settings.limits.lifetimeEpsilonPerKm, () => {
      // Where NULL is said in the clear, a device without a place rolls the same dice, and throws them away.
      const symbol = draw(policy, clear ? 0 : place, certificate, this.environment.randomBits);
      return clear ? NULL : symbol;
    });
  }

  private async send(entry: LedgerEntry): Promise<LedgerEntry> {
    if (entry.state === "acknowledged") return entry;
    if (entry.state === "refused") throw new CampaignRefused(`campaign ${entry.campaign}: ${entry.reason}`);
    const seat = entry.seat as NonNullable<LedgerEntry["seat"]>;
    const upload = uploadBytes(seat, entry.symbol === NULL ? null : entry.symbol);
    try {
      const receipt = await this.client.report(entry.campaign, entry.secret, upload);
      const same =
        receipt.campaign === entry.campaign &&
        receipt.participant === seat.participant &&
        receipt.round === seat.round &&
        receipt.digest === sha256Hex(upload);
      if (!same) {
        throw new UnexpectedAnswer(`campaign ${entry.campaign}: the receipt is for another report; it is not acknowledged`);
      }
      return await this.ledger.acknowledge(entry.campaign, receipt.digest);
    } catch (error) {
      if (error instanceof ServerRefused) await this.ledger.refuse(entry.campaign, error.message);
      throw error;
    }
  }
}
