"""Define what a selection is asked for: places, how many people, and how often one person may be chosen.

A campaign that is asked once has one request, which follows from its plan. A panel is asked as often as its operator
likes, each time for other places and numbers: no device takes part in that, and its answer tells nobody more.

**Fairness.** Within a group of people who are alike, those who were chosen less often before come first. `at_most`
says how often one person may be chosen, since the reports were drawn or within the last so many seconds; whoever was
chosen as often is left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdveil.errors import InputError
from crowdveil.vocabulary import Cover


@dataclass(frozen=True)
class SelectionRequest:
    """What a selection is asked for."""

    targets: tuple[int, ...]
    wanted: int = 0
    """α: how many people are to be selected, at any target; with `numbers` it becomes their sum."""
    numbers: tuple[int, ...] | None = None
    """How many people are to be selected for each target, in the order of the targets; None: `wanted` at any target."""
    target_names: tuple[str, ...] | None = None
    """What the targets are called, in their order; None: they have no names."""
    at_most: int | None = None
    """How often one person may be chosen, this time included; None: as often as it comes."""
    within_s: int | None = None
    """Only earlier selections of so many seconds count for `at_most`; None: all of the same reports."""
    other_cells: bool = False
    """Whether targets may be cells that are not among a panel's places, whose visitors are known less well."""

    def __post_init__(self) -> None:
        if self.numbers is not None:
            object.__setattr__(self, "numbers", self._check_numbers(tuple(self.numbers)))
            total = sum(self.numbers)
            if self.wanted not in (0, total):
                expected = (
                    f"should be left out where `numbers` says how many are wanted at each target ({total} in all)"
                )
                raise InputError("wanted", self.wanted, expected)
            object.__setattr__(self, "wanted", total)
        check_count("wanted", self.wanted)
        check_names(self.target_names, len(self.targets))
        for name in ("at_most", "within_s"):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name))
        if self.within_s is not None and self.at_most is None:
            raise InputError("within_s", self.within_s, "applies only with `at_most`")

    def _check_numbers(self, numbers: tuple[int, ...]) -> tuple[int, ...]:
        if len(numbers) != len(self.targets):
            expected = f"should have one number for each of the {len(self.targets)} targets that are named"
            raise InputError("numbers", f"{len(numbers)} numbers", expected)
        for place, number in enumerate(numbers):
            check_count(f"numbers[{place}]", number)
        return tuple(int(number) for number in numbers)

    @property
    def cover(self) -> Cover:
        """What is to be covered: any target, each with the same number of people, or each with its own number."""
        if self.numbers is None:
            return "any"
        return "each" if len(set(self.numbers)) == 1 else "numbers"

    @property
    def wanted_at(self) -> tuple[int, ...]:
        """How many are wanted: one number for each target that has a number of its own, otherwise one."""
        return self.numbers or (self.wanted,)

    def place_name(self, target: int) -> str:
        """Name a target, by its position in `targets`: `2 (Grand Central)`; counts from 1, as people do."""
        return name_place(self.target_names, target)


def name_place(names: tuple[str, ...] | None, target: int) -> str:
    """Name a target by its position, and by its name if it has one."""
    return str(target + 1) if names is None else f"{target + 1} ({names[target]})"


def check_count(name: str, count: int) -> None:
    """Refuse what is not a whole number of at least 1."""
    if not isinstance(count, int | np.integer) or isinstance(count, bool) or count < 1:
        raise InputError(name, count, "should be a whole number, at least 1")


def check_names(names: tuple[str, ...] | None, targets: int) -> None:
    """Refuse names that are empty, or not one for each target."""
    if names is None:
        return
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise InputError("target_names", name, "should be the name of a target")
    if len(names) != targets:
        expected = f"should have one name for each of {targets} targets"
        raise InputError("target_names", f"{len(names)} names", expected)
