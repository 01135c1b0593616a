// The device: decides for itself, draws once, keeps what it drew, and sends nothing else.
//
//     GET campaign, GET policy     the same bytes for everyone; checked against the caps, certified, explained in words
//     POST seat                    only now does the server hear of this device, and only if its owner agreed
//     draw, store                  in one step of the ledger, on the disk before the next line
//     PUT report                   the same bytes until a receipt comes
//
// What is sent, how long it is and in which order does not depend on the place, nor on whether there is one, but for NULL in
// the clear. Making the profile and reading the explanation take time that may depend on it, so the seat is asked for on a
// beat: whole seconds after the policy came. From then on only the draw is left, which takes equally long for all places.

import { checkCaps, checkPolicy, checkTerms, DEFAULT_CAPS, type Caps, type Terms } from "./caps";
import { explain, type Certificate } from "./certify/certificate";
import { draw } from "./draw";
import { InputError, Refusal } from "./errors";
import type { Entry } from "./ledger/events";
import { checkLifetime, type Ledger } from "./ledger/ledger";
import { Declined, sleep, StrangeAnswer, type Line, type Sleep } from "./line";
import { NULL, type Policy } from "./policy/policy";
import { dayOf, periodsFrom, type Periods } from "./profile/periods";
import { choosePlace } from "./profile/place";
import { countVisits, recencyProfile, type Profile } from "./profile/profile";
import type { Visits } from "./profile/visits";
import { newSecret, secureBelow, secureBits, type RandomBelow, type RandomBits } from "./random";
import { sha256Hex } from "./sha256";
import { describeLedger, describeLoss, describeNull, describeReply } from "./words";
import { uploadBytes, type CampaignInfo, type ParticipantStatus, type Seat } from "./wire/participant";

const DAYS = { day: 1, week: 7 } as const;
/** Rounds may advance while a device looks at one; it looks again, but not for ever. */
const SEAT_ATTEMPTS = 3;

/** No round is open at the moment; the same may be asked again. */
export class NotYet extends Refusal {
  override name = "NotYet";
}

/** What the device's owner decides. */
export interface Settings {
  readonly caps: Caps;
  /** Weeks (or days, as the campaign asks) up to today that the profile is made from. */
  readonly periods: number;
  readonly halfLifePeriods: number;
  /** The seat is asked for at a whole multiple of this after the policy came; 0 to ask at once. */
  readonly beatS: number;
}

export const DEFAULT_SETTINGS: Settings = { caps: DEFAULT_CAPS, periods: 26, halfLifePeriods: 4, beatS: 1 };

/** A campaign that passed every check: nothing was sent about this device yet. */
export interface Offer {
  readonly info: CampaignInfo;
  readonly terms: Terms;
  readonly policy: Policy;
  readonly certificate: Certificate;
  readonly round: number;
}

/** What a device takes from outside; each has a secure or real default. */
export interface Surroundings {
  readonly randomBits: RandomBits;
  readonly randomBelow: RandomBelow;
  readonly sleep: Sleep;
  /** Seconds that only ever grow. */
  readonly monotonicS: () => number;
  /** Today on the clock of the wall, in days since 1970-01-01. */
  readonly today: () => number;
  /** Certifies elsewhere, such as in a worker, so that the page stays alive. */
  readonly check: (policy: Policy, policyHash: string, terms: Terms) => Certificate | Promise<Certificate>;
}

