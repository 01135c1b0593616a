"""`crowdveil page`: write the participant's page for a site of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crowdveil.cli.console import Verb, new_app, note
from crowdveil.cli.files import open_folder
from crowdveil.errors import InputError

EXAMPLES = """\b
Examples:
  crowdveil page --out page/
  crowdveil page --out page/ --server https://campaigns.example.org --server https://survey.example.net
"""

app = new_app()


@app.command(cls=Verb, epilog=EXAMPLES)
def run(
    out: Annotated[Path, typer.Option(help="Folder to write to; made if missing.", metavar="FOLDER")],
    server: Annotated[
        list[str] | None,
        typer.Option(
            help="A server that the page may connect to; may be given several times (default: any server).",
            metavar="URL",
        ),
    ] = None,
) -> None:
    """Write the participant's page, for a site of your own.

    The page that guards a participant should not come from the server that it guards against. Serve the folder from
    any site: it works with every campaign server, and keeps one record of answers for all of them. The same version,
    for the same servers, gives the same bytes: publish the hash, so that others can export the page and compare.
    """
    from crowdveil.server.page_export import export_page

    page = export_page(server or ())
    open_folder(out)
    if any(out.iterdir()):
        raise InputError("out", str(out), "should be an empty folder, so that nothing else is served with the page")
    manifest = page.write(out)
    note(f"{len(page.files)} files in {out}; {manifest} lists their hashes.")
    note(f"To check them: cd {out} && sha256sum --check --strict ../{manifest.name}")
    typer.echo(f"SHA-256 of the page: {page.hash}")
