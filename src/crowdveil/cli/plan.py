"""A campaign's plan, from options or from a file: what `campaign create` and `campaign preview` take."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import typer

from crowdveil.cli.compare import PeriodOption, RuleName
from crowdveil.cli.files import load_area, read_prior
from crowdveil.cli.options import missing, read_epsilon, read_real, read_targets, read_whole
from crowdveil.codec import canonical_json, parse_json, read_text
from crowdveil.errors import CrowdveilError, FileFormatError, InputError
from crowdveil.policy.checks import check_prior
from crowdveil.wire import PROTOCOL, CampaignPlan

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
DURATION = re.compile(r"(\d{1,9})([smhd])")


class EnrolmentName(StrEnum):
    """Who may take part."""

    open = "open"
    invite = "invite"


class AlgorithmName(StrEnum):
    """How the campaign learns and selects."""

    crowdveil = "crowdveil"
    algorithm_2 = "algorithm-2"


@dataclass(frozen=True)
class Draft:
    """Fields of a plan as far as they were given; what is left out has the protocol's own default."""

    fields: dict[str, Any]

    def message(self, **otherwise: str) -> CampaignPlan:
        """The plan, checked; `otherwise` fills fields that were left out."""
        return CampaignPlan.from_bytes(canonical_json({"protocol": PROTOCOL, **otherwise, **self.fields}).encode())


def plan(
    plan: Annotated[
        Path | None,
        typer.Option(help="A file with the whole plan (JSON), instead of the options below.", metavar="FILE"),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="What participants read as its name; the ID unless given.", metavar="TEXT")
    ] = None,
    offer: Annotated[
        str | None, typer.Option(help="What those who are selected are told and offered.", metavar="TEXT")
    ] = None,
    area: Annotated[Path | None, typer.Option(help="The area (.json), from `crowdveil area`.", metavar="FILE")] = None,
    targets: Annotated[
        str | None,
        typer.Option(help="Cells to cover, such as 3,17, or places, such as 40.75:-73.98.", metavar="LIST"),
    ] = None,
    users: Annotated[
        str | None, typer.Option(help="How many may take part, over all rounds (N).", metavar="NUMBER")
    ] = None,
    wanted: Annotated[str | None, typer.Option(help="How many are to be selected (α).", metavar="NUMBER")] = None,
    share: Annotated[
        str | None, typer.Option(help="Instead of --wanted: as a share of --users.", metavar="NUMBER")
    ] = None,
    epsilon_per_km: Annotated[
        str | None, typer.Option(help="Privacy loss per km, such as 1.386 or ln4; ln4 unless given.", metavar="NUMBER")
    ] = None,
    delta: Annotated[
        str | None,
        typer.Option(help="A place is frequent if its probability is above this; 0.7 unless given.", metavar="NUMBER"),
    ] = None,
    rule: Annotated[
        RuleName | None, typer.Option(help="Which of their frequent places devices report; random unless given.")
    ] = None,
    period: Annotated[
        PeriodOption | None, typer.Option(help="What people are predicted for; week unless given.")
    ] = None,
    rounds: Annotated[str | None, typer.Option(help="Rounds; 6 unless given.", metavar="NUMBER")] = None,
    round_size: Annotated[
        str | None,
        typer.Option(help="Reports after which a round closes; users / rounds unless given.", metavar="NUMBER"),
    ] = None,
    deadline: Annotated[
        str | None,
        typer.Option(help="When a round closes at the latest: 90s, 30m, 12h, 2d; never unless given.", metavar="TIME"),
    ] = None,
    enrolment: Annotated[
        EnrolmentName | None, typer.Option(help="Anyone, or who has an invite; open unless given.")
    ] = None,
    algorithm: Annotated[
        AlgorithmName | None, typer.Option(help="Ours, or the paper's Algorithm 2; crowdveil unless given.")
    ] = None,
    confidence: Annotated[
        str | None,
        typer.Option(help="With algorithm-2: chance that enough are found; 0.95 unless given.", metavar="NUMBER"),
    ] = None,
    prior: Annotated[
        Path | None,
        typer.Option(
            help="Where people are (CSV): one probability per line, or cell,probability; uniform unless given.",
            metavar="FILE",
        ),
    ] = None,
    null_epsilon: Annotated[
        str | None,
        typer.Option(
            help="How much a reply may tell about having a place at all; in the clear unless given.", metavar="NUMBER"
        ),
    ] = None,
    seed: Annotated[
        str | None,
        typer.Option(help="Of the lottery among equals; the server draws one unless given.", metavar="NUMBER"),
    ] = None,
) -> Draft:
    """Read the plan's options."""
    numbers = {"users": users, "wanted": wanted, "rounds": rounds, "round_size": round_size, "seed": seed}
    reals = {"share": share, "delta": delta, "confidence": confidence}
    epsilons = {"epsilon_per_km": epsilon_per_km, "null_epsilon": null_epsilon}
    texts = {
        "name": name,
        "offer": offer,
        "rule": rule,
        "period": period,
        "enrolment": enrolment,
        "algorithm": algorithm,
    }
    others = {"area": area, "targets": targets, "deadline": deadline, "prior": prior}
    given = {k: v for k, v in {**numbers, **reals, **epsilons, **texts, **others}.items() if v is not None}
    if plan is not None:
        for option, value in given.items():
            raise InputError(option, str(value), "a --plan says everything; name either")
        return Draft(_read_plan(plan))
    if not given:
        return Draft({})
    if users is None:
        raise missing("users", "say how many may take part")
    if (wanted is None) == (share is None):
        raise missing("wanted", "say how many are to be selected: by this or by --share, not by both")
    fields: dict[str, Any] = {"epsilon_per_km": _finite("epsilon_per_km", read_epsilon(epsilon_per_km or "ln4"))}
    fields["delta"] = _finite("delta", read_real("delta", delta or "0.7"))
    fields |= {key: str(text) for key, text in texts.items() if text is not None}
    fields |= {key: read_whole(key, text) for key, text in numbers.items() if text is not None}
    fields |= {key: _finite(key, read_real(key, text)) for key, text in reals.items() if text is not None}
    if null_epsilon is not None:
        fields["null_epsilon"] = _read_null_epsilon(null_epsilon)
    if deadline is not None:
        fields["deadline_s"] = read_duration("deadline", deadline)
    return Draft(fields | _read_places(area, targets, prior))


