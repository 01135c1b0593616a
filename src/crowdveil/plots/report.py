"""The report of a study: one HTML file that holds its pictures and numbers, runs no script and asks no host.

Pictures are inlined: SVG is parsed and written anew without styles, metadata and links, and with ids of its own, so
that several stand in one page; a very large one becomes its PNG. Every text is escaped.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

from crowdveil.errors import InputError
from crowdveil.plots.figure_spec import FigureSpec
from crowdveil.plots.labels import epsilon_name, interval_name, series_name, written
from crowdveil.plots.style import METHODS, Picture
from crowdveil.simulate.records import LEVEL, Record

MAX_SVG_BYTES = 400_000
"""A larger SVG is shown as its PNG."""
ABOUT = (
    "This page repeats the experiments of the paper, with its own method and with ours, and sets what was measured "
    "beside what the paper prints. Every number is a mean with its 95 % interval unless it says otherwise; the tables "
    "under the figures hold all of them."
)

Verdict = Literal["holds", "does not hold", "too few seeds to decide", "note"]
HOLDS: Verdict = "holds"
FAILS: Verdict = "does not hold"
UNDECIDED: Verdict = "too few seeds to decide"


@dataclass(frozen=True)
class StudyClaim:
    """A short statement, and whether the numbers bear it out."""

    text: str
    verdict: Verdict


@dataclass(frozen=True)
class FigurePart:
    """A figure as the report shows it."""

    spec: FigureSpec
    records: Sequence[Record]
    picture: Picture
    remark: str = ""


@dataclass(frozen=True)
class MapPart:
    """A map as the report shows it."""

    title: str
    picture: Picture


@dataclass(frozen=True)
class HtmlReport:
    """Everything that stands in a report."""

    title: str
    summary: Sequence[StudyClaim]
    facts: Mapping[str, str]
    """Name and text: dataset, users, visits, cells, periods, half-life, versions."""
    figures: Sequence[FigurePart]
    maps: Sequence[MapPart]
    differences: Sequence[str]
    """What differs from the paper and why, a paragraph each."""
    command: str
    """What was typed to make it."""
    about: str = ABOUT
    """What the page is, in a paragraph."""


def write_report(path: str | Path, content: HtmlReport) -> None:
    """Write the report as one file."""
    try:
        Path(path).write_text(report_html(content), encoding="utf-8")
    except OSError as error:
        raise InputError("path", str(path), f"cannot be written: {error.strerror or error}") from None


def report_html(content: HtmlReport) -> str:
    """The report's text: the same content gives the same text."""
    anchors = _anchors([part.spec.name for part in content.figures])
    sections = [
        ("what-was-found", "What was found", _claims(content.summary)),
        ("paper-and-ours", "Paper and ours", _paper_table(content.figures, anchors)),
        *(
            (anchor, part.spec.title, _figure(part, anchor))
            for anchor, part in zip(anchors, content.figures, strict=True)
        ),
        ("maps", "Maps", "".join(_map(number, part) for number, part in enumerate(content.maps, start=1))),
        ("differences", "What differs from the paper, and why", _paragraphs(content.differences)),
        ("how-it-was-made", "Facts, and how to reproduce", _facts(content)),
    ]
    sections = [section for section in sections if section[2]]
    links = "".join(f'<li><a href="#{anchor}">{escape(title)}</a></li>' for anchor, title, _ in sections)
    body = "".join(
        f'<section id="{anchor}" aria-labelledby="{anchor}-title">'
        f'<h2 id="{anchor}-title">{escape(title)}</h2>{html}</section>\n'
        for anchor, title, html in sections
    )
    return _PAGE.format(
        title=escape(content.title), about=escape(content.about), links=links, body=body, style=_STYLE.strip()
    )


# --- sections -----------------------------------------------------------------------------------------------


def _anchors(names: Iterable[str]) -> list[str]:
    """An id for each name, no two the same, none that of another section."""
    taken = {"what-was-found", "paper-and-ours", "maps", "differences", "how-it-was-made"}
    found = []
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-") or "figure"
        anchor, number = plain, 2
        while anchor in taken:
            anchor, number = f"{plain}-{number}", number + 1
        taken.add(anchor)
        found.append(anchor)
    return found


def _paragraphs(texts: Iterable[str]) -> str:
    return "".join(f"<p>{escape(text)}</p>" for text in texts if text)


_BADGES: dict[Verdict, tuple[str, str]] = {
    "holds": ("yes", "✓"),
    "does not hold": ("no", "✗"),
    "too few seeds to decide": ("open", "?"),
    "note": ("note", "•"),
}


