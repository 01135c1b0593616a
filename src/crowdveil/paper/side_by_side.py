"""Several finished studies side by side: what is lost where, how well profiles rank, and whether they come true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from crowdveil.errors import InputError
from crowdveil.paper.claims import common_claims
from crowdveil.paper.figures import OF_STUDY, SIDE_BY_SIDE
from crowdveil.plots.charts import draw
from crowdveil.plots.report import FigurePart, HtmlReport, StudyClaim, write_report
from crowdveil.plots.style import save
from crowdveil.simulate.records import Record, read_records, write_records

ABOUT = (
    "Several data sets side by side: how much coverage the profile loses, how much privacy, and how much not knowing "
    "where people are; how well profiles rank who will come; and whether what they predict comes true. Every number is "
    "a mean with its 95 % interval; the tables under the figures hold all of them."
)
REMARKS = (
    "Losses are differences within seeds: all selections of a seed have the same targets, people and order.",
    "A claim holds, or does not, where the whole interval lies on one side of its bound; else there are too few seeds.",
)


@dataclass(frozen=True)
class SideBySide:
    """What was found in the studies of a folder."""

    titles: list[str]
    records: list[Record]
    claims: list[StudyClaim]


def write_side_by_side(studies: Path, folder: Path) -> SideBySide:
    """Read every `results.json` one folder below `studies`, and write pictures and a report of all of them."""
    paths = sorted(path for path in studies.glob("*/results.json") if path.parent.resolve() != folder.resolve())
    found = [(path.parent.name, read_records(path)) for path in paths]
    found = [(name, records) for name, records in found if any(r.figure == "losses" for r in records)]
    known = list(OF_STUDY)
    found.sort(key=lambda one: known.index(one[1][0].dataset) if one[1][0].dataset in known else len(known))
    if not found:
        raise InputError("data", str(studies), "should hold the folders of finished studies")
    titles = _titles(found)
    together = [
        replace(record, label=title)
        for (_, records), title in zip(found, titles, strict=True)
        for record in records
        if record.figure in {spec.name for spec in SIDE_BY_SIDE}
    ]
    claims = [
        replace(claim, text=f"{title}: {claim.text}")
        for (_, records), title in zip(found, titles, strict=True)
        for claim in common_claims(records)
    ]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(write_records(together), encoding="utf-8")
    parts = []
    for spec in SIDE_BY_SIDE:
        records = [record for record in together if record.figure == spec.name]
        parts.append(FigurePart(spec, records, save(draw(spec, records), folder, spec.name)))
    report = HtmlReport(
        title="Data sets side by side",
        summary=claims,
        facts={"data sets": ", ".join(titles)},
        figures=parts,
        maps=(),
        differences=REMARKS,
        command="crowdveil study together --data FOLDER-OF-STUDIES --out FOLDER",
        about=ABOUT,
    )
    write_report(folder / "report.html", report)
    return SideBySide(titles, together, claims)


def _titles(found: Sequence[tuple[str, Sequence[Record]]]) -> list[str]:
    """Name each study by its data; by its folder too, where several have the same."""
    plain = [next(r.label for r in records if r.figure == "losses") for _, records in found]
    return [
        title if plain.count(title) == 1 else f"{title} ({name})" for title, (name, _) in zip(plain, found, strict=True)
    ]
