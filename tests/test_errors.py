"""Errors say what would be right, and survive the way from one process to another."""

from __future__ import annotations

import pickle

import pytest

from crowdveil import errors
from crowdveil.errors import CrowdveilError, InputError, MissingExtraError, ServerRefused


def test_an_error_of_another_process_is_the_same_here() -> None:
    there = InputError("delta", float("inf"), "should be below 1")
    here = pickle.loads(pickle.dumps(there))
    assert str(here) == "delta = inf: should be below 1"
    assert vars(here) == vars(there)


@pytest.mark.parametrize("kind", [one for one in vars(errors).values() if isinstance(one, type)])
def test_every_kind_travels(kind: type[CrowdveilError]) -> None:
    several = {
        InputError: ("a", 1, "should be 2"),
        MissingExtraError: ("reading", "batch"),
        ServerRefused: ("no-seat", "full"),
    }
    there = kind(*several.get(kind, ("why",)))
    here = pickle.loads(pickle.dumps(there))
    assert type(here) is kind
    assert str(here) == str(there)
