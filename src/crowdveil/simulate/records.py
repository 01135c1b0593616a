"""What a study found: records with intervals, as `results.json` holds them.

The interval is Student's: mean ± t(n-1) s / √n over n *independent* values. Which values are independent depends on
the question: seeds, where target and grid are fixed; else the random draws of targets and the positions of the grid,
each first averaged over its seeds, because seeds of one draw share its targets.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from crowdveil.errors import FileFormatError

LEVEL = 0.95
"""Of every interval."""


@dataclass(frozen=True)
class Record:
    """One number of a study, with its interval and, where the paper prints one, the paper's."""

    figure: str
    """The study's figure, such as `two-targets`."""
    dataset: str
    method: str
    """How users report and are selected; see `simulate.simulation`."""
    profile: str
    """One of `PROFILE_METHODS`."""
    rule: str
    """How a user picks the one place to report: random or target-aware."""
    label: str
    """What is told apart within the figure: the target, the measure."""
    measure: str
    """coverage, coverage_lost, divergence_nats, auc, came_share, seconds, found_share; of the figure `balance`
    visitors_share, where_selected_share, median_share, least_share, supplied_share."""
    value: float
    ci_low: float
    ci_high: float
    n: int
    """Independent values behind the interval."""
    seeds: int
    epsilon_per_km: float | None = None
    delta: float | None = None
    targets: int | None = None
    k: int | None = None
    offset: int | None = None
    """Number of the grid's position, where the record is about one of them."""
    selected: float | None = None
    """Share of the wanted users that were selected, on average."""
    paper: float | None = None
    """The paper's printed value."""
    paper_source: str = ""
    """Where the paper prints it."""
    extra: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """A flat object; `coverage` repeats the value where that is what was measured."""
        return {**asdict(self), "coverage": self.value if self.measure == "coverage" else None}

    @classmethod
    def from_json(cls, document: Any) -> Record:
        """Read what `to_json` gave."""
        names = {one.name for one in fields(cls)}
        if not isinstance(document, dict) or not names <= document.keys():
            raise FileFormatError(f"a record should have the fields {', '.join(sorted(names))}")
        return cls(**{name: document[name] for name in names})


def interval(values: Sequence[float], least: float = 0.0, most: float = math.inf) -> tuple[float, float, float]:
    """Mean and its 95 % interval, cut at what is possible; a single value's interval is itself."""
    numbers = np.asarray(values, dtype=np.float64)
    mean = float(numbers.mean())
    if len(numbers) < 2:
        return mean, mean, mean
    deviations = float(scipy.special.stdtrit(len(numbers) - 1, 0.5 + LEVEL / 2))
    half = deviations * float(numbers.std(ddof=1)) / math.sqrt(len(numbers))
    return mean, max(least, mean - half), min(most, mean + half)


def write_records(records: Sequence[Record]) -> str:
    """The text of `results.json`: a list, one record per line; numbers are finite or the writer refuses."""
    lines = (json.dumps(record.to_json(), allow_nan=False, ensure_ascii=False) for record in records)
    return "[\n" + ",\n".join(lines) + "\n]\n"


def read_records(path: Path) -> list[Record]:
    """Read a `results.json`."""
    try:
        documents = json.loads(path.read_text(encoding="utf-8"))
        return [Record.from_json(document) for document in documents]
    except OSError as error:
        raise FileFormatError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (ValueError, TypeError) as error:
        raise FileFormatError(f"{path}: is no list of records: {error}") from None
    except FileFormatError as error:
        raise FileFormatError(f"{path}: {error}") from None
