// What the operator has filled in so far, what is wrong with it, and the plan it makes.

import type { LatLon } from "../../core/area/plane";
import {
  DEFAULT_CONFIDENCE,
  DEFAULT_DEADLINE_S,
  DEFAULT_DELTA,
  DEFAULT_EPSILON_PER_KM,
  DEFAULT_GRADE_EPSILON,
  DEFAULT_LOWER_DELTAS,
  DEFAULT_NULL_EPSILON,
  DEFAULT_RULE,
  type Algorithm,
  type Enrolment,
  type Period,
} from "../../core/vocabulary";
import type { AreaRequest, AreaShape, Bounds } from "../../core/wire/area";
import { PROTOCOL } from "../../core/wire/message";
import type { CampaignPlan } from "../../core/wire/operator";
import { cellAt, sizeKm } from "../../shared/cells";
import { count, idFrom } from "../../shared/display";
import { cellsOf, setOf, toggled, type PickedPlaces } from "./picked_places";

export type AreaKind = "squares" | "hexagons" | "towers";
export type FieldErrors = Readonly<Record<string, string>>;

const MAX_CELLS = 10_000;
const KEY = "crowdveil-plan";

/** ε₀ and ε₁ as factors: at most so many times as likely. */
const DEFAULT_FACTOR = 64;

const START = {
  /** How far the operator has come. */
  step: 0,
  kind: "squares" as AreaKind,
  south: 40.68 as number | null,
  west: -74.03 as number | null,
  north: 40.82 as number | null,
  east: -73.9 as number | null,
  cellKm: 1 as number | null,
  resolution: 7 as number | null,
  towers: [] as LatLon[],
  towersFile: "",
  reachKm: 20 as number | null,
  spots: [] as LatLon[],
  /** Ask once, select often. */
  panel: false,
  /** How many times a panel asks for an answer, and how many days apart. */
  timesAsked: 1 as number | null,
  renewalDays: 90 as number | null,
  epsilon: DEFAULT_EPSILON_PER_KM as number | null,
  users: 600 as number | null,
  sharePercent: 5 as number | null,
  rounds: 6 as number | null,
  name: "",
  id: "",
  offer: "",
  deadlineHours: (DEFAULT_DEADLINE_S / 3600) as number | null,
  delta: DEFAULT_DELTA as number | null,
  rule: DEFAULT_RULE,
  period: "week" as Period,
  enrolment: "invite" as Enrolment,
  /** Place, how regular it is and being outside protected together, or the paper's form. */
  protection: "protected" as "protected" | "clear",
  nullFactor: DEFAULT_FACTOR as number | null,
  gradeFactor: DEFAULT_FACTOR as number | null,
  beyondLimits: false,
  algorithm: "crowdveil" as Algorithm,
};

export type Fields = typeof START;

export class Form implements PickedPlaces {
  fields: Fields = $state({ ...START, ...stored() });
  /** The area as the server made it from the fields; the last one while a new one is on its way. */
  shape: AreaShape | undefined = $state.raw();

  readonly bounds = $derived(boundsOf(this.fields));
  readonly areaWrong = $derived(checkArea(this.fields));
  readonly areaRequest = $derived(Object.keys(this.areaWrong).length ? undefined : requestOf(this.fields));
  /** The cell of each place; undefined for places outside of the area. */
  readonly located = $derived.by(() => {
    const shape = this.shape;
    return this.fields.spots.map((spot) => (shape ? cellAt(shape, spot) : undefined));
  });
  readonly targets = $derived(cellsOf(this.located));
  readonly targetSet: ReadonlySet<number> = $derived(setOf(this.targets));
  readonly id = $derived(this.fields.id || idFrom(this.fields.name));
  readonly termsWrong = $derived(checkPrivacyAndSize(this.fields));
  readonly offerWrong = $derived(checkOffer(this.fields, this.id));
  readonly rulesWrong = $derived(checkRules(this.fields));
  readonly wanted = $derived(Math.max(1, Math.round(((this.fields.sharePercent ?? 0) / 100) * (this.fields.users ?? 0))));

  /** The plan, as far as a preview needs it: name and offer may still be missing. */
  readonly plan: CampaignPlan | undefined = $derived.by(() => {
    if (!this.shape || (this.targets.length === 0 && !this.fields.panel)) return undefined;
    if (Object.keys(this.termsWrong).length || Object.keys(this.rulesWrong).length) return undefined;
    return planOf(this.fields, this.shape, this.targets, this.wanted);
  });

