// Who is signed in. The token lives in this tab's session storage and nowhere else: closing the tab signs out.

import { OperatorApi, RequestRefused } from "./api";

const KEY = "crowdveil-token";
const TOKEN = /^[!-~]{1,200}$/;

class Session {
  #token = $state(sessionStorage.getItem(KEY));
  /** Why the operator was signed out, if not on their own wish. */
  ended = $state(false);
  readonly api = $derived(this.#token === null ? undefined : new OperatorApi(this.#token));

  /** Try a token; throws what the server said, or keeps the token. */
  async signIn(text: string): Promise<void> {
    const token = text.trim();
    if (!TOKEN.test(token)) throw new RequestRefused(WRONG);
    await new OperatorApi(token).campaigns();
    sessionStorage.setItem(KEY, token);
    this.#token = token;
    this.ended = false;
  }

  signOut(): void {
    sessionStorage.clear();
    this.#token = null;
    this.ended = false;
  }

  /** Signs out when the server does not know the token any more; other errors are for whoever asked. */
  noticed(error: unknown): void {
    if (!(error instanceof RequestRefused) || error.problem.status !== 401) return;
    sessionStorage.removeItem(KEY); // and nothing else: a plan that was being made is still wanted
    this.#token = null;
    this.ended = true;
  }
}

const WRONG = {
  type: "/problems/unauthorized",
  title: "A valid token is needed",
  status: 401,
  detail: "a token has no spaces and no special letters",
};

export const session = new Session();
