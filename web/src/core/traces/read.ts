// A person's own trace, of whatever kind it is: told apart by its first letters, not by its name.

import { EmptyFile } from "../errors";
import type { Progress } from "../vocabulary";
import { Zone } from "./clock";
import { readGpx } from "./gpx";
import { readTable } from "./table";
import { readTimeline } from "./timeline";
import { firstBytes, type TraceFile } from "./trace_files";
import type { Visits } from "./visits";

export interface TraceOptions {
  /** Time zone name; without one, local time is the offset stated in each time, or UTC. */
  readonly zone?: string;
}

export async function readTrace(file: TraceFile, options: TraceOptions = {}, progress?: Progress): Promise<Visits> {
  const zone = options.zone === undefined ? null : new Zone(options.zone);
  const head = new TextDecoder().decode(await firstBytes(file, 512)).trimStart();
  if (head === "") throw new EmptyFile(`${file.name}: is empty; expected a Timeline export, GPX or CSV`);
  if (head.startsWith("{") || head.startsWith("[")) return readTimeline(file, zone, progress);
  if (head.startsWith("<")) return readGpx(file, zone, progress);
  return readTable(file, zone, progress);
}
