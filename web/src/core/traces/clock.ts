// Reading times, ISO or Unix, and the local clock of a time zone.

import { InputError } from "../errors";
import { DAY_S, dayOf } from "../profile/periods";
import { toNumber } from "./visit_builder";

/** Seconds since 1970 and the stated offset from UTC; NaN where unknown. */
export interface Time {
  readonly seconds: number;
  readonly stated: number;
}

/** As seconds this is the year 5138, as milliseconds 1973: nothing that is read here lies on the wrong side. */
const MILLISECONDS_FROM = 1e11;
const QUARTER_S = 900;
const LATEST_S = 4_102_444_800;
const UNKNOWN: Time = { seconds: NaN, stated: NaN };
const DATE = /^(\d{4})-(\d\d)-(\d\d)|^(\d{4})(\d\d)(\d\d)/;
const CLOCK = /^(?:(\d\d)(?::(\d\d)(?::(\d\d)(?:[.,]\d+)?)?)?|(\d\d)(\d\d)(?:(\d\d)(?:[.,]\d+)?)?)$/;
const OFFSET = /(Z|[+-]\d\d(?::?\d\d(?::?\d\d(?:\.\d+)?)?)?)$/;

/** ISO or Unix time (seconds, or milliseconds by their size); a Unix time is UTC, so its stated offset is 0. */
export function readTime(text: string): Time {
  if (text[4] === "-") return readIso(text);
  const unix = toNumber(text);
  return { seconds: Math.abs(unix) >= MILLISECONDS_FROM ? unix / 1000 : unix, stated: 0 };
}

/** An ISO time; fractions of a second go. */
export function readIso(padded: string): Time {
  const text = padded.trim();
  const date = DATE.exec(text);
  if (date === null) return UNKNOWN;
  const [year, month, day] = [date[1] ?? date[4], date[2] ?? date[5], date[3] ?? date[6]].map(Number) as [number, number, number];
  if (year < 100 || month < 1 || month > 12 || day < 1 || day > daysOf(year, month)) return UNKNOWN;
  const dayNumber = dayOf(year, month, day);
  const after = text.slice(date[0].length);
  if (after === "") return { seconds: dayNumber * DAY_S, stated: NaN };
  const rest = after.slice(1);
  const offset = OFFSET.exec(rest);
  const clock = CLOCK.exec(offset === null ? rest : rest.slice(0, offset.index));
  if (clock === null) return UNKNOWN;
  const [hour, minute, second] = [clock[1] ?? clock[4], clock[2] ?? clock[5], clock[3] ?? clock[6]].map((part) =>
    Number(part ?? 0),
  ) as [number, number, number];
  if (hour > 23 || minute > 59 || second > 59) return UNKNOWN;
  const local = dayNumber * DAY_S + hour * 3600 + minute * 60 + second;
  if (offset === null) return { seconds: local, stated: NaN };
  const stated = offsetSeconds(offset[0]);
  return Number.isNaN(stated) ? UNKNOWN : { seconds: local - stated, stated };
}

function daysOf(year: number, month: number): number {
  return dayOf(month === 12 ? year + 1 : year, (month % 12) + 1, 1) - dayOf(year, month, 1);
}

function offsetSeconds(text: string): number {
  if (text === "Z") return 0;
  const [hours = 0, minutes = 0, seconds = 0] = (text.slice(1).match(/\d\d/g) ?? []).map(Number);
  if (hours > 23 || minutes > 59 || seconds > 59) return NaN;
  return (text.startsWith("-") ? -1 : 1) * (hours * 3600 + minutes * 60 + seconds);
}

/** Local time minus UTC of a time zone, followed through its changes of clocks. */
export class Zone {
  private readonly format: Intl.DateTimeFormat;
  private readonly known = new Map<number, number>();

  constructor(name: string) {
    try {
      this.format = new Intl.DateTimeFormat("en-US", {
        timeZone: name,
        hourCycle: "h23",
        era: "short",
        year: "numeric",
        month: "numeric",
        day: "numeric",
        hour: "numeric",
        minute: "numeric",
        second: "numeric",
      });
    } catch {
      throw new InputError("zone", name, "should be a time zone name such as 'Europe/Berlin'");
    }
  }

  /** Seconds; NaN where the instant is unknown or out of range. */
  offsetS(utcS: number): number {
    if (!(utcS >= 0 && utcS < LATEST_S)) return NaN;
    // Formatting is slow: a day that begins and ends with the same offset has no change of clocks in it.
    const day = Math.floor(utcS / DAY_S) * DAY_S;
    const begins = this.at(day);
    return begins === this.at(day + DAY_S) ? begins : this.at(Math.floor(utcS / QUARTER_S) * QUARTER_S);
  }

  private at(utcS: number): number {
    let offset = this.known.get(utcS);
    if (offset === undefined) {
      const parts = new Map(this.format.formatToParts(utcS * 1000).map(({ type, value }) => [type, Number(value)]));
      const part = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
      const day = dayOf(part("year"), part("month"), part("day"));
      offset = day * DAY_S + part("hour") * 3600 + part("minute") * 60 + part("second") - utcS;
      this.known.set(utcS, offset);
    }
    return offset;
  }
}

/** The local offset of a time: the zone's where one is given, else the stated one, else 0. */
export function offsetOf(utcS: number, stated: number, zone: Zone | null): number {
  const offset = zone === null ? stated : zone.offsetS(utcS);
  return Number.isNaN(offset) ? 0 : offset;
}
