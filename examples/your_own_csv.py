# %% [markdown]
# # Your own CSV
#
# You have a table that says who was where, when. This notebook writes a small synthetic one, so that it runs anywhere;
# put your own file in its place. It reads the table in four ways, compares the methods on its people, and draws maps.

# %%
import math
import textwrap
from pathlib import Path

import geopandas as gpd
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl

import crowdveil as cv

print(f"pandas {pd.__version__}, polars {pl.__version__}, geopandas {gpd.__version__}")

# %% [markdown]
# ## A table
#
# 250 people in Berlin, for 16 weeks. Each has a home, a second place and a few others, and writes down where they are
# about five times a week. Times are those of clocks in Berlin, without an offset, as in many exports.

# %%
generator = np.random.default_rng(19)
people, weeks, per_week = 250, 16, 5
centres = np.array([[52.52, 13.40], [52.50, 13.33], [52.48, 13.44]])
homes = centres[generator.integers(3, size=people)] + generator.normal(0, [0.02, 0.035], (people, 2))
second = centres[generator.choice(3, size=people, p=[0.6, 0.3, 0.1])] + generator.normal(0, [0.012, 0.02], (people, 2))
person = np.repeat(np.arange(people), weeks * per_week)
anywhere = centres[generator.integers(3, size=len(person))] + generator.normal(0, [0.03, 0.045], (len(person), 2))
kind = generator.choice(3, size=len(person), p=[0.5, 0.3, 0.2])
where = np.choose(kind[:, None], [homes[person], second[person], anywhere])
monday = np.datetime64("2024-01-01")
minutes = generator.integers(weeks * 7 * 24 * 60, size=len(person))
table = pd.DataFrame(
    {
        "user": [f"person-{number:03}" for number in person],
        "time": monday + minutes.astype("timedelta64[m]"),
        "latitude": where[:, 0].round(5),
        "longitude": where[:, 1].round(5),
    }
)
table.to_csv("visits.csv", index=False)
table.head()

# %% [markdown]
# ## Read it
#
# From the file. `zone` says by which clock these people live, because a week begins at local midnight; `clock="local"`
# says that the times are what these clocks showed.

# %%
visits = cv.read_traces("visits.csv", zone="Europe/Berlin", clock="local")
for kind_of_fact, sentence in cv.describe_visits(visits, "Berlin").items():
    print(f"{kind_of_fact}: {sentence}")
assert len(visits) == len(table)

# %% [markdown]
# Or from a frame that you have already: of pandas, of polars, or of geopandas, whose points become two columns. All
# four ways give the same visits.

# %%
points = gpd.GeoDataFrame(
    table[["user", "time"]], geometry=gpd.points_from_xy(table["longitude"], table["latitude"]), crs="EPSG:4326"
)
frames = {
    "pandas": table,
    "polars": pl.read_csv("visits.csv", try_parse_dates=True),
    "geopandas": pd.DataFrame(points.drop(columns="geometry")).assign(
        latitude=points.geometry.y, longitude=points.geometry.x
    ),
}
for library, frame in frames.items():
    same = cv.Visits.from_frame(frame, zone="Europe/Berlin", clock="local")
    assert np.array_equal(same.utc_s, visits.utc_s)
    assert np.array_equal(same.latitude, visits.latitude)
    assert np.array_equal(same.longitude, visits.longitude)
    print(f"{library}: the same {len(same):,} visits of {len(same.users)} people")

# %% [markdown]
# ## Is anything odd?
#
# Traces have wrong clocks, repeated exports and thin ends. `cv.inspect_visits` finds what would spoil a result. Here
# 60 rows are exported twice, and one clock was reset.

# %%
spoilt = table.copy()
spoilt.loc[0, "time"] = pd.Timestamp("2000-01-01 00:00:00")
spoilt = pd.concat([spoilt, table.iloc[100:160]])
inspection = cv.inspect_visits(cv.Visits.from_frame(spoilt, zone="Europe/Berlin", clock="local"), distinct=True)
for finding in inspection.findings:
    print(textwrap.fill(f"{finding.kind}: {finding.text}", 110), "\n")
assert {"duplicates", "outlying-dates"} <= {finding.kind for finding in inspection.findings}

# %% [markdown]
# ## Compare the methods
#
# Squares of 1.5 km, where there are visits; the three busiest cells are the targets. Everyone's profile is learnt from
# the earlier weeks, whole campaigns are run with every method, and the later weeks show who really came. *Coverage* is
# the share of those weeks in which a selected person was at a target.

# %%
area = cv.Grid.around(visits, cell_km=1.5)
result = cv.compare(
    visits,
    area,
    densest=3,
    wanted=20,
    epsilon_per_km=math.log(4),
    seeds=8,
    methods=["none", "crowdveil", "laplace", "random"],
    name="Berlin",
)
result

# %% [markdown]
# The same as a frame, in the library of your choice:

# %%
columns = ["method", "coverage", "ci_low", "ci_high"]
result.to_frame(backend="polars").select(columns)

# %% [markdown]
# How much more does crowdveil cover than people chosen blindly, and what does privacy cost? The intervals are over
# paired seeds. Where one contains 0, so few seeds cannot tell; only what is clear here is checked.

# %%
for other in ("random", "laplace", "none"):
    more, low, high = result.difference("crowdveil", other)
    print(f"crowdveil minus {other}: {100 * more:+.1f} points ({100 * low:+.1f} to {100 * high:+.1f})")
assert result.difference("crowdveil", "random")[1] > 0, "crowdveil should clearly cover more than chance"

# %% [markdown]
# `save` writes a report with maps as one file that loads nothing from outside, and the numbers beside it.

# %%
result.save("compared")
report = Path("compared/report.html").read_text(encoding="utf-8")
print(sorted(path.name for path in Path("compared").iterdir()))
assert 'src="http' not in report

# %% [markdown]
# ## Map it
#
# A policy that selects 3 % of all people for each of the three busiest cells. `to_geojson()` has one polygon per cell,
# so geopandas can draw it together with anything else; no background map is loaded.

# %%
located = area.locate(visits.latitude, visits.longitude)
seen = np.bincount(located[located != cv.OUTSIDE], minlength=len(area))
targets = tuple(int(cell) for cell in np.argsort(-seen)[:3])
policy = cv.policy_per_target(area, seen / seen.sum(), targets, epsilon_per_km=math.log(4), betas=[0.03] * 3)
assert cv.certify(policy).ok
cells = gpd.GeoDataFrame.from_features(area.to_geojson()["features"], crs="EPSG:4326")
cells["visits"], cells["selected"] = seen, policy.hit
cells.drop(columns="geometry").nlargest(5, "visits").round(4)

# %% alt="Two maps of Berlin in squares: visits, and the chance of being selected, which is highest at three targets"
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
flat = cells.to_crs("EPSG:25833")  # metres, so that squares look square
flat.plot("visits", ax=left, cmap="viridis", legend=True, legend_kwds={"shrink": 0.7})
flat.plot("selected", ax=right, cmap="viridis", legend=True, legend_kwds={"shrink": 0.7})
starred = flat.iloc[list(targets)].geometry.centroid
for axes, title in ((left, "Visits"), (right, "Chance of being selected")):
    axes.scatter(starred.x, starred.y, marker="*", s=120, color="white", edgecolor="black")
    axes.set(title=title, xticks=[], yticks=[], xlabel="", ylabel="")

# %% [markdown]
# Next: [choosing ε](choosing_epsilon.py), and [all formats that can be read](../docs/reference/traces.md).
