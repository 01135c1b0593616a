// Periods: the days or weeks that profiles count in, on the person's own clock.
//
// Period k of D whole days from a start day holds the local days start + kD, ..., start + kD + D - 1. A visit belongs to the
// day that the clock on the wall showed: local time is UTC plus the offset kept with the visit.

import { InputError } from "../errors";

export const OUTSIDE_PERIODS = -1;
export const DAY_S = 86_400;
const MAX_PERIODS = 100_000;

export interface Periods {
  /** Days since 1970-01-01. */
  readonly startDay: number;
  readonly count: number;
  readonly days: 1 | 7;
}

export function periodsFrom(startDay: number, count: number, days: 1 | 7): Periods {
  if (!Number.isInteger(startDay)) throw new InputError("startDay", startDay, "should be a whole number of days");
  if (!(Number.isInteger(count) && count >= 1 && count <= MAX_PERIODS)) {
    throw new InputError("count", count, `should be a whole number of periods from 1 to ${MAX_PERIODS}`);
  }
  return { startDay, count, days };
}

/** Period of a local time (seconds since 1970 on the person's clock), or -1. */
export function periodOf(periods: Periods, localS: number): number {
  const number = Math.floor((Math.floor(localS / DAY_S) - periods.startDay) / periods.days);
  return number >= 0 && number < periods.count ? number : OUTSIDE_PERIODS;
}

/** The day a local date stands for, in days since 1970-01-01. */
export function dayOf(year: number, month: number, day: number): number {
  return Date.UTC(year, month - 1, day) / (1000 * DAY_S);
}
