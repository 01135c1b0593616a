"""Visits: who was where, when. Every reader yields them, and every profile starts from them.

Visits never leave the device side: `server` and `store` may not import this room.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from crowdveil.arrays import BoolArray, FloatArray, IntArray, as_cells, as_floats, frozen
from crowdveil.dataframes import Backend
from crowdveil.errors import InputError


@dataclass(frozen=True, eq=False, repr=False)
class Visits:
    """Who was where, when: one row per position, check-in or call, sorted by user and time.

    Made by `read_traces` from files, by `Visits.from_frame` from data frames, and by `synthetic_visits`.

    >>> import numpy as np
    >>> Visits(("ann",), np.array([0]), np.array([1709539200]), np.array([3600]), np.array([48.1]), np.array([11.5]))
    Visits(1 of 1 users)
    """

    users: tuple[str, ...]
    """Names of the users, in the order of their numbers."""
    user: IntArray
    """Number of the user of each visit."""
    utc_s: IntArray
    """Seconds since 1970 in UTC."""
    offset_s: IntArray
    """Local time minus UTC, in seconds."""
    latitude: FloatArray
    longitude: FloatArray
    dropped: Mapping[str, int] = field(default_factory=dict)
    """How many rows were left out, by reason."""
    file: IntArray | None = None
    """Number of the file that each visit was read from, where there were several."""

    if TYPE_CHECKING:  # attached by `frames`, which needs the readers' checks, which need this class

        @staticmethod
        def from_frame(
            frame: Any,
            *,
            user: str = "user",
            time: str = "time",
            latitude: str = "latitude",
            longitude: str = "longitude",
            offset_minutes: str | None = None,
            zone: str | None = None,
            clock: Literal["utc", "local"] | None = None,
            time_unit: Literal["s", "ms", "us", "ns"] | None = None,
        ) -> Visits:
            """Read visits from a data frame; see `frames.visits_from_frame`."""

        def to_frame(self, backend: Backend | None = None) -> Any:
            """Give visits as a data frame; see `frames.visits_to_frame`."""

    def __post_init__(self) -> None:
        columns: dict[str, IntArray | FloatArray] = {
            "user": as_cells("user", self.user, len(self.users)),
            "utc_s": np.asarray(self.utc_s, dtype=np.int64),
            "offset_s": np.asarray(self.offset_s, dtype=np.int64),
            "latitude": as_floats("latitude", self.latitude),
            "longitude": as_floats("longitude", self.longitude),
        }
        if self.file is not None:
            columns["file"] = np.asarray(self.file, dtype=np.int64)
        for name, column in columns.items():
            if column.shape != columns["user"].shape or column.ndim != 1:
                raise InputError(name, column.shape, f"should have one entry for each of {len(columns['user'])} visits")
        for name, limit in (("latitude", 90), ("longitude", 180)):
            if columns[name].size and not -limit <= columns[name].min() <= columns[name].max() <= limit:
                bad = ~(np.abs(columns[name]) <= limit)
                raise InputError(name, float(columns[name][bad][0]), f"should lie between -{limit} and {limit} degrees")
        order = _order(columns["user"].astype(np.int64, copy=False), columns["utc_s"].astype(np.int64, copy=False))
        for name, column in columns.items():
            object.__setattr__(self, name, frozen(column if order is None else column[order]))
        object.__setattr__(self, "dropped", MappingProxyType({k: int(v) for k, v in self.dropped.items() if v}))

    def __len__(self) -> int:
        return len(self.user)

    def __repr__(self) -> str:
        lost = f", {sum(self.dropped.values()):,} rows dropped" if self.dropped else ""
        return f"Visits({len(self):,} of {len(self.users):,} users{lost})"

    @property
    def local_s(self) -> IntArray:
        """Seconds since 1970 on the user's own clock."""
        local: IntArray = self.utc_s + self.offset_s
        return local

    def where(self, keep: ArrayLike) -> Visits:
        """Keep only some visits, by a mask; all users stay, also those without any visit left."""
        mask: BoolArray = np.asarray(keep, dtype=bool)
        if mask.shape != self.user.shape:
            raise InputError("keep", mask.shape, f"should have one entry for each of {len(self)} visits")
        return Visits(
            self.users,
            self.user[mask],
            self.utc_s[mask],
            self.offset_s[mask],
            self.latitude[mask],
            self.longitude[mask],
            self.dropped,
            None if self.file is None else self.file[mask],
        )

    def of_users(self, keep: ArrayLike) -> Visits:
        """Keep only some users, by a mask over `users`, with all their visits; the users are numbered anew."""
        mask: BoolArray = np.asarray(keep, dtype=bool)
        if mask.shape != (len(self.users),):
            raise InputError("keep", mask.shape, f"should have one entry for each of {len(self.users)} users")
        there = mask[self.user]
        number = np.cumsum(mask) - 1
        return Visits(
            tuple(name for name, kept in zip(self.users, mask.tolist(), strict=True) if kept),
            number[self.user[there]],
            self.utc_s[there],
            self.offset_s[there],
            self.latitude[there],
            self.longitude[there],
            self.dropped,
            None if self.file is None else self.file[there],
        )


def _order(user: IntArray, utc_s: IntArray) -> IntArray | None:
    """Return the order by user and time, equal ones as they came; None if the rows are in order already."""
    same = user[1:] == user[:-1]
    if ((user[1:] > user[:-1]) | (same & (utc_s[1:] >= utc_s[:-1]))).all():
        return None
    return np.lexsort((utc_s, user))
