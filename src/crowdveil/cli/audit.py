"""`crowdveil campaign audit`: repeat a selection from its record. Exit code 0 reproduced, 1 not, 2 unreadable."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from crowdveil.campaign.audit import AuditVerdict, check_record
from crowdveil.cli.connection import operator_if_asked
from crowdveil.cli.console import progress_bar, show_json, show_rows, warn, working
from crowdveil.cli.files import check_destination, write_whole
from crowdveil.cli.options import missing
from crowdveil.cli.shared import taking
from crowdveil.client import Operator
from crowdveil.errors import FileFormatError, InputError
from crowdveil.wire import AuditRecord

NOT_REPRODUCED = 1
EXAMPLES = """\b
Examples:
  crowdveil campaign audit noise-map --out record.json
  crowdveil campaign audit --record record.json
Exit code: 0 reproduced, 1 not reproduced, 2 unreadable.
"""


@taking(operator_if_asked)
def run(
    server: Callable[[], Operator],
    campaign: Annotated[
        str | None, typer.Argument(help="A finished campaign on the server.", metavar="ID", show_default=False)
    ] = None,
    record: Annotated[
        Path | None, typer.Option(help="A record that was saved, instead of asking the server.", metavar="FILE")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Save the server's record (.json).", metavar="FILE")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Repeat a campaign's selection from its record.

    Certifies every policy again, holds the rows against the counts, selects again and compares, to the last bit. A
    saved record needs neither a server nor a token: whoever has it can check.
    """
    if out is not None:
        check_destination("out", out, (".json",))
    found = _record(server, campaign, record)
    if out is not None:
        save(found, out)
    with progress_bar("repeating the campaign") as report:
        verdict = check_record(found, report)
    if json:
        findings = [{"step": one.step, "grade": one.grade, "said": one.text} for one in verdict.findings]
        show_json({"campaign": found.campaign, "reproduced": verdict.reproduced, "findings": findings})
    else:
        show_verdict(found.campaign, verdict)
    if not verdict.reproduced:
        raise typer.Exit(NOT_REPRODUCED)


def save(record: AuditRecord, path: Path) -> int:
    """Write a record in its canonical form."""
    return write_whole(path, lambda temporary: temporary.write_bytes(record.to_bytes()))


def show_verdict(campaign: str, verdict: AuditVerdict) -> None:
    """Print what was found, and the judgement."""
    rows = [[one.step, one.grade if one.grade == "ok" else one.grade.upper(), one.text] for one in verdict.findings]
    show_rows("Audit", ["step", "verdict", "what was found"], rows)
    if verdict.reproduced:
        typer.echo(f"Campaign {campaign} is reproduced.")
    else:
        warn(f"campaign {campaign} is NOT reproduced.")


def _record(server: Callable[[], Operator], campaign: str | None, path: Path | None) -> AuditRecord:
    if campaign is not None and path is not None:
        raise InputError("campaign", campaign, "name either a campaign on the server or a --record")
    if campaign is not None:
        with working("fetching the record"):
            return server().record(campaign)
    if path is None:
        raise missing("record", "name a campaign on the server, or a record that was saved")
    try:
        return AuditRecord.from_bytes(path.read_bytes())
    except InputError as error:
        raise FileFormatError(f"{path}: is no record of a campaign ({error})") from None
