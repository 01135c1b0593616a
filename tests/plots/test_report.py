"""The report of a study: one valid page with every number, that asks nobody for anything."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from math import exp
from pathlib import Path

import pytest

from crowdveil.errors import InputError
from crowdveil.plots.charts import draw
from crowdveil.plots.report import FigurePart, HtmlReport, MapPart, StudyClaim, report_html, write_report
from crowdveil.plots.style import Picture, save
from tests.plots.made_up import bars, curves, dots, lines, record, spec

VOID = {"meta", "img", "br", "hr", "link", "input"}
EVIL = "<script>alert('x')</script> & \"more\""
SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 50">{}</svg>'


class Page(HTMLParser):
    """Reads a page, refuses tags that are not balanced, and keeps what tests ask for."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.rows: list[list[str]] = []
        self.words = ""
        self.feed(text)
        self.close()
        assert not self.open, f"left open: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data
        if "td" in self.open or "th" in self.open:
            self.rows[-1][-1] += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """The attributes of every such tag."""
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> HtmlReport:
    folder = tmp_path_factory.mktemp("pictures")
    samples = [
        (spec("bars"), bars()),
        (spec("lines", "epsilon_per_km"), lines()),
        (spec("dots", "rank"), dots()),
        (spec("curves", "curve", percent=False), curves()),
    ]
    parts = [FigurePart(one, found, save(draw(one, found), folder, one.name), "Seen: more.") for one, found in samples]
    return HtmlReport(
        title="Nowhere, repeated",
        summary=[
            StudyClaim("Ours is above.", "holds"),
            StudyClaim("It is equal.", "does not hold"),
            StudyClaim("A grid.", "note"),
        ],
        facts={"dataset": "made up", "users": "1,083"},
        figures=parts,
        maps=[MapPart("Visits", parts[0].picture)],
        differences=["The box is unknown."],
        command="crowdveil study nowhere --out here",
    )


@pytest.fixture(scope="module")
def page(report: HtmlReport) -> Page:
    return Page(report_html(report))


def test_every_record_is_a_row_of_its_figures_table(report: HtmlReport, page: Page) -> None:
    rows: list[dict[str, str]] = []
    for cells in page.rows:
        if cells[0] == "method":
            names = cells
        elif len(cells) > 10:
            rows.append(dict(zip(names, cells, strict=True)))
    found = [(part.spec, one) for part in report.figures for one in part.records]
    assert len(rows) == len(found)
    for row, (shown, one) in zip(rows, found, strict=True):
        assert row["value"] == (f"{100 * one.value:.1f} %" if shown.percent else f"{one.value:.3g}")
        assert (row["profile"], row["rule"], row["label"]) == (one.profile, one.rule, one.label)
        assert row["offset"] == ("" if one.offset is None else str(one.offset))
        assert one.epsilon_per_km is not None
        assert row["ε per km"] == f"ln {round(exp(one.epsilon_per_km))}"
        assert (row["δ"], row["targets"], row["k"], row["n"], row["seeds"]) == ("0.7", "1", "6", "80", "80")
        assert row["selected"] == "98.7 %"
        assert row.get("the x", "") == str(one.extra.get("rank", ""))


def test_every_value_of_the_paper_stands_beside_ours(report: HtmlReport, page: Page) -> None:
    rows = [row for row in page.rows if len(row) == 6][1:]
    printed = [one for part in report.figures for one in part.records if one.paper is not None]
    assert len(rows) == len(printed) == 5
    for row, one in zip(rows, printed, strict=True):
        assert one.paper is not None
        assert row[3] == f"{100 * one.paper:.1f} %{one.paper_source}"
        assert row[4] == f"{100 * one.value:.1f} %{100 * one.ci_low:.1f} to {100 * one.ci_high:.1f} %"
        assert row[5] == f"{100 * (one.value - one.paper):+.1f} points".replace("-", "−")
    assert rows[4][1] == "dense target, the x = ln 4"


def test_a_logarithmic_figure_tells_how_many_times_the_papers_value() -> None:
    seconds = record(value=0.9, measure="seconds", paper=450.0, paper_source="text", extra={"interval": "quartiles"})
    shown = spec("bars", percent=False, log=True)
    page = Page(report_html(_minimal([FigurePart(shown, [seconds], Picture(SVG.format(""), b""))])))
    row = next(row for row in page.rows if len(row) == 6 and row[0] == "Made up")
    assert row[3:] == ["450text", "0.90.89 to 0.915 (quartiles)", "× 0.002"]


