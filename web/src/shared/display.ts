// Numbers and states as people read them.

import { general, roundedUp } from "../core/formatting";
import type { CampaignState } from "../core/vocabulary";

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const dateTime = new Intl.DateTimeFormat("en-GB", {
  year: "numeric",
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
});
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });

/** 12,345 */
export function count(value: number): string {
  return whole.format(value);
}

/** "1 report", "2 reports" */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** A share in percent, with as many digits as it deserves: 0.04 %, 4.2 %, 42 %. */
export function percent(share: number): string {
  const value = share * 100;
  if (value === 0) return "0\u00a0%";
  if (value < 0.01) return "< 0.01\u00a0%";
  const decimals = value < 1 ? 2 : value < 99.95 ? 1 : 0;
  return `${value.toFixed(decimals)}\u00a0%`;
}

/** Like `percent`, for places without room: ticks of a legend. */
export function shortPercent(share: number): string {
  const value = share * 100;
  return `${Number(value.toPrecision(2))}\u00a0%`;
}

/** A share as the device's own words have it, such as 30.8%, with the space that it has everywhere on the pages. */
export function spaced(share: string): string {
  return share.replace("%", "\u00a0%");
}

/** Seconds since 1970 as a date and time of this machine. */
export function when(seconds: number): string {
  return dateTime.format(new Date(seconds * 1000));
}

/** A time of day, to the second. */
export function timeOfDay(milliseconds: number): string {
  return clock.format(new Date(milliseconds));
}

/** 45 s, 12 min, 3 h 20 min, 2 days */
export function duration(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 ? `${hours}\u00a0h ${minutes % 60}\u00a0min` : `${hours}\u00a0h`;
  return counted(Math.round(hours / 24), "day");
}

/** A distance of so many km: 250 m, 1.41 km. */
export function distance(km: number): string {
  return km < 0.9995 ? `${general(1000 * km, 3)} m` : `${general(km, 3)} km`;
}

/** The largest factor between two places some km apart under ε per km: never rounded down. */
export function factor(epsilonPerKm: number, km = 1): string {
  const power = Math.exp(epsilonPerKm * km);
  if (!Number.isFinite(power)) return "any number of";
  // Twelve digits first: e^(ln 3) should read 3, whatever its last bit says.
  const value = Number(power.toPrecision(12));
  if (value > 1e6) return "more than a million";
  const text = roundedUp(value, value < 10 ? 3 : Math.max(3, String(Math.trunc(value)).length));
  return whole.format(Math.trunc(Number(text))) + (text.includes(".") ? text.slice(text.indexOf(".")) : "");
}

/** "at most 4 times as likely"; what is more than a million is no bound that could be said with "at most". */
export function likelier(epsilonPerKm: number, km = 1): string {
  const times = factor(epsilonPerKm, km);
  return `${/^\d/.test(times) ? "at most " : ""}${times} times as likely`;
}

/** "within 1 km: at most 4 times as likely" */
export function within(epsilonPerKm: number, km = 1): string {
  return `within ${distance(km)}: ${likelier(epsilonPerKm, km)}`;
}

/** What an even bet between two places becomes at best: 4 times as likely is 80 %. */
export function bestBet(epsilonPerKm: number, km = 1): string {
  const power = Math.exp(epsilonPerKm * km);
  const share = Number.isFinite(power) ? power / (1 + power) : 1;
  return `${Math.ceil(Number((share * 100).toFixed(9)))} %`;
}

export const STATES: Readonly<Record<CampaignState, { label: string; meaning: string }>> = {
  draft: { label: "Draft", meaning: "Nobody can join yet. The settings are fixed; start it when you are ready." },
  open: { label: "Open", meaning: "People join and answer. Each round starts automatically after the one before." },
  paused: { label: "Paused", meaning: "Nobody can join and no answers are taken. Devices keep their answers and try again." },
  closed: { label: "Closed", meaning: "No more answers are taken. The selection is being made." },
  finished: { label: "Finished", meaning: "The selection is made. Anyone with the audit record can repeat it." },
};

const REASONS: Readonly<Record<string, string>> = {
  "report-conflict": "the participant had sent another report before",
  "round-closed": "the round was already closed",
  "wrong-round": "the participant's seat is in another round",
  "wrong-policy": "drawn from another policy than the round's",
  "wrong-symbol": "the round's policy has no such symbol",
  "unknown-participant": "the sender has no seat",
  paused: "the campaign was paused; devices send it again",
};

/** Why a report was refused, in words. */
export function reason(kind: string): string {
  return REASONS[kind] ?? kind.replaceAll("-", " ");
}

/** A campaign's id from its name: "Coffee & cake" is coffee-cake. */
export function idFrom(name: string): string {
  return name
    .normalize("NFKD")
    .replace(/[\u0300-\u036f]/g, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+/, "")
    .slice(0, 63)
    .replace(/-+$/, "");
}
