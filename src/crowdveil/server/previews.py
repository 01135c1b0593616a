"""What a campaign would be worth, computed in a process of its own so that no device waits for it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace

from threadpoolctl import threadpool_limits

from crowdveil.campaign import Plan, State, expected_coverage, sketch
from crowdveil.certify import certify
from crowdveil.errors import CrowdveilError, InputError
from crowdveil.planning import plan_of
from crowdveil.server.child import Child, lines_from_parent, tell
from crowdveil.server.refusals import refuse, refuse_input
from crowdveil.wire import PROTOCOL, NewCampaign, Preview, PreviewPoint

FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Multiples of ε and of α at which the curves are drawn."""
PATIENCE_S = 60.0


class Previews:
    """Asks the other process, one question at a time."""

    def __init__(self) -> None:
        self._child: Child | None = None
        self._turn = asyncio.Lock()
        self._answer: asyncio.Future[bytes] | None = None

    async def of(self, new: NewCampaign, gone: Callable[[], Awaitable[bool]]) -> Preview:
        """The preview of a plan that was checked; none for somebody who has gone while others were served."""
        async with self._turn:
            if await gone():
                raise refuse("unavailable", "nobody waits for this preview any more")
            if self._child is None:  # most servers are never asked
                self._child = Child("crowdveil.server.previews", {}, self._heard)
                self._child.start()
            self._answer = asyncio.get_running_loop().create_future()
            try:
                async with asyncio.timeout(PATIENCE_S):
                    while not self._child.write(new.to_bytes()):
                        await asyncio.sleep(0.05)
                    found = json.loads(await self._answer)
            except TimeoutError:
                await self.stop()
                raise refuse(
                    "unavailable", f"the preview took longer than {PATIENCE_S:g} s; use larger cells"
                ) from None
        if "error" in found:
            raise refuse_input(InputError(**found["error"]))
        return Preview.from_bytes(json.dumps(found["preview"]).encode())

    async def stop(self) -> None:
        """End the process, if it was ever started."""
        if self._child is not None:
            child, self._child = self._child, None
            await child.stop()

    def _heard(self, line: bytes) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(line)


def preview(new: NewCampaign) -> Preview:
    """Solve the first round, certify it, and draw the curves against ε and α around the point that was chosen."""
    plan = plan_of(new, new.seed or 0)
    state = sketch(plan)
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
        by_epsilon=_curve(state, lambda one, factor: replace(one, epsilon_per_km=one.epsilon_per_km * factor)),
        by_wanted=_curve(state, _with_wanted),
    )


def _with_wanted(plan: Plan, factor: float) -> Plan:
    return replace(plan, wanted=min(plan.users, max(1, round(plan.wanted * factor))))


def _curve(chosen: State, change: Callable[[Plan, float], Plan]) -> tuple[PreviewPoint, ...]:
    points = {}
    for factor in FACTORS:
        try:
            one = change(chosen.plan, factor)
            worth = expected_coverage(chosen if factor == 1 else sketch(one))
        except InputError:  # an ε beyond what can be certified
            continue
        points[one.epsilon_per_km, one.wanted] = PreviewPoint(
            epsilon_per_km=one.epsilon_per_km, wanted=one.wanted, expected_coverage=_share(worth)
        )
    return tuple(points.values())


def _share(value: float) -> float:
    """Sums of shares may end a rounding above 1."""
    return min(1.0, max(0.0, value))


def main() -> None:
    """Answer until the server ends."""
    with threadpool_limits(1, user_api="blas"):
        for line in lines_from_parent():
            try:
                answer: dict[str, object] = {"preview": json.loads(preview(NewCampaign.from_bytes(line)).to_bytes())}
            except InputError as error:
                answer = {"error": {"field": error.field, "value": error.shown, "expected": error.expected}}
            except CrowdveilError as error:
                answer = {"error": {"field": "plan", "value": "", "expected": str(error)}}
            except Exception as error:  # who asked would wait for a process that has ended
                answer = {"error": {"field": "plan", "value": "", "expected": f"cannot be computed ({error!r})"}}
            tell(json.dumps(answer).encode())


if __name__ == "__main__":
    main()
