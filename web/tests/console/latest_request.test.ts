import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LatestRequest, REST_MS } from "../../src/shared/latest_request";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function heard(work: (question: number, signal: AbortSignal) => Promise<number>) {
  const log: string[] = [];
  const newest = new LatestRequest<number, number>(work, {
    answered: (answer) => void log.push(`answer ${answer}`),
    failed: (error) => void log.push(`failed ${(error as Error).message}`),
    busy: (yes) => void log.push(yes ? "busy" : "done"),
  });
  return { log, newest };
}

test("a slider that moves on asks once, when it rests", async () => {
  const work = vi.fn((question: number) => Promise.resolve(question));
  const { log, newest } = heard(work);
  for (const value of [1, 2, 3]) {
    newest.ask(value);
    await vi.advanceTimersByTimeAsync(REST_MS - 1);
  }
  await vi.advanceTimersByTimeAsync(1);
  expect(work.mock.calls.map(([question]) => question)).toEqual([3]);
  expect(log).toEqual(["busy", "busy", "busy", "answer 3", "done"]);
});

test("the newest answer wins even if an older one comes later, and the older request is aborted", async () => {
  const aborted: number[] = [];
  const { log, newest } = heard(
    (question, signal) =>
      new Promise((resolve) => {
        signal.addEventListener("abort", () => aborted.push(question));
        setTimeout(() => resolve(question), question === 1 ? 1000 : 10);
      }),
  );
  newest.ask(1);
  await vi.advanceTimersByTimeAsync(REST_MS + 1);
  newest.ask(2);
  await vi.advanceTimersByTimeAsync(5000);
  expect(aborted).toEqual([1]);
  expect(log.filter((line) => line.startsWith("answer"))).toEqual(["answer 2"]);
});

test("an error of an abandoned question is not told; one of the newest is", async () => {
  const { log, newest } = heard(
    (question, signal) =>
      new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(new Error("abandoned")));
        setTimeout(() => reject(new Error(`no ${question}`)), 100);
      }),
  );
  newest.ask(1);
  await vi.advanceTimersByTimeAsync(REST_MS + 10);
  newest.ask(2);
  await vi.advanceTimersByTimeAsync(5000);
  expect(log.filter((line) => line.startsWith("failed"))).toEqual(["failed no 2"]);
  newest.ask(3);
  newest.cancel();
  await vi.advanceTimersByTimeAsync(5000);
  expect(log.at(-1)).toBe("done");
});
