// Questions that follow a slider: asked once it rests for a moment, and only the newest answer counts.

export const REST_MS = 150;
/** For what is answered so soon that it can follow a hand: just enough that one movement asks once. */
export const FOLLOW_MS = 30;

export interface RequestListener<Answer> {
  answered(answer: Answer): void;
  failed(error: unknown): void;
  /** True from the first question until the newest one is answered. */
  busy(yes: boolean): void;
}

export class LatestRequest<Question, Answer> {
  #timer: ReturnType<typeof setTimeout> | undefined;
  #running: AbortController | undefined;
  readonly #work: (question: Question, signal: AbortSignal) => Promise<Answer>;
  readonly #listener: RequestListener<Answer>;
  readonly #restMs: number;

  constructor(
    work: (question: Question, signal: AbortSignal) => Promise<Answer>,
    listener: RequestListener<Answer>,
    restMs = REST_MS,
  ) {
    this.#work = work;
    this.#listener = listener;
    this.#restMs = restMs;
  }

  /** Ask, unless something newer is asked within the rest; what is under way is abandoned. */
  ask(question: Question): void {
    this.#drop();
    this.#listener.busy(true);
    this.#timer = setTimeout(() => void this.#run(question), this.#restMs);
  }

  /** Forget everything that was asked. */
  cancel(): void {
    this.#drop();
    this.#listener.busy(false);
  }

  #drop(): void {
    clearTimeout(this.#timer);
    this.#running?.abort();
    this.#running = undefined;
  }

  async #run(question: Question): Promise<void> {
    const mine = (this.#running = new AbortController());
    try {
      const answer = await this.#work(question, mine.signal);
      if (this.#running === mine) this.#listener.answered(answer);
    } catch (error) {
      if (this.#running === mine) this.#listener.failed(error);
    }
    if (this.#running === mine) {
      this.#running = undefined;
      this.#listener.busy(false);
    }
  }
}
