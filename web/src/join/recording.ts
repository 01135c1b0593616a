// Visits from the browser's own position, while the page is open: one now and then, not a track.

/** A person who stays is counted again after so long; one who moves, once so far away. */
export const AGAIN_MS = 30 * 60_000;
export const MIN_GAP_MS = 5 * 60_000;
export const MOVED_M = 150;
/** Fixes worse than this say little about the cell. */
export const WORST_ACCURACY_M = 500;

export interface Fix {
  readonly latitude: number;
  readonly longitude: number;
  readonly accuracyM: number;
  readonly atMs: number;
}

/** Whether a fix is a visit of its own after the last one that was kept. */
export function isVisit(fix: Fix, last: Fix | undefined): boolean {
  if (!(fix.accuracyM <= WORST_ACCURACY_M)) return false;
  if (last === undefined) return true;
  const passed = fix.atMs - last.atMs;
  return passed >= AGAIN_MS || (passed >= MIN_GAP_MS && apartM(fix, last) >= MOVED_M);
}

function apartM(one: Fix, other: Fix): number {
  const shrink = Math.cos((((one.latitude + other.latitude) / 2) * Math.PI) / 180);
  return 111_195 * Math.hypot(one.latitude - other.latitude, (one.longitude - other.longitude) * shrink);
}

/** Local time minus UTC, now. */
export function localOffsetS(): number {
  return -60 * new Date().getTimezoneOffset();
}