  /** Mark a cell as a target, or no longer. */
  toggle(cell: number): void {
    this.fields.spots = toggled(this, cell);
  }

  /** Keep what was filled in for a reload of this tab. */
  store(): void {
    try {
      sessionStorage.setItem(KEY, JSON.stringify(this.fields));
    } catch {
      sessionStorage.removeItem(KEY); // thousands of towers may not fit; then a reload starts anew
    }
  }

  forget(): void {
    sessionStorage.removeItem(KEY);
    this.fields = { ...START };
  }
}

function stored(): Partial<Fields> {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? "{}") as Partial<Fields>;
  } catch {
    return {};
  }
}

function boundsOf({ south, west, north, east }: Fields): Bounds | undefined {
  if (south === null || west === null || north === null || east === null) return undefined;
  return south < north && west < east ? [south, west, north, east] : undefined;
}

function requestOf(fields: Fields): AreaRequest | undefined {
  const bounds = boundsOf(fields);
  if (fields.kind === "towers") {
    return { protocol: PROTOCOL, towers: fields.towers, reach_km: fields.reachKm ?? 20 };
  }
  if (!bounds) return undefined;
  if (fields.kind === "squares") return { protocol: PROTOCOL, bounds, cell_km: fields.cellKm ?? 1 };
  return { protocol: PROTOCOL, bounds, resolution: fields.resolution ?? 7 };
}

/** What is wrong with the area, by field. */
export function checkArea(fields: Fields): FieldErrors {
  if (fields.kind === "towers") {
    const towers = fields.towers.length ? undefined : "Choose a file with the towers’ latitudes and longitudes.";
    return wrongs({ towers, reachKm: within(fields.reachKm, 0.1, 1000, "km") });
  }
  const { south, west, north, east, cellKm } = fields;
  const wrong = {
    south: within(south, -89, 89, "degrees"),
    north: within(north, -89, 89, "degrees") ?? (lower(south, north) ? undefined : "Should lie north of the southern edge."),
    west: within(west, -180, 180, "degrees"),
    east: within(east, -180, 180, "degrees") ?? (lower(west, east) ? undefined : "Should lie east of the western edge."),
    cellKm: fields.kind === "squares" ? within(cellKm, 0.01, 1000, "km") : undefined,
  };
  const bounds = boundsOf(fields);
  if (bounds && fields.kind === "squares" && cellKm && !wrong.cellKm) {
    const [width, height] = sizeKm(bounds);
    const cells = Math.ceil(width / cellKm) * Math.ceil(height / cellKm);
    if (cells > 1.1 * MAX_CELLS) wrong.cellKm = `Makes ${count(cells)} cells; the console draws ${count(MAX_CELLS)}.`;
  }
  return wrongs(wrong);
}

/** What is wrong with privacy and size, by field. */
export function checkPrivacyAndSize(fields: Fields): FieldErrors {
  const { users, rounds } = fields;
  const asked = {
    epsilon: within(fields.epsilon, 0.001, 100, "per km"),
    users: whole(users, 1, 10_000_000),
  };
  if (fields.panel) {
    return wrongs({
      ...asked,
      timesAsked: whole(fields.timesAsked, 1, 1000),
      renewalDays: isRenewed(fields) ? within(fields.renewalDays, 0.01, 3650, "days") : undefined,
    });
  }
  return wrongs({
    ...asked,
    sharePercent: within(fields.sharePercent, 0.001, 99.999, "%"),
    rounds:
      whole(rounds, 1, 1000) ??
      (rounds !== null && users !== null && rounds > users ? "There should be no more rounds than people." : undefined),
  });
}

/** What is wrong with the offer, by field. */
export function checkOffer(fields: Fields, id: string): FieldErrors {
  const bytes = new TextEncoder().encode(JSON.stringify(fields.offer)).length;
  return wrongs({
    name: fields.name.trim() ? undefined : "Give the campaign a name.",
    id: /^[a-z0-9][a-z0-9-]{0,62}$/.test(id) ? undefined : "Should be up to 63 of a–z, 0–9 and hyphens.",
    offer: !fields.offer.trim()
      ? "Say what those who are selected get."
      : bytes > 3000
        ? "Too long: at most 3,000 bytes."
        : undefined,
  });
}