def _claims(claims: Sequence[StudyClaim]) -> str:
    items = []
    for claim in claims:
        kind, sign = _BADGES[claim.verdict]
        badge = f'<span class="badge {kind}"><span aria-hidden="true">{sign}</span> {claim.verdict}</span>'
        items.append(f"<li>{badge}<span>{escape(claim.text)}</span></li>")
    return f'<ul class="claims">{"".join(items)}</ul>' if items else ""


def _paper_table(figures: Sequence[FigurePart], anchors: Sequence[str]) -> str:
    """Every record that has a value of the paper beside it."""
    rows = []
    for part, anchor in zip(figures, anchors, strict=True):
        for record in part.records:
            if record.paper is None:
                continue
            percent = part.spec.percent
            source = f'<span class="source">{escape(record.paper_source)}</span>' if record.paper_source else ""
            interval = f'<span class="source">{_interval(part.spec, record)}</span>'
            cells = [
                ("", f'<a href="#{anchor}">{escape(part.spec.title)}</a>'),
                ("", escape(_what(part.spec, record))),
                ("", escape(series_name(record, ("profile", "rule")))),
                ("number", f"{escape(written(record.paper, percent=percent))}{source}"),
                ("number", f"{escape(written(record.value, percent=percent))}{interval}"),
                ("number", _difference(part.spec, record.value, record.paper)),
            ]
            rows.append(cells)
    if not rows:
        return ""
    names = ["figure", "what", "method", "paper", f"ours, measured ({100 * LEVEL:g} % interval)", "difference"]
    return _table("Values that the paper prints, and ours", names, rows, numbers=3)


def _figure(part: FigurePart, anchor: str) -> str:
    spec = part.spec
    paper = f'<p class="source">In the paper: {escape(spec.paper)}</p>' if spec.paper else ""
    picture = _picture(part.picture, f"{spec.title}. {spec.question}", anchor)
    count = len(part.records)
    return (
        f'{paper}<p class="question">{escape(spec.question)}</p><figure>{picture}</figure>'
        f"{_paragraphs([part.remark])}<details><summary>All {count:,} numbers of this figure</summary>"
        f"{_records(spec, part.records)}</details>"
    )


def _map(number: int, part: MapPart) -> str:
    picture = _picture(part.picture, part.title, f"map-{number}")
    return f"<figure>{picture}<figcaption>{escape(part.title)}</figcaption></figure>"


def _facts(content: HtmlReport) -> str:
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in content.facts.items())
    facts = f"<dl>{rows}</dl>" if rows else ""
    return f'{facts}<p>This page was made by</p><pre tabindex="0"><code>{escape(content.command)}</code></pre>'


# --- tables ---------------------------------------------------------------------------------------------------

_COLUMNS: dict[str, Callable[[FigureSpec, Record], str]] = {
    "method": lambda _, record: METHODS[record.method].name if record.method in METHODS else record.method,
    "profile": lambda _, record: record.profile,
    "rule": lambda _, record: record.rule,
    "label": lambda _, record: record.label,
    "ε per km": lambda _, record: "" if record.epsilon_per_km is None else epsilon_name(record.epsilon_per_km),
    "δ": lambda _, record: "" if record.delta is None else f"{record.delta:g}",
    "targets": lambda _, record: _whole(record.targets),
    "k": lambda _, record: _whole(record.k),
    "offset": lambda _, record: _whole(record.offset),
    "value": lambda spec, record: written(record.value, percent=spec.percent),
    "interval": lambda spec, record: _interval(spec, record),
    "n": lambda _, record: _whole(record.n),
    "seeds": lambda _, record: _whole(record.seeds),
    "selected": lambda _, record: "" if record.selected is None else written(record.selected, percent=True),
}
WORDY = 4
"""How many columns at the left are words."""


def _records(spec: FigureSpec, records: Sequence[Record]) -> str:
    """All records; with what is on the x axis, if no other column tells it."""
    columns = list(_COLUMNS.items())
    if any(spec.x in record.extra and not isinstance(record.extra[spec.x], dict) for record in records):
        columns.insert(WORDY, (spec.x_title or spec.x, lambda _, record: f"{record.extra.get(spec.x, '')}"))
    rows = [
        [("number" if number >= WORDY else "", escape(column(spec, one))) for number, (_, column) in enumerate(columns)]
        for one in records
    ]
    return _table(f"{spec.title}: all numbers", [name for name, _ in columns], rows, numbers=WORDY)


