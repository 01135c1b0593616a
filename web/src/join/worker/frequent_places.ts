// From visits to what the page shows: places, the one that is drawn from, and the chances of what would be sent.

import type { Area } from "../../core/area/area";
import { regionsOf } from "../../core/area/regions";
import type { CheckedCampaign, Device } from "../../core/client/device";
import { DEFAULT_RADIUS_KM, excludedCells, type ExcludedPlace } from "../../core/client/excluded";
import {
  describeInformation,
  describePlace,
  describeReport,
  describeSymbol,
  informationFigures,
  namedCells,
  reportFigures,
  type GradedTerms,
} from "../../core/client/explain";
import type { Policy } from "../../core/policy/policy";
import type { Counts } from "../../core/profile/counts";
import { frequentPlaces, type Place } from "../../core/profile/place";
import type { Profile } from "../../core/profile/profile";
import type { Visits } from "../../core/traces/visits";
import { NULL } from "../../core/vocabulary";
import type { AnswerChance, MapView, OtherSymbols, PickedPlace, PlacesView, PlaceView, ReplyPreview } from "../messages";

/** Beyond, only cells that were visited and targets are drawn. */
const MAX_REGIONS = 4000;
const MAX_PLACES = 100;
const MAX_SYMBOLS = 5;
/** So many answers are listed at least of those that do not count towards being selected. */
const MIN_OTHER_SYMBOLS = 2;

/** What is known of the owner's places in a campaign's area; which one is reported is not decided here. */
export async function findPlaces(
  device: Device,
  checked: CheckedCampaign,
  visits: Visits,
  excluded: readonly ExcludedPlace[],
): Promise<Omit<PlacesView, "picked">> {
  const { announcement, area, policy } = checked;
  const { terms } = announcement;
  const { shipped, profile: chosenFrom, counts, visits: kept } = await device.history(checked, visits, excluded);
  // Places that published constants are not asked about are shown with what this device predicts.
  const profile = new Map([...shipped, ...chosenFrom]);
  const frequent = new Set(frequentPlaces(chosenFrom, terms.delta));
  const wanted = new Set(policy.targets);
  const views = [...profile].map(([cell, probability]): PlaceView => {
    const { latitude, longitude } = area.centre(cell);
    const seen = visitsOf(counts, cell);
    return { cell, latitude, longitude, visits: seen, probability, frequent: frequent.has(cell), target: wanted.has(cell) };
  });
  views.sort((a, b) => b.probability - a.probability || a.cell - b.cell);
  return {
    counted: kept - counts.outsideArea - counts.outsidePeriods,
    outsideArea: counts.outsideArea,
    outsidePeriods: counts.outsidePeriods,
    left: visits.length - kept,
    excludedHere: excludedCells(area, excluded).size > 0,
    periods: device.periods(terms).count,
    places: views.slice(0, MAX_PLACES),
    frequent: frequent.size,
    map: await mapOf(checked, profile),
  };
}

export async function pickedPlace(
  { area, policy, announcement }: CheckedCampaign,
  place: Place,
  excludedHere: boolean,
): Promise<PickedPlace> {
  const none = place.cell === NULL;
  const centre = none ? null : area.centre(place.cell);
  return {
    cell: none ? null : place.cell,
    grade: place.grade,
    centre: centre === null ? null : [centre.latitude, centre.longitude],
    radiusKm: none ? DEFAULT_RADIUS_KM : Math.max(DEFAULT_RADIUS_KM, await reachKm(area, place.cell)),
    reply: replyPreview(policy, area, place, announcement.terms, excludedHere),
  };
}

/** How far the corners of a cell are from its centre. */
async function reachKm(area: Area, cell: number): Promise<number> {
  const [corners = []] = await regionsOf(area, [cell]);
  const [x, y] = [area.xM[cell] as number, area.yM[cell] as number];
  const farM = corners.map(([latitude, longitude]) => {
    const corner = area.plane?.toMetres(latitude, longitude);
    return corner == null ? 0 : Math.hypot(corner.x - x, corner.y - y);
  });
  return Math.ceil(Math.max(0, ...farM)) / 1000;
}

/** What would be sent from a place: first what counts towards being selected, then the rest; the likeliest of each first. */
export function replyPreview(
  policy: Policy,
  area: Area,
  place: Place,
  terms: GradedTerms,
  excludedHere = false,
): ReplyPreview {
  const none = place.cell === NULL;
  const said = {
    place: describePlace(area, place, terms, excludedHere),
    text: describeReport(policy, place),
    information: describeInformation(policy),
    figures: `${reportFigures(policy, place)}\n${informationFigures(policy)}`,
    namesPlaces: namedCells(policy).some((cell) => cell !== null),
    none,
  };
  if (none && !policy.protectsNull) return { ...said, clear: true, chances: [], others: [] };
  const selects = new Set(policy.fields.selecting);
  const all = policy
    .probabilities(place.cell, place.grade)
    .map((share, symbol) => ({ answer: describeSymbol(policy.symbolName(symbol)), share, selecting: selects.has(symbol) }))
    .sort((a, b) => b.share - a.share);
  const chances: AnswerChance[] = [];
  const others: OtherSymbols[] = [];
  for (const selecting of [true, false]) {
    const group = all.filter((one) => one.selecting === selecting);
    const room = selecting ? MAX_SYMBOLS - Math.min(MIN_OTHER_SYMBOLS, all.length - group.length) : MAX_SYMBOLS - chances.length;
    const left = group.splice(room);
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
