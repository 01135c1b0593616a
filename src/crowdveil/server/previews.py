"""Compute the expected coverage of a planned campaign in processes of its own, so that no device waits for it.

An operator who moves a slider waits for the chosen point, so some processes compute only that. Others compute the
curves around it, point by point, until the operator no longer waits for them. There are several of both, so that nobody
waits for another operator's large plan; each is started when all before it are busy.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import lru_cache
from time import monotonic

from threadpoolctl import threadpool_limits

from crowdveil.area import Area
from crowdveil.campaign import forecast, preview_state
from crowdveil.campaign.advice import advise
from crowdveil.campaign.from_wire import NO_SEED, expectation_message, plan_from_wire
from crowdveil.campaign.groups import symbols_of
from crowdveil.campaign.preview import equal_numbers
from crowdveil.certify import certify
from crowdveil.errors import CrowdveilError, InputError
from crowdveil.server.child_process import ChildProcess, lines_from_parent, write_to_parent
from crowdveil.server.refusals import refuse, refuse_input
from crowdveil.wire import PROTOCOL, CampaignPlan, Expectation, Preview, PreviewPoint

FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Multiples of ε and of α at which the curves are drawn."""
TIMEOUT_S = 60.0
CURVES_S = 20.0
"""After this time no further point of the curves is begun; those that are missing are left out."""
POINT_SOLVERS, CURVE_SOLVERS = 3, 2
"""How many previews are computed at once; each process needs some 150 MB."""
STOP_S = 0.2
"""How long a process may take to end; it keeps nothing."""
MAX_CACHED = 256
"""Answers that a process caches; sliders often return to an earlier position."""
LOW_PRIORITY = "CROWDVEIL_LOW_PRIORITY"
"""Environment variable of the process that computes the curves and should leave the processor to the other one."""

Disconnected = Callable[[], Awaitable[bool]]
"""Whether the client has disconnected."""


class Previews:
    """Compute previews; the first processes start with the first preview."""

    def __init__(self, timeout_s: float = TIMEOUT_S, curves_s: float = CURVES_S) -> None:
        self._timeout_s, self._curves_s = timeout_s, curves_s
        self._points = _Solvers({}, POINT_SOLVERS)
        self._curves = _Solvers({LOW_PRIORITY: "yes"}, CURVE_SOLVERS)

    async def of(self, new: CampaignPlan, disconnected: Disconnected, *, curves: bool = True) -> Preview:
        """Preview a plan that was checked; refuse if the client disconnects while it waits."""
        try:
            async with asyncio.timeout(self._timeout_s):
                chosen = await self._points.solve(new, disconnected)
                if not curves:
                    return chosen
                begun = monotonic()
                points: list[list[PreviewPoint]] = []
                for others in (_other_epsilons(new), _other_numbers(new)):
                    points.append([])
                    for one in others:
                        if one == new or monotonic() < begun + self._curves_s:
                            points[-1] += await self._point(one, new, chosen, disconnected)
                covers = [await self._cover(one, new, chosen, disconnected) for one in _other_covers(new)]
        except TimeoutError:
            expected = f"should be fewer, or the cells larger; the preview took longer than {self._timeout_s:g} s"
            raise refuse_input(InputError("targets", len(new.targets), expected)) from None
        except InputError as error:
            raise refuse_input(error) from None
        return chosen.model_copy(
            update={
                "by_epsilon": tuple(points[0]),
                "by_wanted": tuple(points[1]),
                "covers": tuple(covers),
            }
        )

    async def stop(self) -> None:
        """Stop the processes, if they were started."""
        await self._points.stop()
        await self._curves.stop()

    async def _point(
        self, one: CampaignPlan, new: CampaignPlan, chosen: Preview, disconnected: Disconnected
    ) -> list[PreviewPoint]:
        try:
            solved = chosen if one == new else await self._curves.solve(one, disconnected)
        except InputError:  # an ε outside the range that can be certified
            return []
        coverage = solved.expected_coverage
        return [PreviewPoint(epsilon_per_km=one.epsilon_per_km, wanted=one.people_wanted, expected_coverage=coverage)]

    async def _cover(
        self, one: CampaignPlan, new: CampaignPlan, chosen: Preview, disconnected: Disconnected
    ) -> Expectation:
        return (chosen if one == new else await self._curves.solve(one, disconnected)).expectation


class _Solvers:
    """Some processes that solve one plan each at a time; the one that was free last is asked first."""

    def __init__(self, environment: Mapping[str, str], number: int) -> None:
        self._all = [_Solver(environment) for _ in range(number)]
        self._free: asyncio.LifoQueue[_Solver] = asyncio.LifoQueue()
        for one in self._all:
            self._free.put_nowait(one)

    async def solve(self, new: CampaignPlan, disconnected: Disconnected) -> Preview:
        solver = await self._free.get()
        try:
            if await disconnected():
                raise refuse("unavailable", "the client has disconnected")
            return await solver.solve(new)
        finally:
            self._free.put_nowait(solver)

    async def stop(self) -> None:
        for one in self._all:
            await one.stop()


