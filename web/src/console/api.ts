// Requests of a signed-in operator, and what can become of them.

import { ServerUnreachable } from "../core/errors";
import type { AreaRequest, AreaShape } from "../core/wire/area";
import { PROTOCOL } from "../core/wire/message";
import type {
  CampaignPlan,
  CampaignSummary,
  CampaignView,
  Expectation,
  Invites,
  PanelRequest,
  Preview,
  RoundEstimate,
  SelectionList,
  SelectionView,
  SignedIn,
} from "../core/wire/operator";
import type { ProblemDocument } from "../core/wire/problem";

/** The server refused, and said why. */
export class RequestRefused extends Error {
  override name = "RequestRefused";

  constructor(readonly problem: ProblemDocument) {
    super(problem.detail);
  }

  get kind(): string {
    return this.problem.type.replace(/^\/problems\//, "");
  }
}

/** Whether a request was abandoned on purpose. */
export function abandoned(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

const TIMEOUT_MS = 70_000;

export class OperatorApi {
  constructor(readonly token: string) {}

  me(signal?: AbortSignal): Promise<SignedIn> {
    return this.#json("GET", "/me", undefined, signal);
  }

  async campaigns(signal?: AbortSignal): Promise<readonly CampaignSummary[]> {
    const list = await this.#json<{ campaigns: readonly CampaignSummary[] }>("GET", "/campaigns", undefined, signal);
    return list.campaigns;
  }

  campaign(id: string, signal?: AbortSignal): Promise<CampaignView> {
    return this.#json("GET", `/campaigns/${id}`, undefined, signal);
  }

  async estimates(id: string, signal?: AbortSignal): Promise<readonly RoundEstimate[]> {
    const found = await this.#json<{ rounds: readonly RoundEstimate[] }>(
      "GET",
      `/campaigns/${id}/estimates`,
      undefined,
      signal,
    );
    return found.rounds;
  }

  create(id: string, plan: CampaignPlan): Promise<CampaignView> {
    return this.#json("PUT", `/campaigns/${id}`, plan);
  }

  setState(id: string, state: "open" | "paused" | "closed"): Promise<CampaignView> {
    return this.#json("PUT", `/campaigns/${id}/state`, { protocol: PROTOCOL, state });
  }

  invite(id: string, count: number): Promise<Invites> {
    return this.#json("POST", `/campaigns/${id}/invites`, { protocol: PROTOCOL, count });
  }

  area(asked: AreaRequest, signal?: AbortSignal): Promise<AreaShape> {
    return this.#json("POST", "/area", asked, signal);
  }

  /** With curves it takes many times as long. */
  preview(plan: CampaignPlan, curves: "yes" | "no", signal?: AbortSignal): Promise<Preview> {
    return this.#json("POST", `/preview?curves=${curves}`, plan, signal);
  }

  /** How many people to expect if a panel were asked; nobody is selected. */
  expect(id: string, request: PanelRequest, signal?: AbortSignal): Promise<Expectation> {
    return this.#json("POST", `/campaigns/${id}/expectation`, request, signal);
  }

  /** Ask a panel for people; the same request under the same number, from 0, is the selection that was made. */
  select(id: string, number: number, request: PanelRequest): Promise<SelectionView> {
    return this.#json("PUT", `/campaigns/${id}/selections/${number}`, request);
  }

  async selections(id: string): Promise<readonly SelectionView[]> {
    return (await this.#json<SelectionList>("GET", `/campaigns/${id}/selections`)).selections;
  }

  async selection(id: string, number = 0): Promise<string> {
    return (await this.#ask("GET", `/campaigns/${id}/selections/${number}`)).text();
  }

  async record(id: string): Promise<Blob> {
    return (await this.#ask("GET", `/campaigns/${id}/record`)).blob();
  }

  async #json<Answer>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Answer> {
    const answer = await this.#ask(method, path, body, signal);
    try {
      return (await answer.json()) as Answer;
    } catch (error) {
      if (abandoned(error)) throw error;
      throw new ServerUnreachable("the answer was cut short");
    }
  }

  async #ask(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
    const headers: Record<string, string> = { authorization: `Bearer ${this.token}` };
    if (body !== undefined) headers["content-type"] = "application/json";
    const late = AbortSignal.timeout(TIMEOUT_MS);
    let answer: Response;
    try {
      answer = await fetch(`/v1/operator${path}`, {
        method,
        headers,
        cache: "no-store",
        credentials: "omit",
        signal: signal ? AbortSignal.any([signal, late]) : late,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    } catch (error) {
      if (abandoned(error)) throw error;
      throw new ServerUnreachable("the server did not answer");
    }
    if (!answer.ok) throw await refusal(answer);
    return answer;
  }
}

async function refusal(answer: Response): Promise<RequestRefused | ServerUnreachable> {
  if (answer.headers.get("content-type")?.startsWith("application/problem+json")) {
    return new RequestRefused((await answer.json()) as ProblemDocument);
  }
  return new ServerUnreachable(`something between here and the server answered ${answer.status}`);
}
