// What a plan is worth while it is being made: first the point that was chosen, then the curves around it.

import type { CampaignPlan, Preview } from "../../core/wire/operator";
import { FOLLOW_MS, LatestRequest, REST_MS } from "../../shared/latest_request";
import type { OperatorApi } from "../api";
import { session } from "../session.svelte";

export interface Previewed {
  readonly plan: CampaignPlan;
  readonly preview: Preview;
}

export class Previews {
  /** The newest answer; the one before while another is on its way. */
  point: Previewed | undefined = $state.raw();
  /** The newest answer with curves, which may be of an older plan. */
  curves: Previewed | undefined = $state.raw();
  busy = $state(false);
  drawing = $state(false);
  error: unknown = $state();
  /** Why there are no curves around a point that was answered. */
  curvesError: unknown = $state();
  readonly #points: LatestRequest<CampaignPlan, Previewed>;
  readonly #curves: LatestRequest<CampaignPlan, Previewed>;

  constructor(api: OperatorApi) {
    const asking = (curves: "yes" | "no") => async (plan: CampaignPlan, signal: AbortSignal) => ({
      plan,
      preview: await api.preview(plan, curves, signal),
    });
    this.#points = new LatestRequest(
      asking("no"),
      {
        answered: (found) => {
          this.point = found;
          this.error = this.curvesError = undefined;
          this.#curves.ask(found.plan);
        },
        failed: (error) => {
          session.noticed(error);
          this.error = error;
        },
        busy: (yes) => (this.busy = yes),
      },
      FOLLOW_MS,
    );
    this.#curves = new LatestRequest(
      asking("yes"),
      {
        answered: (found) => (this.curves = found),
        failed: (error) => {
          session.noticed(error);
          this.curvesError = error;
        },
        busy: (yes) => (this.drawing = yes),
      },
      REST_MS,
    );
  }

  ask(plan: CampaignPlan): void {
    this.#curves.cancel();
    this.#points.ask(plan);
  }

  cancel(): void {
    this.error = this.curvesError = undefined;
    this.#curves.cancel();
    this.#points.cancel();
  }
}