class _Solver:
    """A process that solves one plan at a time."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._child: ChildProcess | None = None
        self._answer: asyncio.Future[bytes] | None = None
        self._ending: set[asyncio.Task[None]] = set()

    async def solve(self, new: CampaignPlan) -> Preview:
        if self._child is None:
            self._child = ChildProcess("crowdveil.server.previews", self._environment, self._on_line, stop_s=STOP_S)
            self._child.start()
        self._answer = asyncio.get_running_loop().create_future()
        try:
            while not self._child.write(new.to_bytes()):
                await asyncio.sleep(0.05)
            found = json.loads(await self._answer)
        except asyncio.CancelledError:  # it took too long, and would go on
            self._end()
            raise
        if "error" in found:
            raise InputError(**found["error"])
        return Preview.from_bytes(json.dumps(found["preview"]).encode())

    async def stop(self) -> None:
        self._end()
        await asyncio.gather(*self._ending)

    def _end(self) -> None:
        """Stop the process in a task of its own: whoever is cancelled cannot wait for it."""
        if self._child is not None:
            ending = asyncio.get_running_loop().create_task(self._child.stop())
            self._child = None
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)

    def _on_line(self, line: bytes) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(line)


def _other_epsilons(new: CampaignPlan) -> Iterator[CampaignPlan]:
    for factor in FACTORS:
        yield new.model_copy(update={"epsilon_per_km": new.epsilon_per_km * factor})


def _other_numbers(new: CampaignPlan) -> Iterator[CampaignPlan]:
    if new.numbers is not None:
        for factor in FACTORS:
            scaled = tuple(max(1, round(number * factor)) for number in new.numbers)
            if sum(scaled) <= new.users:
                yield new.model_copy(update={"numbers": scaled})
        return
    numbers = {min(new.users, max(1, round(new.people_wanted * factor))): None for factor in FACTORS}
    for number in numbers:
        yield new if number == new.people_wanted else new.model_copy(update={"wanted": number, "share": None})


def _other_covers(new: CampaignPlan) -> Iterator[CampaignPlan]:
    """Yield the plan for any target, with equal numbers, and with its own, like `other_covers`, but without an area."""
    yield new if new.numbers is None else new.model_copy(update={"wanted": new.people_wanted, "numbers": None})
    equal = equal_numbers(new.people_wanted, len(new.targets), new.users)
    if new.algorithm != "algorithm-2" and equal is not None and equal != new.numbers:
        yield new.model_copy(update={"wanted": None, "share": None, "numbers": equal})
    if new.numbers is not None:
        yield new


# --- in the child ---------------------------------------------------------------------------------------------


@lru_cache(maxsize=MAX_CACHED)
def preview(line: bytes) -> Preview:
    """Solve the first round of a plan, and certify it; the curves are left empty."""
    new = CampaignPlan.from_bytes(line)
    plan = plan_from_wire(new, new.seed or NO_SEED, _area(json.dumps(new.area)))
    state = preview_state(plan)
    policy = state.open_policy
    assert policy is not None, "a sketch has an open first round"
    inputs, worth = policy.input_prior(state.prior, state.null_share), policy.worth(plan.targets, plan.grade_chances)
    selecting = sorted({symbol for target in plan.targets for symbol in symbols_of(policy, target)})
    hit = policy.table()[:, selecting].sum(axis=1)
    found = forecast(state)
    return Preview(
        protocol=PROTOCOL,
        cells=len(plan.area),
        people_wanted=plan.wanted,
        beta=_share(float(inputs @ hit)),
        expected_coverage=found.coverage,
        by_chance=_share(float(inputs @ worth)),
        hit_probability=tuple(_share(one) for one in hit[: len(plan.area)].tolist()),
        private_from_epsilon_per_km=certify(policy).smallest_epsilon_per_km,
        expectation=expectation_message(plan.request, found),
        advice=advise(plan, found),
        covers=(),
        by_epsilon=(),
        by_wanted=(),
    )


@lru_cache(maxsize=2)
def _area(description: str) -> Area:
    """Cache the area, which caches distances itself: the next plan is usually for the same one."""
    return Area.from_description(json.loads(description))


def _share(value: float) -> float:
    """Clip a sum of shares, which may exceed 1 by a rounding error."""
    return min(1.0, max(0.0, value))


def main() -> None:
    """Solve plans until the server ends."""
    if LOW_PRIORITY in os.environ:
        os.nice(10)
    with threadpool_limits(1, user_api="blas"):
        for line in lines_from_parent():
            try:
                answer: dict[str, object] = {"preview": json.loads(preview(line).to_bytes())}
            except InputError as error:
                answer = {"error": {"field": error.field, "value": error.shown, "expected": error.expected}}
            except CrowdveilError as error:
                answer = {"error": {"field": "plan", "value": "", "expected": str(error)}}
            except Exception as error:  # otherwise the server would wait for an answer that never comes
                answer = {"error": {"field": "plan", "value": "", "expected": f"cannot be computed ({error!r})"}}
            write_to_parent(json.dumps(answer).encode())


if __name__ == "__main__":
    main()