def _table(label: str, names: Sequence[str], rows: Iterable[Sequence[tuple[str, str]]], *, numbers: int) -> str:
    """A table that scrolls by itself where it is too wide; the first cell of a row names it."""
    heads = "".join(
        f'<th scope="col"{" class=number" if number >= numbers else ""}>{escape(name)}</th>'
        for number, name in enumerate(names)
    )
    body = []
    for row in rows:
        cells = [f' class="{kind}">{html}' if kind else f">{html}" for kind, html in row]
        body.append(f'<tr><th scope="row"{cells[0]}</th>{"".join(f"<td{cell}</td>" for cell in cells[1:])}</tr>\n')
    return (
        f'<div class="scroll" role="region" aria-label="{escape(label)}" tabindex="0"><table><thead><tr>{heads}</tr>'
        f"</thead><tbody>\n{''.join(body)}</tbody></table></div>"
    )


def _what(spec: FigureSpec, record: Record) -> str:
    """The record's label, and its place on the x axis where that is a number."""
    x = record.extra.get(spec.x, getattr(record, spec.x, None))
    if spec.x == "epsilon_per_km" and record.epsilon_per_km is not None:
        x = epsilon_name(record.epsilon_per_km)
    elif not isinstance(x, int | float):
        return record.label
    return ", ".join(filter(None, [record.label, f"{spec.x_title or spec.x} = {x}"]))


def _whole(number: int | None) -> str:
    return "" if number is None else f"{number:,}"


def _interval(spec: FigureSpec, record: Record) -> str:
    low, high = (written(end, percent=spec.percent) for end in (record.ci_low, record.ci_high))
    kind = f" ({interval_name(record)})" if "interval" in record.extra else ""
    return f"{low.removesuffix(' %')} to {high}{kind}"


def _difference(spec: FigureSpec, ours: float, paper: float) -> str:
    """Ours less the paper's in points; on a logarithmic axis how many times the paper's."""
    if spec.log and paper > 0:
        return f"× {written(ours / paper, percent=False)}"
    change = ours - paper
    sign = "+" if change > 0 else "−" if change < 0 else ""
    size = written(abs(change), percent=spec.percent).removesuffix(" %")
    return f"{sign}{size} points" if spec.percent else f"{sign}{size}"


# --- pictures -------------------------------------------------------------------------------------------------

_LEFT_OUT = {"metadata", "style", "script", "foreignObject", "a"}
"""Of an SVG; styles of one would hold for the whole page."""
_TEXTS = {"text", "tspan", "title"}


def _picture(picture: Picture, label: str, prefix: str) -> str:
    if len(picture.svg.encode()) <= MAX_SVG_BYTES:
        return _inline(picture.svg, label, prefix)
    data = b64encode(picture.png).decode()
    return f'<div class="card" tabindex="0"><img alt="{escape(label)}" src="data:image/png;base64,{data}"></div>'


def _inline(svg: str, label: str, prefix: str) -> str:
    root = ElementTree.fromstring(svg)
    width, height = (float(size) for size in root.attrib["viewBox"].split()[2:])
    content = "".join(_element(child, prefix) for child in root)
    # matplotlib measures in points; a narrow screen scrolls rather than shrink texts beyond reading.
    size = f"max-width:{width:g}pt;min-width:min({width:g}pt,36rem)"
    return (
        f'<div class="card" tabindex="0"><svg role="img" aria-label="{escape(label)}" '
        f'viewBox="0 0 {width:g} {height:g}" style="{size}" stroke-linejoin="round" stroke-linecap="butt">'
        f"{content}</svg></div>"
    )


def _element(element: ElementTree.Element, prefix: str) -> str:
    tag = _local(element.tag)
    if tag in _LEFT_OUT:
        return ""
    attributes = []
    for key, value in element.attrib.items():
        name, text = _local(key), " ".join(value.split())
        if name == "id":
            text = f"{prefix}-{text}"
        elif name == "href":
            if not text.startswith(("#", "data:image/")):
                continue
            text = f"#{prefix}-{text[1:]}" if text.startswith("#") else text
        elif name.lower().startswith("on"):
            continue
        attributes.append(f' {name}="{escape(re.sub(r"url[(]#", f"url(#{prefix}-", text))}"')
    inner = escape(element.text or "") if tag in _TEXTS else ""
    for child in element:
        inner += _element(child, prefix) + (escape(child.tail or "") if tag in _TEXTS else "")
    opening = f"<{tag}{''.join(attributes)}"
    return f"{opening}>{inner}</{tag}>" if inner else f"{opening}/>"


def _local(name: str) -> str:
    """Without its namespace, which HTML knows by itself."""
    return name.rpartition("}")[2]


