"""`crowdveil token`: make, list, replace and revoke the tokens with which operators sign in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crowdveil.cli.campaign_view import when
from crowdveil.cli.connection import operator
from crowdveil.cli.console import Verb, new_app, show, show_json, show_rows
from crowdveil.cli.files import check_destination, write_private
from crowdveil.cli.options import TOKEN_VARIABLE, missing, read_whole_if_given, taking
from crowdveil.client import Operator
from crowdveil.errors import InputError, ServerRefused
from crowdveil.wire import NewToken

TOKEN_SUFFIXES = (".token", ".txt")
TOKEN_FILES = " or ".join(TOKEN_SUFFIXES)
EXAMPLES = f"""\b
Examples, with {TOKEN_VARIABLE} set to your token:
  crowdveil token new --days 30 --out laptop.token
  crowdveil token list
  crowdveil token replace --out mine.token
  crowdveil token revoke 5f0c2a9be1d4
"""

app = new_app(no_args_is_help=True, help="Make, list, replace and revoke operators' tokens.", epilog=EXAMPLES)

Whose = Annotated[
    str | None, typer.Option("--operator", help="Whose (default: your own); of others for owners.", metavar="NAME")
]
Days = Annotated[
    str | None,
    typer.Option(
        help="Days after which it expires (default: never, or with the token that you use, unless you are an owner).",
        metavar="NUMBER",
    ),
]
Out = Annotated[
    Path | None, typer.Option(help=f"Write it to this file ({TOKEN_FILES}), for you alone.", metavar="FILE")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]


@app.command(cls=Verb, epilog="Example: crowdveil token new --operator ann --days 30 --out ann.token")
@taking(operator)
def new(server: Operator, whose: Whose = None, days: Days = None, out: Out = None, json: AsJson = False) -> None:
    """Make one more token; it is shown only once."""
    check_token_file(out)
    lasting = read_whole_if_given("days", days)
    hand_over(server.make_token(whose or server.me().name, lasting), out, json)


@app.command("list", cls=Verb, epilog="Example: crowdveil token list --operator ann")
@taking(operator)
def list_all(server: Operator, whose: Whose = None, json: AsJson = False) -> None:
    """List tokens by their ids: a token itself is never shown again."""
    me = server.me()
    found = server.tokens(whose or me.name)
    if json:
        show_json(found.model_dump(mode="json"))
        return
    used = {me.token: "the one that you use"}
    rows = [[one.id, when(one.made), until(one.expires), used.get(one.id, "")] for one in found.tokens]
    show_rows(f"Tokens of {found.operator}", ["id", "made", "expires", ""], rows)


@app.command(cls=Verb, epilog="Example: crowdveil token replace --out mine.token")
@taking(operator)
def replace(
    server: Operator,
    token_id: Annotated[
        str | None,
        typer.Argument(help="The token's id, as `token list` names it (default: the one that you use).", metavar="ID"),
    ] = None,
    whose: Whose = None,
    days: Days = None,
    out: Out = None,
    json: AsJson = False,
) -> None:
    """Make a new token, then revoke the old one.

    The old one is revoked only when the new one has arrived, so that nobody is locked out if the line breaks between.
    """
    check_token_file(out)
    lasting = read_whole_if_given("days", days)
    me = server.me()
    name = whose or me.name
    if token_id is None and name != me.name:
        raise missing("ID", f"name which token of {name} to replace, as `crowdveil token list --operator {name}` does")
    old = token_id or me.token
    if all(one.id != old for one in server.tokens(name).tokens):
        raise InputError("ID", old, f"is no token of {name}; `crowdveil token list` names them")
    hand_over(server.make_token(name, lasting), out, json)
    try:
        server.revoke_token(old)
    except ServerRefused as error:
        if error.kind != "not-found":  # it had expired, and was forgotten when the new one was made
            raise


@app.command(cls=Verb, epilog="Example: crowdveil token revoke 5f0c2a9be1d4")
@taking(operator)
def revoke(
    server: Operator,
    token_id: Annotated[str, typer.Argument(help="The token's id, as `token list` names it.", metavar="ID")],
) -> None:
    """Revoke a token; it works nowhere from then on."""
    server.revoke_token(token_id)
    show("Token", {"revoked": token_id})


def until(expires: int | None) -> str:
    """Write when a token expires, for people."""
    return "never" if expires is None else when(expires)


def check_token_file(out: Path | None) -> None:
    """Refuse a file that could not be written, before a token is made that nobody could read again."""
    if out is not None:
        check_destination("out", out, TOKEN_SUFFIXES)


def hand_over(made: NewToken, out: Path | None, json: bool) -> None:
    """Write a new token to a file, or print it."""
    if out is not None:
        write_private(out, f"{made.token}\n".encode("ascii"))
    if json:
        show_json(made.model_dump(mode="json", exclude=set() if out is None else {"token"}))
        return
    token = {"token, shown only once": made.token} if out is None else {"written": str(out)}
    show("Token", {"operator": made.operator, "id": made.id, "expires": until(made.expires), **token})
