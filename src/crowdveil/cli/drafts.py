"""`crowdveil campaign create` and `preview`: what a campaign is to be, and what it would be worth."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from crowdveil.area import Area
from crowdveil.cli.campaign_view import show_preview, show_view
from crowdveil.cli.connection import operator
from crowdveil.cli.console import note, show_json, working
from crowdveil.cli.files import check_destination, write_whole
from crowdveil.cli.options import missing
from crowdveil.cli.plan import Draft, plan
from crowdveil.cli.shared import taking
from crowdveil.client import Operator
from crowdveil.errors import InputError
from crowdveil.wire import CampaignPlan, Preview

CREATE = """\b
Examples:
  crowdveil campaign create noise-map --area area.json --targets 40.75:-73.98
      --users 1000 --wanted 50 --offer "A coffee for ten minutes of noise"
  crowdveil campaign create noise-map --plan plan.json
"""
PREVIEW = """\b
Examples:
  crowdveil campaign preview noise-map
  crowdveil campaign preview --area area.json --targets 3,17 --users 1000 --wanted 50
      --picture first-round.png
"""

AsJson = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]


@taking(operator)
@taking(plan)
def create(
    draft: Draft,
    server: Operator,
    campaign: Annotated[str, typer.Argument(help="The campaign's id: small letters, digits and -.", metavar="ID")],
    json: AsJson = False,
) -> None:
    """Make a draft of a campaign.

    Nobody sees it before it is started. The same plan again changes nothing; another one is refused.
    """
    if not draft.fields:
        raise missing("area", "say what to cover, with --area, --targets and so on, or with a whole --plan")
    if "offer" not in draft.fields:
        raise missing("offer", "say what those who are selected are told and offered")
    with working("making the draft"):
        view = server.create(campaign, draft.message(name=campaign))
    show_view(view, json)
    if not json and view.state == "draft":
        note(f"A draft. Next: crowdveil campaign preview {campaign}; then crowdveil campaign start {campaign}")


@taking(operator)
@taking(plan)
def preview(
    draft: Draft,
    server: Operator,
    campaign: Annotated[
        str | None, typer.Argument(help="A campaign that is on the server.", metavar="ID", show_default=False)
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(help="Draw the first round's chance of being selected (.png or .svg).", metavar="FILE"),
    ] = None,
    json: AsJson = False,
) -> None:
    """Say what a campaign promises before it starts.

    Of one that is on the server, by its ID; or of a plan, which is not kept. Computed for the prior given, or for
    people spread evenly; the campaign itself learns where they are.
    """
    if picture is not None:
        check_destination("picture", picture, (".png", ".svg"))
    if campaign is not None:
        if draft.fields:
            raise InputError("campaign", campaign, "it has its plan already; name either its ID or a plan")
        new = server.view(campaign).plan
    elif draft.fields:
        new = draft.message(name="preview", offer="none")
    else:
        raise missing("area", "name a campaign's ID, or a plan: --area, --targets and so on, or --plan")
    with working("computing what it promises"):
        found = server.preview(new)
    if picture is not None:
        _draw(new, found, picture)
    if json:
        show_json(found.model_dump(mode="json"))
    else:
        show_preview(found, new.epsilon_per_km)


def _draw(new: CampaignPlan, found: Preview, path: Path) -> None:
    with working("drawing the picture"), tempfile.TemporaryDirectory() as folder:
        from crowdveil.plots.charts import map_of_cells  # matplotlib takes a second to load
        from crowdveil.plots.style import save

        title = "Chance of being selected, by cell, in the first round"
        chances = np.array(found.hit_probability)
        figure = map_of_cells(Area.from_description(new.area), chances, new.targets, title, "chance", percent=True)
        picture = save(figure, folder, "map")
    content = picture.png if path.suffix.lower() == ".png" else picture.svg.encode()
    write_whole(path, lambda temporary: temporary.write_bytes(content))
