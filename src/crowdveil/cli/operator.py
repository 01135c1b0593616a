"""`crowdveil operator`: who may sign in to a server, and in which role."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from crowdveil.cli.campaign_view import when
from crowdveil.cli.connection import operator
from crowdveil.cli.console import Verb, new_app, show, show_json, show_rows
from crowdveil.cli.options import read_whole_if_given, taking
from crowdveil.cli.token import TOKEN_FILES, check_token_file, hand_over, until
from crowdveil.client import Operator
from crowdveil.errors import InputError

EXAMPLES = """\b
Examples, with CROWDVEIL_TOKEN set to the token of an owner:
  crowdveil operator add ann --role planner --out ann.token
  crowdveil operator list
  crowdveil operator role ann owner
  crowdveil operator remove ann
"""

app = new_app(no_args_is_help=True, help="Say who may sign in to a server, and in which role.", epilog=EXAMPLES)


class RoleName(StrEnum):
    """What an operator may do."""

    owner = "owner"
    planner = "planner"
    viewer = "viewer"


ROLE_HELP = (
    "owner: everything; planner: their own campaigns, and those shared with them; viewer: looks, changes nothing."
)
Name = Annotated[str, typer.Argument(help="The operator's name: small letters, digits and -.", metavar="NAME")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]


@app.command(cls=Verb, epilog="Example: crowdveil operator add ann --role planner --days 90 --out ann.token")
@taking(operator)
def add(
    server: Operator,
    name: Name,
    role: Annotated[RoleName, typer.Option(help=ROLE_HELP)],
    days: Annotated[
        str | None, typer.Option(help="Days after which the token expires (default: never).", metavar="NUMBER")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help=f"Write the token to this file ({TOKEN_FILES}), for you alone.", metavar="FILE")
    ] = None,
    json: AsJson = False,
) -> None:
    """Add an operator, with a token.

    The token is shown only once: hand it over on a way that nobody else can read.
    """
    check_token_file(out)
    lasting = read_whole_if_given("days", days)
    if any(one.name == name for one in server.operators().operators):
        raise InputError("name", name, "is an operator already; `crowdveil operator role` changes the role")
    server.put_operator(name, role.value)
    hand_over(server.make_token(name, lasting), out, json)


@app.command("list", cls=Verb, epilog="Example: crowdveil operator list")
@taking(operator)
def list_all(server: Operator, json: AsJson = False) -> None:
    """List all operators, with their roles."""
    found = server.operators()
    if json:
        show_json(found.model_dump(mode="json"))
        return
    rows = [[one.name, one.role, when(one.added), f"{one.tokens:,}"] for one in found.operators]
    show_rows("Operators", ["name", "role", "added", "valid tokens"], rows)


@app.command(cls=Verb, epilog="Example: crowdveil operator me")
@taking(operator)
def me(server: Operator, json: AsJson = False) -> None:
    """Say who is signed in, in which role, and until when."""
    found = server.me()
    if json:
        show_json(found.model_dump(mode="json"))
        return
    facts = {"operator": found.name, "role": found.role, "token": found.token, "expires": until(found.expires)}
    show("Signed in", facts)


@app.command(cls=Verb, epilog="Example: crowdveil operator role ann owner")
@taking(operator)
def role(
    server: Operator,
    name: Name,
    new: Annotated[RoleName, typer.Argument(help="owner, planner or viewer.", metavar="ROLE")],
    json: AsJson = False,
) -> None:
    """Change the role of an operator, from the next request on."""
    _check_known(server, name)
    changed = server.put_operator(name, new.value)
    if json:
        show_json(changed.model_dump(mode="json"))
    else:
        show("Operator", {"operator": changed.name, "role": changed.role})


@app.command(cls=Verb, epilog="Example: crowdveil operator remove ann")
@taking(operator)
def remove(server: Operator, name: Name) -> None:
    """Remove an operator; their tokens stop working at once.

    Their campaigns stay: owners see them, and can share them.
    """
    server.remove_operator(name)
    show("Operator", {"removed": name})


def _check_known(server: Operator, name: str) -> None:
    if all(one.name != name for one in server.operators().operators):
        raise InputError("name", name, "is no operator; `crowdveil operator list` names them")
