"""What a campaign would be worth, computed beside the server so that no device waits for it.

Whoever moves a slider waits for the point that was chosen, so that has a process of its own; the curves around it come
from another one, point by point, until nobody waits for them any more.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import lru_cache

from threadpoolctl import threadpool_limits

from crowdveil.area import Area
from crowdveil.campaign import expected_coverage, preview_state
from crowdveil.campaign.from_wire import plan_from_wire
from crowdveil.certify import certify
from crowdveil.errors import CrowdveilError, InputError
from crowdveil.server.child_process import Child, lines_from_parent, tell
from crowdveil.server.refusals import refuse, refuse_input
from crowdveil.wire import PROTOCOL, CampaignPlan, Preview, PreviewPoint

FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Multiples of ε and of α at which the curves are drawn."""
PATIENCE_S = 60.0
REMEMBERED = 256
"""Answers that a process keeps: sliders come back to where they were."""
GIVES_WAY = "CROWDVEIL_GIVES_WAY"
"""Set for the process whose answers nobody waits for with a hand on a slider."""

Gone = Callable[[], Awaitable[bool]]


class Previews:
    """What the server asks; both processes start when first asked, most servers never are."""

    def __init__(self) -> None:
        self._chosen, self._around = _Solver({}), _Solver({GIVES_WAY: "yes"})

    async def of(self, new: CampaignPlan, gone: Gone, *, curves: bool = True) -> Preview:
        """The preview of a plan that was checked; none for somebody who has gone while others were served."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                chosen = await self._chosen.ask(new, gone)
                if not curves:
                    return chosen
                by_epsilon = [await self._point(one, new, chosen, gone) for one in _other_epsilons(new)]
                by_wanted = [await self._point(one, new, chosen, gone) for one in _other_numbers(new)]
        except TimeoutError:
            await self.stop()
            expected = f"should be fewer, or the cells larger: the preview took longer than {PATIENCE_S:g} s"
            raise refuse_input(InputError("targets", len(new.targets), expected)) from None
        except InputError as error:
            raise refuse_input(error) from None
        return chosen.model_copy(
            update={"by_epsilon": tuple(filter(None, by_epsilon)), "by_wanted": tuple(filter(None, by_wanted))}
        )

    async def stop(self) -> None:
        """End the processes, if they were ever started."""
        await self._chosen.stop()
        await self._around.stop()

    async def _point(self, one: CampaignPlan, new: CampaignPlan, chosen: Preview, gone: Gone) -> PreviewPoint | None:
        try:
            worth = chosen if one == new else await self._around.ask(one, gone)
        except InputError:  # an ε beyond what can be certified
            return None
        return PreviewPoint(
            epsilon_per_km=one.epsilon_per_km, wanted=one.people_wanted, expected_coverage=worth.expected_coverage
        )


class _Solver:
    """A process that answers one question at a time."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._child: Child | None = None
        self._turn = asyncio.Lock()
        self._answer: asyncio.Future[bytes] | None = None

    async def ask(self, new: CampaignPlan, gone: Gone) -> Preview:
        async with self._turn:
            if await gone():
                raise refuse("unavailable", "nobody waits for this preview any more")
            if self._child is None:
                self._child = Child("crowdveil.server.previews", self._environment, self._heard)
                self._child.start()
            self._answer = asyncio.get_running_loop().create_future()
            while not self._child.write(new.to_bytes()):
                await asyncio.sleep(0.05)
            found = json.loads(await self._answer)
        if "error" in found:
            raise InputError(**found["error"])
        return Preview.from_bytes(json.dumps(found["preview"]).encode())

    async def stop(self) -> None:
        if self._child is not None:
            child, self._child = self._child, None
            await child.stop()

    def _heard(self, line: bytes) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(line)


def _other_epsilons(new: CampaignPlan) -> Iterator[CampaignPlan]:
    for factor in FACTORS:
        yield new.model_copy(update={"epsilon_per_km": new.epsilon_per_km * factor})


def _other_numbers(new: CampaignPlan) -> Iterator[CampaignPlan]:
    numbers = {min(new.users, max(1, round(new.people_wanted * factor))): None for factor in FACTORS}
    for number in numbers:
        yield new if number == new.people_wanted else new.model_copy(update={"wanted": number, "share": None})


# --- in the child ---------------------------------------------------------------------------------------------


@lru_cache(maxsize=REMEMBERED)
def preview(line: bytes) -> Preview:
    """Solve the first round of a plan, and certify it; the curves are left empty."""
    new = CampaignPlan.from_bytes(line)
    plan = plan_from_wire(new, new.seed or 0, _area(json.dumps(new.area)))
    state = preview_state(plan)
    policy = state.open_policy
    assert policy is not None, "its first round is open"
    return Preview(
        protocol=PROTOCOL,
        cells=len(plan.area),
        people_wanted=plan.wanted,
        beta=min(1.0, policy.beta),
        expected_coverage=_share(expected_coverage(state)),
        by_chance=_share(float(state.prior[list(plan.targets)].sum() * (1 - state.null_share))),
        hit_probability=tuple(policy.hit.tolist()),
        private_from_epsilon_per_km=certify(policy).smallest_epsilon_per_km,
        by_epsilon=(),
        by_wanted=(),
    )


@lru_cache(maxsize=2)
def _area(description: str) -> Area:
    """An area keeps what was derived from it, such as distances: the next question is about the same one."""
    return Area.from_description(json.loads(description))


def _share(value: float) -> float:
    """Sums of shares may end a rounding above 1."""
    return min(1.0, max(0.0, value))


def main() -> None:
    """Answer until the server ends."""
    if GIVES_WAY in os.environ:
        os.nice(10)
    with threadpool_limits(1, user_api="blas"):
        for line in lines_from_parent():
            try:
                answer: dict[str, object] = {"preview": json.loads(preview(line).to_bytes())}
            except InputError as error:
                answer = {"error": {"field": error.field, "value": error.shown, "expected": error.expected}}
            except CrowdveilError as error:
                answer = {"error": {"field": "plan", "value": "", "expected": str(error)}}
            except Exception as error:  # who asked would wait for a process that has ended
                answer = {"error": {"field": "plan", "value": "", "expected": f"cannot be computed ({error!r})"}}
            tell(json.dumps(answer).encode())


if __name__ == "__main__":
    main()