# --- the page -------------------------------------------------------------------------------------------------

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
{style}
</style>
</head>
<body>
<header><h1>{title}</h1><p class="about">{about}</p></header>
<nav aria-label="Contents"><h2>Contents</h2><ol>{links}</ol></nav>
<main>
{body}</main>
</body>
</html>
"""

_STYLE = """
:root { --ground: #ffffff; --soft: #f4f5f7; --line: #d9dde1; --ink: #1c2127; --quiet: #5b6570; --link: #00578c;
  --yes: #0b6b3a; --yes-soft: #def3e6; --no: #a3210f; --no-soft: #fce4df; --note: #45505b; --note-soft: #e8ebee;
  --open: #775500; --open-soft: #fbf0cf; }
@media (prefers-color-scheme: dark) { :root { --ground: #14171a; --soft: #1d2226; --line: #363d44; --ink: #e7eaed;
  --quiet: #a2acb6; --link: #7cc4f5; --yes: #8be0ae; --yes-soft: #12351f; --no: #ffab9c; --no-soft: #451a12;
  --note: #c3cbd3; --note-soft: #2b3239; --open: #f0cf7a; --open-soft: #3d3110; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; max-width: 66rem; padding: 1.5rem 1.25rem 4rem; background: var(--ground); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0.5rem 0; }
h2 { font-size: 1.3rem; line-height: 1.3; margin: 0 0 0.5rem; }
p { margin: 0.5rem 0; max-width: 46rem; overflow-wrap: break-word; }
a { color: var(--link); }
.about { font-size: 1.08rem; color: var(--quiet); }
nav { margin: 1.25rem 0; padding: 0.9rem 1.1rem; background: var(--soft); border-radius: 0.5rem; }
nav h2 { font-size: 1rem; }
nav ol { margin: 0; padding-left: 1.4rem; columns: 20rem 2; column-gap: 2rem; }
section { padding: 1.6rem 0 0.6rem; border-top: 1px solid var(--line); margin-top: 1.4rem; }
tbody th, tbody td:not(.number) { min-width: 6.5rem; }
.source, figcaption { color: var(--quiet); font-size: 0.86rem; }
td .source { display: block; white-space: normal; min-width: 8rem; }
.claims { list-style: none; margin: 0; padding: 0; }
.claims li { display: flex; gap: 0.8rem; align-items: baseline; padding: 0.45rem 0; max-width: 54rem; }
.badge { flex: 0 0 13rem; text-align: center; white-space: nowrap; font-size: 0.82rem; font-weight: 600;
  padding: 0.12rem 0.5rem; border-radius: 1rem; }
.yes { color: var(--yes); background: var(--yes-soft); }
.no { color: var(--no); background: var(--no-soft); }
.open { color: var(--open); background: var(--open-soft); }
.note { color: var(--note); background: var(--note-soft); }
figure { margin: 1rem 0; }
.card { background: #ffffff; border: 1px solid var(--line); border-radius: 0.5rem; padding: 0.5rem; overflow-x: auto; }
.card svg, .card img { display: block; width: 100%; height: auto; margin: 0 auto; }
.card img { max-width: 60rem; min-width: 36rem; }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 0.5rem; margin: 0.8rem 0; }
details .scroll { max-height: 32rem; overflow-y: auto; }
table { border-collapse: collapse; width: 100%; font-size: 0.88rem; line-height: 1.4; }
th, td { padding: 0.38rem 0.7rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
thead th { background: var(--soft); position: sticky; top: 0; white-space: nowrap; }
tbody th { font-weight: 500; }
tbody tr:last-child > * { border-bottom: 0; }
details th, details td { white-space: nowrap; padding: 0.28rem 0.55rem; font-size: 0.84rem; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
summary { cursor: pointer; color: var(--link); padding: 0.3rem 0; }
dl { display: grid; grid-template-columns: minmax(7rem, max-content) 1fr; gap: 0.3rem 1.2rem; margin: 0.5rem 0 1rem; }
dt { color: var(--quiet); }
dd { margin: 0; overflow-wrap: anywhere; }
pre { background: var(--soft); border-radius: 0.5rem; padding: 0.8rem 1rem; overflow-x: auto; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
@media (max-width: 40rem) { body { padding: 1rem 0.8rem 3rem; } h1 { font-size: 1.5rem; }
  .claims li { flex-direction: column; gap: 0.25rem; } .badge { flex: none; align-self: flex-start; }
  nav ol { columns: 1; } dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: 0.5rem; } }
@media print { :root { --ground: #ffffff; --soft: #f4f5f7; --line: #c3c9cf; --ink: #000000; --quiet: #444444; }
  body { max-width: none; padding: 0; font-size: 10pt; } figure, tr, .claims li { break-inside: avoid; }
  h2 { break-after: avoid; } .card, .scroll { overflow: visible; } details .scroll { max-height: none; }
  .card svg, .card img { min-width: 0 !important; } nav, details:not([open]) { display: none; }
  a { color: inherit; text-decoration: none; } }
"""
