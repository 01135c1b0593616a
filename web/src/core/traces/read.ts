// A person's own trace, of whatever kind it is: told apart by its first letters, not by its name.

import { FileFormatError } from "../errors";
import type { Visits } from "../profile/visits";
import { Zone } from "./clock";
import { readCsv } from "./csv";
import { readGpx } from "./gpx";
import { firstBytes, type Progress, type Source } from "./source";
import { readTimeline } from "./timeline";

export interface TraceOptions {
  /** Time zone name; without one, local time is the offset stated in each time, or UTC. */
  readonly zone?: string;
}

export async function readTrace(source: Source, options: TraceOptions = {}, progress?: Progress): Promise<Visits> {
  const zone = options.zone === undefined ? null : new Zone(options.zone);
  const head = new TextDecoder().decode(await firstBytes(source, 512)).trimStart();
  if (head === "") throw new FileFormatError(`${source.name}: is empty; expected a Timeline export, GPX or CSV`);
  if (head.startsWith("{") || head.startsWith("[")) return readTimeline(source, zone, progress);
  if (head.startsWith("<")) return readGpx(source, zone, progress);
  return readCsv(source, zone, progress);
}