def test_the_page_asks_no_host_and_runs_no_script(report: HtmlReport, page: Page) -> None:
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for tag, attributes in page.tags:
        assert tag not in ("script", "link", "iframe", "object", "embed", "base", "form")
        for name, value in attributes.items():
            assert not name.startswith("on")
            if name in ("href", "src", "xlink:href") and value is not None:
                assert value.startswith(("#", "data:image/png;base64,")), value
                assert not value.startswith("#") or value[1:] in ids, value
            for target in re.findall(r"url\(([^)]*)\)", value or ""):
                assert target[0] == "#", value
                assert target[1:] in ids, value
    text = report_html(report)
    assert "http:" not in text
    assert "https:" not in text
    assert "@import" not in text
    assert any(attributes.get("http-equiv") == "Content-Security-Policy" for attributes in page.all("meta"))


def test_all_is_there_in_order(report: HtmlReport, page: Page) -> None:
    sections = [attributes["id"] for attributes in page.all("section")]
    figures = [part.spec.name for part in report.figures]
    assert sections == ["what-was-found", "paper-and-ours", *figures, "maps", "differences", "how-it-was-made"]
    links = [attributes["href"] for attributes in page.all("a")]
    assert links[: len(sections)] == [f"#{anchor}" for anchor in sections]
    for text in ("Nowhere, repeated", "Ours is above.", "does not hold", "Seen: more.", "What is it?", "made up"):
        assert text in page.words
    assert "The box is unknown." in page.words
    assert "crowdveil study nowhere --out here" in page.words
    assert page.words.index("Ours is above.") < page.words.index("Seen: more.") < page.words.index("The box is")


def test_people_who_do_not_see_it_are_told(page: Page) -> None:
    assert page.all("html") == [{"lang": "en"}]
    assert len(page.all("svg")) == 5
    assert all(svg["role"] == "img" and svg["aria-label"] for svg in page.all("svg"))
    assert all(attributes.get("scope") in ("col", "row") for attributes in page.all("th"))
    assert [tag for tag, _ in page.tags].count("h1") == 1


def test_every_text_is_escaped() -> None:
    shown = replace(spec("bars"), name=EVIL, title=EVIL, question=EVIL, paper=EVIL, x="who", x_title=EVIL, y_title=EVIL)
    one = record(EVIL, label=EVIL, profile=EVIL, rule=EVIL, paper=0.2, paper_source=EVIL, extra={"who": EVIL})
    odd = replace(one, paper=None, extra={"who": 1, "interval": EVIL})
    svg = SVG.format("<script>alert(1)</script><text onclick='x'>&lt;script&gt;</text><a href='http://x.y'><path/></a>")
    picture = Picture(svg, b"")
    evil = HtmlReport(
        title=EVIL,
        summary=[StudyClaim(EVIL, "note")],
        facts={EVIL: EVIL},
        figures=[FigurePart(shown, [one, odd], picture, EVIL)],
        maps=[MapPart(EVIL, picture)],
        differences=[EVIL],
        command=EVIL,
        about=EVIL,
    )
    text = report_html(evil)
    page = Page(text)
    assert "<script" not in text
    assert "onclick" not in text
    assert "http:" not in text
    assert text.count("alert") > 15
    assert page.words.count(unescape(EVIL)) > 10


def test_a_very_large_svg_becomes_its_png() -> None:
    large = SVG.format("<path d='" + "M 0 0 " * 80_000 + "'/>")
    page = Page(report_html(_minimal([FigurePart(spec("bars"), [record()], Picture(large, b"\x89PNG"))])))
    assert not page.all("svg")
    (image,) = page.all("img")
    assert image["src"] == "data:image/png;base64,iVBORw=="
    assert image["alt"] == "Made up. What is it?"


def test_figures_of_one_name_get_anchors_of_their_own() -> None:
    part = FigurePart(spec("bars"), [record()], Picture(SVG.format("<g id='a'/>"), b""))
    other = replace(part, spec=replace(part.spec, name="maps"))
    page = Page(report_html(_minimal([part, part, other])))
    sections = [attributes["id"] for attributes in page.all("section")]
    assert sections == ["made-up-bars", "made-up-bars-2", "maps-2", "how-it-was-made"]
    assert [group["id"] for group in page.all("g")] == ["made-up-bars-a", "made-up-bars-2-a", "maps-2-a"]


def test_the_file_is_the_page_and_a_missing_folder_is_named(report: HtmlReport, tmp_path: Path) -> None:
    write_report(tmp_path / "report.html", report)
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == report_html(report)
    with pytest.raises(InputError, match="cannot be written"):
        write_report(tmp_path / "nowhere" / "report.html", report)


def _minimal(figures: list[FigurePart]) -> HtmlReport:
    return HtmlReport("Small", [], {}, figures, [], [], "make")
