// From visits to what the page shows: frequent places, the one that is drawn from, and the chances of what would be sent.

import { regionsOf } from "../../core/area/regions";
import type { CheckedCampaign, Device } from "../../core/client/device";
import { answerText, describeReport, reportFigures, symbolProbabilities } from "../../core/client/explain";
import type { Policy } from "../../core/policy/policy";
import { countVisits, type Counts } from "../../core/profile/counts";
import { frequentPlaces } from "../../core/profile/place";
import type { Profile } from "../../core/profile/profile";
import type { Visits } from "../../core/traces/visits";
import { NULL } from "../../core/vocabulary";
import type { AnswerChance, MapView, OtherSymbols, PlacesView, PlaceView, ReplyPreview } from "../messages";

/** Beyond, only cells that were visited and targets are drawn. */
const MAX_REGIONS = 4000;
const MAX_PLACES = 100;
const MAX_SYMBOLS = 5;

export interface FoundPlaces {
  /** The place to draw from, or `NULL`. */
  readonly place: number;
  readonly view: Omit<PlacesView, "reply">;
}

export async function findPlaces(device: Device, checked: CheckedCampaign, visits: Visits): Promise<FoundPlaces> {
  const { announcement, area, policy } = checked;
  const periods = device.periods(announcement);
  const counts = countVisits(visits, area, periods);
  const profile = device.profile(checked, visits);
  const place = device.place(checked, profile);
  const frequent = new Set(frequentPlaces(profile, announcement.delta));
  const wanted = new Set(policy.targets);
  const views = [...profile].map(([cell, probability]): PlaceView => {
    const { latitude, longitude } = area.centre(cell);
    const seen = visitsOf(counts, cell);
    return { cell, latitude, longitude, visits: seen, probability, frequent: frequent.has(cell), target: wanted.has(cell) };
  });
  views.sort((a, b) => b.probability - a.probability || a.cell - b.cell);
  return {
    place,
    view: {
      counted: visits.length - counts.outsideArea - counts.outsidePeriods,
      outsideArea: counts.outsideArea,
      outsidePeriods: counts.outsidePeriods,
      periods: periods.count,
      places: views.slice(0, MAX_PLACES),
      frequent: frequent.size,
      chosen: place === NULL ? null : place,
      map: await mapOf(checked, profile),
    },
  };
}

/** What would be sent from a place: first what counts towards being selected, then the rest; the likeliest of each first. */
export function replyPreview(policy: Policy, place: number): ReplyPreview {
  const none = place === NULL;
  const said = { text: describeReport(policy, place), figures: reportFigures(policy, place), none };
  if (none && !policy.protectsNull) return { ...said, clear: true, chances: [], others: [] };
  const selects = new Set(policy.fields.selecting);
  const all = symbolProbabilities(policy, place)
    .map((share, symbol) => ({ answer: answerText(policy.symbolName(symbol)), share, selecting: selects.has(symbol) }))
    .sort((a, b) => b.share - a.share);
  const chances: AnswerChance[] = [];
  const others: OtherSymbols[] = [];
  for (const selecting of [true, false]) {
    const group = all.filter((one) => one.selecting === selecting);
    const left = group.splice(MAX_SYMBOLS - chances.length);
    chances.push(...group);
    if (left.length) others.push({ symbols: left.length, share: left.reduce((sum, { share }) => sum + share, 0), selecting });
  }
  return { ...said, clear: false, chances, others };
}

async function mapOf(checked: CheckedCampaign, profile: Profile): Promise<MapView> {
  const { area } = checked;
  const { targets } = checked.policy;
  const cells =
    area.cells <= MAX_REGIONS
      ? Array.from({ length: area.cells }, (_, cell) => cell)
      : [...new Set([...profile.keys(), ...targets])].sort((a, b) => a - b);
  const at = new Map(cells.map((cell, index) => [cell, index]));
  return {
    regions: await regionsOf(area, cells),
    values: cells.map((cell) => profile.get(cell) ?? 0),
    targets: targets.flatMap((cell) => at.get(cell) ?? []),
  };
}

function visitsOf(counts: Counts, cell: number): number {
  return counts.visits.get(cell)?.reduce((sum, one) => sum + one, 0) ?? 0;
}
