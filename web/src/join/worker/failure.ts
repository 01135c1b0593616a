// Errors, sorted by what a person can do about them.

import {
  CampaignRefused,
  CrowdveilError,
  EmptyFile,
  FileFormatError,
  InputError,
  InviteNeeded,
  LedgerAltered,
  LedgerRetired,
  LimitReached,
  messageOf,
  NoOpenRound,
  NotPrivateError,
  OutsideLimits,
  OwnerDeclined,
  ServerRefused,
  ServerUnreachable,
  UnexpectedAnswer,
} from "../../core/errors";
import type { AnnouncementView, Failure, FailureKind } from "../messages";
import { SameFile } from "./local_data";
import { CampaignPaused } from "./logging_transport";

/** What a refusal of the server means to a person; any other one means that the report was not counted. */
const SERVER_REFUSALS: Readonly<Record<string, FailureKind>> = {
  "not-found": "no-campaign",
  "no-seat": "no-seat",
  "bad-invite": "bad-invite",
  "too-many-seats": "too-many-seats",
  "wrong-state": "no-open-round",
};

type ErrorClass = abstract new (...given: never[]) => Error;

/** The first class that an error belongs to decides. */
const KINDS: readonly (readonly [ErrorClass, FailureKind])[] = [
  [ServerUnreachable, "no-answer"],
  [CampaignPaused, "paused"],
  [NoOpenRound, "no-open-round"],
  [UnexpectedAnswer, "unexpected-answer"],
  [LimitReached, "lifetime"],
  [OutsideLimits, "limits"],
  [OwnerDeclined, "declined"],
  [NotPrivateError, "refused"],
  [InviteNeeded, "bad-invite"],
  [CampaignRefused, "refused"],
  [LedgerAltered, "ledger-altered"],
  [LedgerRetired, "ledger-moved"],
];

/** While a file is read, what does not fit is the file's fault. */
export function fileFailure(error: unknown): Failure {
  if (error instanceof SameFile) return failure("same-file", `${error.message} is here already`);
  if (error instanceof EmptyFile) return failure("empty-file", error.message);
  if (error instanceof FileFormatError || error instanceof InputError) return failure("broken-file", error.message);
  return failureOf(error);
}

export function failureOf(error: unknown, info: AnnouncementView | null = null): Failure {
  return failure(kindOf(error), messageOf(error), error instanceof CrowdveilError ? error.figures : "", info);
}

function kindOf(error: unknown): FailureKind {
  if (error instanceof ServerRefused) return SERVER_REFUSALS[error.kind] ?? "not-counted";
  const known = KINDS.find(([kind]) => error instanceof kind);
  if (known !== undefined) return known[1];
  if (/quota/i.test(messageOf(error)) || (error instanceof DOMException && error.name === "QuotaExceededError")) {
    return "storage-full";
  }
  return error instanceof FileFormatError || error instanceof DOMException ? "storage-blocked" : "failed";
}

function failure(kind: FailureKind, message: string, figures = "", info: AnnouncementView | null = null): Failure {
  return { kind, message, figures, info };
}
