"""Write a folder of GeoLife's layout with synthetic people in it, wrong dates among them: `python -m ... FOLDER`.

The real data may not be passed on, so its sizes are imitated: 182 users, 18,670 files, about 25 million points, most of
them of 2008 and 2009, a thin rest until 2012, and receivers whose clocks were wrong.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from crowdveil.arrays import FloatArray, IntArray

HEADING = "\r\n".join(
    ("Geolife trajectory", "WGS 84", "Altitude is in Feet", "Reserved 3", "0,2,255,My Track,0,0,2,8421376", "0", "")
)
MIDDLE = (39.96, 116.38)
RADIUS_DEGREES = 0.02
"""Places lie within a few km, so that the comparison has some eighty cells of 1 km; more cells take longer."""
USERS, FILES_PER_USER, POINTS_PER_FILE = 182, 103, 1_333
FIRST_DAY = int(datetime(2008, 3, 3, tzinfo=UTC).timestamp()) // 86_400
WEEKS = 70
"""In which most people begin and end."""
LATE_USERS = 6
"""Who go on until 2012."""
DAY_S = 86_400
DAYS_TO_1899 = 25_569
WRONG_DAYS = (
    int(datetime(2000, 1, 1, tzinfo=UTC).timestamp()) // DAY_S,
    int(datetime(1999, 8, 22, tzinfo=UTC).timestamp()) // DAY_S,
    int(datetime(2037, 12, 1, tzinfo=UTC).timestamp()) // DAY_S,
)
"""Days that receivers without a fix write: a default, the rollover of 1999, and one that is still to come."""


@dataclass(frozen=True)
class Sizes:
    """How much to write."""

    users: int = USERS
    files_per_user: int = FILES_PER_USER
    points_per_file: int = POINTS_PER_FILE

    @property
    def points(self) -> int:
        """Points in all."""
        return self.users * self.files_per_user * self.points_per_file


def write_folder(folder: Path, sizes: Sizes, seed: int = 7) -> int:
    """Write `folder`/Data/000/Trajectory/*.plt and so on; returns how many points have a wrong date."""
    wrong = 0
    for user in range(sizes.users):
        generator = np.random.default_rng([seed, user])
        below = folder / "Data" / f"{user:03}" / "Trajectory"
        below.mkdir(parents=True)
        for start_s, points in _journeys(generator, sizes, late=user < LATE_USERS):
            if user % 40 == 3 and not any(below.iterdir()):
                start_s = WRONG_DAYS[user // 40 % len(WRONG_DAYS)] * DAY_S + start_s % DAY_S
                wrong += len(points)
            name = datetime.fromtimestamp(start_s, UTC).strftime("%Y%m%d%H%M%S")
            (below / f"{name}.plt").write_text(HEADING + _lines(start_s, points, generator))
    return wrong


def _journeys(generator: np.random.Generator, sizes: Sizes, *, late: bool) -> Iterator[tuple[int, FloatArray]]:
    """Yield start and positions of a user's journeys between a home, a work place and some others."""
    places = generator.normal(MIDDLE, RADIUS_DEGREES, (7, 2))
    chances = np.array([0.38, 0.3, 0.12, 0.08, 0.05, 0.04, 0.03])
    first = int(generator.integers(0, WEEKS // 2))
    weeks = 200 if late else int(generator.integers(15, WEEKS - first + 1))
    at = 0
    for second in np.sort(generator.integers(0, weeks * 7 * DAY_S, sizes.files_per_user)).tolist():
        to = int(generator.choice(len(places), p=chances))
        share = np.linspace(0, 1, sizes.points_per_file)[:, None]
        noise = generator.normal(0, 3e-5, (sizes.points_per_file, 2))
        yield (FIRST_DAY + first * 7) * DAY_S + second, places[at] * (1 - share) + places[to] * share + noise
        at = to


def _lines(start_s: int, points: FloatArray, generator: np.random.Generator) -> str:
    seconds: IntArray = start_s + np.cumsum(generator.integers(1, 6, len(points)))
    iso = np.datetime_as_string(seconds.astype("datetime64[s]")).tolist()
    days = (seconds / DAY_S + DAYS_TO_1899).tolist()
    rows = zip(points[:, 0].tolist(), points[:, 1].tolist(), days, iso, strict=True)
    return "".join(f"{lat:.6f},{lon:.6f},0,164,{day:.10f},{t[:10]},{t[11:]}\r\n" for lat, lon, day, t in rows)


def main() -> None:
    """Write a folder of the real one's size, or a smaller one."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.geolife_folder", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--users", type=int, default=USERS)
    parser.add_argument("--files-per-user", type=int, default=FILES_PER_USER)
    parser.add_argument("--points-per-file", type=int, default=POINTS_PER_FILE)
    given = parser.parse_args()
    sizes = Sizes(given.users, given.files_per_user, given.points_per_file)
    wrong = write_folder(given.folder, sizes)
    print(f"{sizes.points:,} points of {sizes.users} users in {given.folder}, {wrong:,} of them with a wrong date")


if __name__ == "__main__":
    main()