/** What is wrong with the rules, by field. */
export function checkRules(fields: Fields): FieldErrors {
  const { deadlineHours } = fields;
  return wrongs({
    deadlineHours: deadlineHours === null ? undefined : (within(deadlineHours, 0.01, 24 * 365, "hours") ?? beforeRenewal(fields)),
    delta: within(fields.delta, 0, 0.999, ""),
    nullFactor: fields.protection === "protected" ? within(fields.nullFactor, 1.01, 1_000_000, "") : undefined,
    gradeFactor: fields.protection === "protected" ? within(fields.gradeFactor, 1.01, 1_000_000, "") : undefined,
  });
}

/** Whether a panel asks for answers more than once. */
export function isRenewed({ panel, timesAsked }: Pick<Fields, "panel" | "timesAsked">): boolean {
  return panel && timesAsked !== null && timesAsked > 1;
}

function beforeRenewal(fields: Fields): string | undefined {
  const { deadlineHours, renewalDays } = fields;
  if (!isRenewed(fields) || deadlineHours === null || renewalDays === null || deadlineHours <= 24 * renewalDays) return undefined;
  return `Should be at most ${count(24 * renewalDays)} hours: the panel asks again then.`;
}

function secondsOf(days: number | null): number {
  return Math.max(1, Math.round((days ?? 0) * 86_400));
}

function planOf(fields: Fields, shape: AreaShape, targets: readonly number[], wanted: number): CampaignPlan {
  return {
    protocol: PROTOCOL,
    name: fields.name.trim() || "Preview",
    offer: fields.offer.trim() || "Preview",
    area: shape.area,
    targets: fields.panel && targets.length === 0 ? shape.centres.map((_, cell) => cell) : targets,
    target_names: null,
    target_coordinates: null,
    epsilon_per_km: fields.epsilon ?? DEFAULT_EPSILON_PER_KM,
    delta: fields.delta ?? DEFAULT_DELTA,
    lower_deltas: null,
    profile_constants: null,
    rule: fields.rule,
    period: fields.period,
    enrolment: fields.enrolment,
    users: fields.users ?? 1,
    wanted: fields.panel ? null : wanted,
    share: null,
    numbers: null,
    panel: fields.panel,
    renewal_s: isRenewed(fields) ? secondsOf(fields.renewalDays) : null,
    rounds: (fields.panel ? fields.timesAsked : fields.rounds) ?? 1,
    confidence: DEFAULT_CONFIDENCE,
    algorithm: fields.panel ? "crowdveil" : fields.algorithm,
    prior: null,
    null_epsilon: lossOf(fields, fields.nullFactor, DEFAULT_NULL_EPSILON),
    grade_epsilon: gradeLossOf(fields),
    round_size: null,
    deadline_s: fields.deadlineHours === null ? null : Math.max(1, Math.round(fields.deadlineHours * 3600)),
    seed: null,
    beyond_default_limits: fields.beyondLimits,
  };
}

/** ε₁: the loss between the most and the least regular visitor, divided over the steps between the grades. */
function gradeLossOf(fields: Fields): number | null {
  const delta = fields.delta ?? DEFAULT_DELTA;
  const steps = 1 + DEFAULT_LOWER_DELTAS.filter((one) => one < delta).length;
  const whole = lossOf(fields, fields.gradeFactor, DEFAULT_NULL_EPSILON);
  if (whole === DEFAULT_NULL_EPSILON && steps === 1 + DEFAULT_LOWER_DELTAS.length) return DEFAULT_GRADE_EPSILON;
  return whole === null ? null : whole / steps;
}

/** ln of a factor, the default to its last bit; null in the clear form. */
function lossOf({ protection }: Fields, factor: number | null, usual: number): number | null {
  if (protection === "clear") return null;
  return factor === null || factor === DEFAULT_FACTOR ? usual : Math.log(factor);
}

function within(value: number | null, least: number, most: number, unit: string): string | undefined {
  if (value !== null && value >= least && value <= most) return undefined;
  return `Should be from ${least} to ${count(most) === "1" ? most : most.toLocaleString("en-US")}${unit && ` ${unit}`}.`;
}

function whole(value: number | null, least: number, most: number): string | undefined {
  return value !== null && Number.isInteger(value) && value >= least && value <= most
    ? undefined
    : `Should be a whole number from ${count(least)} to ${count(most)}.`;
}

function lower(one: number | null, other: number | null): boolean {
  return one === null || other === null || one < other;
}

function wrongs(all: Record<string, string | undefined>): FieldErrors {
  return Object.fromEntries(Object.entries(all).filter((one): one is [string, string] => one[1] !== undefined));
}
