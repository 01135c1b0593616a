"""`crowdveil serve`: the campaign server."""

from __future__ import annotations

import os
import secrets
import socket
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any

import typer

from crowdveil.cli.connection import TOKEN_VARIABLE
from crowdveil.cli.console import note, warn, working
from crowdveil.cli.files import open_folder
from crowdveil.cli.options import read_real, read_whole
from crowdveil.cli.shared import taking
from crowdveil.errors import FileFormatError, InputError
from crowdveil.server.settings import ServerSettings
from crowdveil.wire import secret_digest

OPERATOR = "operator"
DATABASE = "crowdveil.sqlite"
HOST, PORT = "127.0.0.1", "8765"
EXAMPLES = """\b
Examples:
  crowdveil serve
  crowdveil serve --data /var/lib/crowdveil --port 9000
  crowdveil serve --database postgresql://crowdveil@localhost/crowdveil --new-token
  crowdveil serve --tiles 'https://tiles.example.org/{z}/{x}/{y}.png'
"""


def _limit(text: str) -> Any:
    return typer.Option(help=text, metavar="NUMBER")


def limits(
    requests_per_minute: Annotated[str | None, _limit("Most requests from one address; 600 unless given.")] = None,
    failures_per_minute: Annotated[str | None, _limit("Most wrong tokens from one address; 20 unless given.")] = None,
    body_bytes: Annotated[str | None, _limit("Largest request of anyone; 65,536 unless given.")] = None,
    operator_body_bytes: Annotated[str | None, _limit("Largest of an operator; 8,388,608 unless given.")] = None,
    commit_reports: Annotated[str | None, _limit("Most reports in one commit; 512 unless given.")] = None,
    waiting: Annotated[str | None, _limit("Most reports that wait for a commit; 5,000 unless given.")] = None,
    announcement_age_s: Annotated[
        str | None, _limit("Seconds for which an announcement is given out unchanged; 0.25 unless given.")
    ] = None,
) -> ServerSettings:
    """Read the server's limits; what is left out has the server's own default."""
    whole = {
        "requests_per_minute": requests_per_minute,
        "failures_per_minute": failures_per_minute,
        "body_bytes": body_bytes,
        "operator_body_bytes": operator_body_bytes,
        "commit_reports": commit_reports,
        "max_queue_length": waiting,
    }
    settings = replace(
        ServerSettings(), **{name: read_whole(name, text) for name, text in whole.items() if text is not None}
    )
    if announcement_age_s is None:
        return settings
    return replace(settings, announcement_age_s=read_real("announcement_age_s", announcement_age_s))


@taking(limits)
def run(
    settings: ServerSettings,
    data: Annotated[Path, typer.Option(help="Folder for the server's data; made if missing.", metavar="FOLDER")] = Path(
        "crowdveil-data"
    ),
    database: Annotated[
        str | None,
        typer.Option(
            help="The database. Left out: SQLite, crowdveil.sqlite in --data.",
            metavar="URL",
            envvar="CROWDVEIL_DATABASE",
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen at.", metavar="ADDRESS")] = HOST,
    port: Annotated[str, typer.Option(help="Port to listen at; 0 takes any that is free.", metavar="NUMBER")] = PORT,
    new_token: Annotated[
        bool, typer.Option("--new-token", help="Replace the operator's token; the old one is void.")
    ] = False,
    token_file: Annotated[
        Path | None,
        typer.Option(help="Write a new token to this file instead of printing it.", metavar="FILE"),
    ] = None,
    tiles: Annotated[
        str | None,
        typer.Option(
            help="A tile server for the console's maps, with {z}, {x} and {y}; none unless given.",
            metavar="URL",
            envvar="CROWDVEIL_TILES",
        ),
    ] = None,
) -> None:
    """Run the campaign server, until Ctrl-C.

    On its first start it prints the operator's token, once: only a hash of it is kept. Rounds open and close by
    themselves. Speaks plain HTTP: put a proxy with TLS in front of it before anyone else is to reach it.
    """
    number = _check_address(host, port)
    if tiles is not None:
        from crowdveil.server.pages import check_tiles

        check_tiles(tiles)
    url = database
    if url is None:
        open_folder(data, "data")
        url = f"sqlite:///{(data / DATABASE).resolve()}"
    with working("starting"):
        # The web framework takes a second to load, which the other verbs should not wait for.
        from crowdveil.server.run import serve

        token = _token(url, new_token)
    if token is not None:
        _hand_over(token, token_file)
    elif token_file is not None:
        note(f"The operator has a token already; {token_file} was not written. --new-token replaces it.")
    if not _is_loopback(host):
        warn(
            f"{host} can be reached from other machines, and this is plain HTTP: tokens, and who takes part, can be "
            "read on the way. Devices refuse such an address. Put a proxy with TLS in front, and listen at 127.0.0.1."
        )
    serve(url, host, number, settings, tile_url=tiles, ready=_tell_ready)


def _token(url: str, anew: bool) -> str | None:
    """A new token for the operator, where there is none yet or another one is asked for."""
    from crowdveil.store import add_operator, open_store, operator_token_hashes

    with open_store(url) as store:
        if OPERATOR in operator_token_hashes(store) and not anew:
            return None
        token = secrets.token_urlsafe(32)
        add_operator(store, OPERATOR, secret_digest(token))
        return token


def _hand_over(token: str, path: Path | None) -> None:
    if path is None:
        typer.echo(f"The operator's token, shown this once: {token}")
        typer.echo(f"In another terminal: export {TOKEN_VARIABLE}={token}")
        typer.echo("then: crowdveil campaign --help")
        return
    try:
        handle = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        with open(handle, "w", encoding="ascii") as file:
            os.fchmod(handle, 0o600)
            file.write(f"{token}\n")
    except OSError as error:
        raise FileFormatError(
            f"{path}: the token cannot be written ({error.strerror}); start again with --new-token"
        ) from None
    typer.echo(f"The operator's token is in {path}.")


def _tell_ready(url: str) -> None:
    typer.echo(f"Listening at {url} (Ctrl-C ends it)")


def _check_address(host: str, port: str) -> int:
    """Find out before anything is made that the server could not listen there."""
    number = read_whole("port", port)
    if not 0 <= number <= 65_535:
        raise InputError("port", number, "should be from 0 to 65535")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, number, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise InputError("host", host, f"is no address of this machine ({error.strerror})") from None
    with socket.socket(family, kind, protocol) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(address)
        except OSError as error:
            field, value = ("host", host) if number == 0 else ("port", f"{host}:{number}")
            raise InputError(field, value, f"cannot be listened at ({error.strerror}); choose another") from None
    return number


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