export const REAL_SURROUNDINGS: Surroundings = {
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
    private readonly settings: Settings,
    private readonly ledger: Ledger,
    private readonly line: Line,
    private readonly around: Surroundings = REAL_SURROUNDINGS,
  ) {
    checkCaps(settings.caps);
  }

  /** Fetch what is announced and the policy, and check both; tells the server nothing but an interest. */
  async look(campaign: string): Promise<Offer> {
    const info = await this.line.campaign(campaign);
    if (info.campaign !== campaign) {
      throw new StrangeAnswer(`asked for campaign '${campaign}', the server answered with '${info.campaign}'`);
    }
    const { caps } = this.settings;
    const terms = await checkTerms(info, caps);
    checkLifetime(await this.ledger.spentEpsilonPerKm(), terms.epsilonPerKm, caps.lifetimeEpsilonPerKm);
    if (info.state !== "open" || info.open === null) {
      throw new NotYet(`the campaign is ${info.state} and has no open round; ask again later`);
    }
    const { round, policyHash } = info.open;
    const policy = await this.line.policy(campaign, round);
    return { info, terms, policy, certificate: await this.around.check(policy, policyHash, terms), round };
  }

  /** The periods that a profile for this campaign is made from: up to yesterday. */
  periods(info: CampaignInfo): Periods {
    const days = DAYS[info.period];
    return periodsFrom(this.around.today() - days * this.settings.periods, this.settings.periods, days);
  }

  profile(offer: Offer, visits: Visits): Profile {
    const periods = this.periods(offer.info);
    return recencyProfile(countVisits(visits, offer.terms.area, periods), periods, this.settings.halfLifePeriods);
  }

  /** The cell to draw from, or `NULL`; stays on the device. */
  place(offer: Offer, profile: Profile): number {
    const { delta, rule } = offer.info;
    return choosePlace(profile, delta, rule, offer.terms.targets, this.around.randomBelow);
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
    whereabouts: (offer: Offer) => Profile | Promise<Profile>,
    agree: (explanation: string) => boolean | Promise<boolean>,
    invite: string | null = null,
  ): Promise<Entry> {
    const entry = await this.ledger.entry(campaign);
    if (entry?.symbol != null) return this.send(entry);
    return this.send(await this.takeSeatAndDraw(campaign, whereabouts, agree, invite));
  }

  /** How this device stands in a campaign it joined. */
  async status(campaign: string): Promise<ParticipantStatus> {
    const entry = await this.ledger.entry(campaign);
    if (entry === null) throw new InputError("campaign", campaign, "this device has not joined it");
    return this.line.status(campaign, entry.secret);
  }

  /** The ledger in words. */
  async summary(): Promise<string> {
    const entries = [...(await this.ledger.entries()).values()];
    return describeLedger(entries, await this.ledger.spentEpsilonPerKm(), this.settings.caps.lifetimeEpsilonPerKm);
  }

  private async takeSeatAndDraw(
    campaign: string,
    whereabouts: (offer: Offer) => Profile | Promise<Profile>,
    agree: (explanation: string) => boolean | Promise<boolean>,
    invite: string | null,
  ): Promise<Entry> {
    let mismatch = "";
    for (let attempt = 0; attempt < SEAT_ATTEMPTS; attempt++) {
      const offer = await this.look(campaign);
      const sinceS = this.around.monotonicS();
      const place = this.place(offer, await whereabouts(offer));
      if (!(await agree(await this.explain(offer, place)))) {
        throw new Refusal(`campaign ${campaign}: declined by the device's owner; nothing was drawn or sent`);
      }
      await this.waitForTheBeat(sinceS);
      const seat = await this.seat(campaign, invite);
      if (seat.round === offer.round && seat.policyHash === offer.policy.hash) return this.draw(offer, place);
      mismatch =
        `the seat is in round ${seat.round + 1} under policy ${seat.policyHash.slice(0, 12)}, but round ` +
        `${offer.round + 1} under ${offer.policy.hash.slice(0, 12)} is announced to everyone; nothing was drawn`;
    }
    throw new Refusal(mismatch);
  }

  private async waitForTheBeat(sinceS: number): Promise<void> {
    const { beatS } = this.settings;
    if (beatS <= 0) return;
    const passed = this.around.monotonicS() - sinceS;
    await this.around.sleep(Math.max(1, Math.ceil(passed / beatS)) * beatS - passed);
  }

  private async seat(campaign: string, invite: string | null): Promise<Omit<Seat, "campaign">> {
    const entry = await this.ledger.begin(campaign, newSecret);
    if (entry.seat !== null) return entry.seat;
    const seat = await this.line.enrol(campaign, entry.secret, invite);
    if (seat.campaign !== campaign) {
      throw new StrangeAnswer(`asked for a seat in '${campaign}', the server answered with one in '${seat.campaign}'`);
    }
    return (await this.ledger.seat(campaign, seat)).seat as NonNullable<Entry["seat"]>;
  }

  private draw(offer: Offer, place: number): Promise<Entry> {
    const { policy, certificate, terms, info } = offer;
    const clear = place === NULL && !policy.protectsNull;
    return this.ledger.drawOnce(info.campaign, terms.epsilonPerKm, this.settings.caps.lifetimeEpsilonPerKm, () => {
      // Where NULL is said in the clear, a device without a place rolls the same dice, and throws them away.
      const symbol = draw(policy, clear ? 0 : place, certificate, this.around.randomBits);
      return clear ? NULL : symbol;
    });
  }

  private async send(entry: Entry): Promise<Entry> {
    if (entry.state === "acknowledged") return entry;
    if (entry.state === "refused") throw new Refusal(`campaign ${entry.campaign}: ${entry.reason}`);
    const seat = entry.seat as NonNullable<Entry["seat"]>;
    const upload = uploadBytes(seat, entry.symbol === NULL ? null : entry.symbol);
    try {
      const receipt = await this.line.report(entry.campaign, entry.secret, upload);
      const same =
        receipt.campaign === entry.campaign &&
        receipt.participant === seat.participant &&
        receipt.round === seat.round &&
        receipt.digest === sha256Hex(upload);
      if (!same) {
        throw new StrangeAnswer(`campaign ${entry.campaign}: the receipt is for another report; it is not acknowledged`);
      }
      return await this.ledger.acknowledge(entry.campaign, receipt.digest);
    } catch (error) {
      if (error instanceof Declined) await this.ledger.refuse(entry.campaign, error.message);
      throw error;
    }
  }
}