def read_duration(field: str, text: str) -> int:
    """Seconds, from 90s, 30m, 12h or 2d."""
    found = DURATION.fullmatch(text.strip().lower())
    if found is None:
        raise InputError(field, text, "should be a whole number with its unit, such as 90s, 30m, 12h or 2d")
    return int(found[1]) * UNITS[found[2]]


def _read_plan(path: Path) -> dict[str, Any]:
    document = parse_json(read_text(path), str(path))
    if not isinstance(document, dict):
        raise FileFormatError(f"{path}: should be a JSON object, the plan of a campaign")
    if "area" not in document:
        raise FileFormatError(f"{path}: has no area; this is not the plan of a campaign")
    return document


def _read_places(area: Path | None, targets: str | None, prior: Path | None) -> dict[str, Any]:
    if area is None:
        raise missing("area", "name the file from `crowdveil area`, or a whole --plan")
    if targets is None:
        raise missing("targets", "name the cells or places to cover")
    cells = load_area(area)
    fields: dict[str, Any] = {"area": cells.describe(), "targets": read_targets(targets, cells)}
    if prior is not None:
        fields["prior"] = check_prior(read_prior(prior, len(cells)), len(cells)).tolist()
    return fields


def _read_null_epsilon(text: str) -> float:
    try:
        return _finite("null_epsilon", read_epsilon(text))
    except CrowdveilError:
        raise InputError("null_epsilon", text, "should be a number, such as 1.386 or ln4") from None


def _finite(field: str, number: float) -> float:
    """A number that JSON has a word for; what else it should be is for the message to say."""
    if not isfinite(number):
        raise InputError(field, number, "should be a finite number")
    return number
