"""Seeds on several cores, and interruptions."""

from __future__ import annotations

from dataclasses import replace
from math import log

import pytest

from crowdveil.errors import InputError
from crowdveil.simulate.comparison import ComparisonSettings, compare_methods
from crowdveil.simulate.records import write_records
from tests.simulate.small import small_dataset

DATASET = small_dataset()
SETTINGS = ComparisonSettings((int(DATASET.densest[0]),), log(4), seeds=4, methods=("none", "laplace", "random"))


def test_several_processes_give_the_same_comparison_and_report_every_simulation() -> None:
    counted: list[tuple[int, int]] = []
    alone = compare_methods(DATASET, SETTINGS)
    shared = compare_methods(DATASET, SETTINGS, lambda done, total: counted.append((done, total)), workers=2)
    assert shared.coverage == alone.coverage
    assert write_records(shared.records) == write_records(alone.records)
    assert counted[-1] == (12, 12)
    assert [done for done, _ in counted] == sorted({done for done, _ in counted})


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interruption_keeps_the_seeds_that_are_done(workers: int) -> None:
    def interrupt(done: int, _: int) -> None:
        if done >= 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare_methods(DATASET, SETTINGS, interrupt, workers=workers)
    found = compare_methods(DATASET, SETTINGS, interrupt, workers=workers, partial=True)
    assert found.settings.seeds in (2, 3)
    assert found.records[0].seeds == found.settings.seeds
    whole = compare_methods(DATASET, SETTINGS)
    for method in SETTINGS.methods:
        assert set(found.coverage[method]) <= set(whole.coverage[method])


def test_an_interruption_before_the_first_seed_is_done_is_raised() -> None:
    def interrupt(_: int, __: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare_methods(DATASET, SETTINGS, interrupt, partial=True)


def test_no_process_at_all_is_refused() -> None:
    with pytest.raises(InputError, match="workers = 0"):
        compare_methods(DATASET, replace(SETTINGS, seeds=1), workers=0)
