// From visits to what the page shows: frequent places, the one that is drawn from, and the odds of what would be sent.

import { regionsOf } from "../../core/area/regions";
import type { Device, Offer } from "../../core/client/device";
import { symbolOdds } from "../../core/client/explain";
import type { Policy } from "../../core/policy/policy";
import { countVisits, type Counts } from "../../core/profile/counts";
import { frequentPlaces } from "../../core/profile/place";
import type { Profile } from "../../core/profile/profile";
import type { Visits } from "../../core/traces/visits";
import { NULL } from "../../core/vocabulary";
import type { MapView, OtherSymbols, PlacesView, PlaceView, ReplyPreview, SymbolOdds } from "../messages";

/** Beyond, only cells that were visited and targets are drawn. */
const MAX_REGIONS = 4000;
const MAX_PLACES = 100;
const MAX_SYMBOLS = 5;

export interface FoundPlaces {
  /** The place to draw from, or `NULL`. */
  readonly place: number;
  readonly view: Omit<PlacesView, "reply">;
}

export async function findPlaces(device: Device, offer: Offer, visits: Visits): Promise<FoundPlaces> {
  const { area, targets } = offer.terms;
  const periods = device.periods(offer.info);
  const counts = countVisits(visits, area, periods);
  const profile = device.profile(offer, visits);
  const place = device.place(offer, profile);
  const frequent = new Set(frequentPlaces(profile, offer.info.delta));
  const wanted = new Set(targets);
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
      map: await mapOf(offer, profile),
    },
  };
}

/** What would be sent from a place: first what counts towards being selected, then the rest; the likeliest of each first. */
export function replyPreview(policy: Policy, place: number): ReplyPreview {
  const none = place === NULL;
  if (none && !policy.protectsNull) return { none, clear: true, odds: [], others: [] };
  const selects = new Set(policy.fields.selecting);
  const all = symbolOdds(policy, place)
    .map((share, symbol) => ({ name: policy.symbolName(symbol), share, selecting: selects.has(symbol) }))
    .sort((a, b) => b.share - a.share);
  const odds: SymbolOdds[] = [];
  const others: OtherSymbols[] = [];
  for (const selecting of [true, false]) {
    const group = all.filter((one) => one.selecting === selecting);
    const left = group.splice(MAX_SYMBOLS - odds.length);
    odds.push(...group);
    if (left.length) others.push({ symbols: left.length, share: left.reduce((sum, { share }) => sum + share, 0), selecting });
  }
  return { none, clear: false, odds, others };
}

async function mapOf(offer: Offer, profile: Profile): Promise<MapView> {
  const { area, targets } = offer.terms;
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
