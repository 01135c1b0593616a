// Errors, sorted by what a person can do about them.

import { FileFormatError, InputError, messageOf, NoAnswerError, NotPrivateError, Refusal } from "../../core/errors";
import { NotYet } from "../../core/device";
import { Declined, StrangeAnswer } from "../../core/line";
import type { InfoView, Trouble, TroubleKind } from "../messages";
import { Paused } from "./carrier";
import { SameFile } from "./own";

const DECLINED: Readonly<Record<string, TroubleKind>> = {
  "not-found": "no-campaign",
  "no-seat": "no-seat",
  "bad-invite": "bad-invite",
  "wrong-state": "not-yet",
};

/** While a file is read, what does not fit is the file's fault. */
export function fileTrouble(error: unknown): Trouble {
  if (error instanceof SameFile) return trouble("same-file", `${error.message} is here already`);
  if (error instanceof FileFormatError || error instanceof InputError) {
    const empty = /: is empty|: holds no rows/.test(error.message);
    return trouble(empty ? "empty-file" : "broken-file", error.message);
  }
  return troubleOf(error);
}

export function troubleOf(error: unknown, info: InfoView | null = null): Trouble {
  const words = messageOf(error);
  if (error instanceof Declined) return trouble(DECLINED[error.problem.kind] ?? "uncounted", words, info);
  if (error instanceof NoAnswerError) return trouble("no-answer", words, info);
  if (error instanceof Paused) return trouble("paused", words, info);
  if (error instanceof NotYet) return trouble("not-yet", words, info);
  if (error instanceof StrangeAnswer) return trouble("strange-answer", words, info);
  if (error instanceof NotPrivateError || error instanceof Refusal) return trouble(refusalKind(words), words, info);
  if (error instanceof FileFormatError && words.startsWith("the ledger was")) return trouble("ledger-altered", words, info);
  if (/quota/i.test(words) || named(error, "QuotaExceededError")) return trouble("storage-full", words, info);
  if (error instanceof FileFormatError || error instanceof DOMException) return trouble("storage-blocked", words, info);
  return trouble("failed", words, info);
}

function refusalKind(words: string): TroubleKind {
  if (words.startsWith("the lifetime cap")) return "lifetime";
  if (words.includes("this device accepts") || words.includes("this device hides")) return "limits";
  return words.includes("declined by the device's owner") ? "declined" : "refused";
}

function trouble(kind: TroubleKind, words: string, info: InfoView | null = null): Trouble {
  return { kind, words, info };
}

function named(error: unknown, name: string): boolean {
  return error instanceof DOMException && error.name === name;
}
