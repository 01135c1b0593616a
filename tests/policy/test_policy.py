"""The policy as a value: what it refuses, and how it travels."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import crowdveil as cv
from crowdveil.policy.files import MAGIC

AREA = cv.Area.from_points_km([[0, 0], [1, 0], [2, 0], [0, 1]])


def make(**changes: object) -> cv.Policy:
    options: dict[str, object] = {"epsilon_per_km": 1.0, "beta": 0.1}
    options.update(changes)
    area = options.pop("area", AREA)
    prior = options.pop("prior", [0.25, 0.25, 0.5, 0.0])
    targets = options.pop("targets", [0, 3])
    return cv.optimal_policy(area, prior, targets, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"prior": [0.5, 0.5, 0.5, 0.0]}, r"sum of prior = 1\.5: should be 1"),
        ({"prior": [0.5, 0.6, -0.1, 0.0]}, r"prior\[2\] = -0\.1: should not be negative"),
        ({"prior": [0.5, float("nan"), 0.5, 0.0]}, r"prior\[1\] = nan: should be finite"),
        ({"prior": [0.5, 0.5]}, r"prior = '2 numbers': should have one number for each of 4 cells"),
        ({"prior": ["a", 1, 2, 3]}, r"prior = .*should be an array of numbers"),
        ({"targets": []}, r"targets = \[\]: name at least one"),
        ({"targets": [4]}, r"targets = 4: cells of this area are 0 to 3"),
        ({"targets": [-1]}, r"targets = -1"),
        ({"targets": [1.5]}, r"targets = \[1\.5\]: cells are whole numbers"),
        ({"targets": [1, 1]}, r"targets = 1: is named twice"),
        ({"targets": [0, 1, 2, 3]}, r"targets = 'all 4 cells'"),
        ({"epsilon_per_km": 0.0}, r"epsilon_per_km = 0\.0: should be a finite number above 0"),
        ({"epsilon_per_km": -1.0}, r"epsilon_per_km = -1\.0"),
        ({"epsilon_per_km": float("inf")}, r"epsilon_per_km = inf"),
        ({"epsilon_per_km": float("nan")}, r"epsilon_per_km = nan"),
        ({"epsilon_per_km": "high"}, r"epsilon_per_km = 'high'"),
        ({"beta": 0.0}, r"beta = 0\.0: should lie strictly between 0 and 1"),
        ({"beta": 1.0}, r"beta = 1\.0"),
        ({"beta": float("nan")}, r"beta = nan"),
        ({"beta": 1e-15}, r"beta = 1e-15: is out of reach of 53-bit weights"),
        ({"beta": 1 - 1e-15}, r"beta = .* is out of reach of 53-bit weights"),
        ({"completion": "full"}, r"completion = 'full': should be one of equal, informative"),
        ({"bits": 63}, r"bits = 63: should be a whole number from 24 to 62"),
        ({"area": AREA.subset([0]), "prior": [1.0], "targets": [0]}, r"area = '1 cell': .*at least two"),
    ],
)
def test_bad_input_is_refused_with_field_value_and_what_would_be_right(
    changes: dict[str, object], message: str
) -> None:
    with pytest.raises(cv.InputError, match=message):
        make(**changes)


def test_zero_prior_elsewhere_and_targets_next_to_each_other_work() -> None:
    policy = make(prior=[0.5, 0.0, 0.0, 0.5], targets=[0, 1])
    assert cv.certify(policy).ok


def test_no_prior_is_the_uniform_prior_wherever_it_is_left_out() -> None:
    uniform = [0.25] * 4
    assert make(prior=None).hash == make(prior=uniform).hash
    for baseline in (cv.planar_laplace, cv.exponential, cv.identity):
        assert baseline(AREA, None, [1], 1.0).hash == baseline(AREA, uniform, [1], 1.0).hash
    one = [cv.lemma2_bound(AREA, prior, 1, epsilon_per_km=1.0) for prior in (None, uniform)]
    many = [cv.lemma5_bound(AREA, prior, [1], epsilon_per_km=1.0) for prior in (None, uniform)]
    assert one[0] == one[1]
    assert many[0] == many[1]


def test_the_stated_gap_is_that_of_the_published_whole_numbers() -> None:
    policy = make()
    bound = float(policy.provenance["upper_bound"])
    assert float(policy.provenance["gap"]) == pytest.approx((bound - policy.value) / bound)
    assert 0 < float(policy.provenance["gap_before_rounding"]) <= float(policy.provenance["gap"]) < 1e-7


def test_an_epsilon_beyond_all_sense_still_gives_a_policy() -> None:
    for epsilon in (1e3, 1e6, 1e300):
        assert cv.certify(make(epsilon_per_km=epsilon, beta=0.6)).ok


def test_reprs_are_one_short_line() -> None:
    policy = make(completion="informative")
    assert repr(policy).startswith("Policy(4 cells, 2 targets, ")
    assert policy.hash[:12] in repr(policy)
    assert repr(policy.completion).startswith("Completion(")
    assert repr(AREA) == "Points(4 cells)"
    grid = cv.Grid.from_bounds(40.7, -74.0, 40.72, -73.98)
    assert repr(grid.subset([1])) == "Grid(1 cells of 3 x 2 squares of 1,000 m around 40.7100, -73.9900)"


def test_a_policy_is_frozen() -> None:
    policy = make()
    with pytest.raises(ValueError, match="read-only"):
        policy.weights[0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        policy.hit[0] = 1.0
    with pytest.raises(AttributeError):
        policy.epsilon_per_km = 2.0  # type: ignore[misc]


@pytest.mark.parametrize("completion", ["equal", "informative"])
def test_both_forms_bring_back_the_same_policy_and_hash(completion: str) -> None:
    policy = make(completion=completion)
    for copy in (cv.Policy.from_json(policy.to_json()), cv.Policy.from_bytes(policy.to_bytes())):
        assert copy == policy
        assert copy.hash == policy.hash
        assert copy.weights.tolist() == policy.weights.tolist()
        assert dict(copy.provenance) == dict(policy.provenance)
        assert (copy.value, copy.beta, copy.epsilon_per_km) == (policy.value, policy.beta, policy.epsilon_per_km)


@pytest.mark.parametrize("make_baseline", [cv.planar_laplace, cv.exponential, cv.identity])
def test_tables_travel_too(make_baseline: object) -> None:
    policy = make_baseline(AREA, [0.25] * 4, [1], 1.0)  # type: ignore[operator]
    assert cv.Policy.from_json(policy.to_json()) == policy
    assert cv.Policy.from_bytes(policy.to_bytes()) == policy


def test_the_hash_can_be_recomputed_from_the_documented_bytes() -> None:
    """Byte by byte, without any of our own code, as another language would."""
    import hashlib
    import struct

    policy = make()
    document = json.loads(policy.to_json())
    keys = ("area", "bits", "format", "provenance", "selecting", "symbols", "targets", "version")
    header = {key: document[key] for key in keys}
    for key in ("beta", "epsilon_per_km", "value"):
        header[key] = struct.pack(">d", document[key]).hex()
    text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    weights = b"".join(weight.to_bytes(7, "big") for weight in document["weights"])
    assert hashlib.sha256(struct.pack(">Q", len(text)) + text + weights).hexdigest() == document["hash"]


def test_the_same_inputs_give_the_same_hash_in_another_process() -> None:
    code = (
        "import crowdveil as cv;"
        "a = cv.Area.from_points_km([[0, 0], [1, 0], [2, 0], [0, 1]]);"
        "print(cv.optimal_policy(a, [0.25, 0.25, 0.5, 0.0], [0, 3], epsilon_per_km=1.0, beta=0.1).hash)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == make().hash


@settings(deadline=None, derandomize=True, max_examples=300)
@given(st.integers(0, 10_000), st.integers(1, 255))
def test_any_changed_byte_of_the_compact_form_is_noticed(position: int, change: int) -> None:
    data = bytearray(make_once().to_bytes())
    data[position % len(data)] ^= change
    with pytest.raises(cv.CrowdveilError):
        cv.Policy.from_bytes(bytes(data))


@settings(deadline=None, derandomize=True, max_examples=200)
@given(st.integers(0, 10_000))
def test_any_truncation_is_noticed(length: int) -> None:
    data, text = make_once().to_bytes(), make_once().to_json()
    with pytest.raises(cv.CrowdveilError):
        cv.Policy.from_bytes(data[: length % len(data)])
    with pytest.raises(cv.CrowdveilError):
        cv.Policy.from_json(text[: length % len(text)])


_ONCE: list[cv.Policy] = []


def make_once() -> cv.Policy:
    if not _ONCE:
        _ONCE.append(make())
    return _ONCE[0]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("epsilon_per_km", 2.0),
        ("epsilon_per_km", "1"),
        ("epsilon_per_km", None),
        ("targets", [1]),
        ("targets", "0"),
        ("weights", [1, 2, 3, 4]),
        ("weights", [2**53 + 1, 0, 0, 0]),
        ("weights", [-1, 0, 0, 0]),
        ("weights", [0.5, 0, 0, 0]),
        ("weights", 7),
        ("weights", []),
        ("weights", [[1], [2, 3], 4, 5]),
        ("weights", [10**30, 0, 0, 0]),
        ("bits", 52),
        ("bits", True),
        ("value", 0.5),
        ("value", 7.0),
        ("provenance", {"method": "honest"}),
        ("provenance", []),
        ("symbols", ["hit"]),
        ("symbols", 3),
        ("selecting", [0, 1]),
        ("selecting", [5]),
        ("area", {"kind": "points", "centres_m": [[0, 0], [1000, 0], [2000, 0], [0, 2000]]}),
        ("area", {"kind": "moon"}),
        ("area", []),
        ("format", "other"),
        ("version", 99),
        ("hash", "0" * 64),
        ("surprise", 1),
    ],
)
def test_a_tampered_field_is_refused(field: str, value: object) -> None:
    document = json.loads(make_once().to_json())
    document[field] = value
    with pytest.raises(cv.CrowdveilError):
        cv.Policy.from_json(json.dumps(document))


@pytest.mark.parametrize("field", ["area", "weights", "bits", "epsilon_per_km", "provenance", "hash"])
def test_a_missing_field_is_refused(field: str) -> None:
    document = json.loads(make_once().to_json())
    del document[field]
    with pytest.raises(cv.FileFormatError, match=f"{field}|None"):
        cv.Policy.from_json(json.dumps(document))


def test_nan_hidden_in_json_is_refused() -> None:
    text = make_once().to_json().replace('"value": ', '"value": NaN, "was": ')
    with pytest.raises(cv.FileFormatError, match="NaN is not a number that JSON knows"):
        cv.Policy.from_json(text)


def test_a_bomb_in_the_compact_form_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    import zlib

    import crowdveil.policy.files as module

    monkeypatch.setattr(module, "MAX_UNPACKED_BYTES", 1 << 16)
    bomb = MAGIC + bytes(32) + zlib.compress(bytes(1 << 24), 9)
    with pytest.raises(cv.FileFormatError, match="damaged, cut short"):
        cv.Policy.from_bytes(bomb)


def test_ten_thousand_cells_travel_in_kilobytes() -> None:
    area = cv.Grid.from_bounds(40.3, -74.6, 41.19, -73.42, cell_km=1.0)
    assert len(area) >= 9900
    policy = cv.optimal_policy(area, None, [5050], epsilon_per_km=np.log(4), beta=0.01)
    assert len(policy.to_bytes()) < 80_000
    assert cv.Policy.from_bytes(policy.to_bytes()) == policy
