"""`crowdveil serve`: run the campaign server."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from crowdveil.cli.console import Verb, new_app, note, warn, working
from crowdveil.cli.files import open_folder
from crowdveil.cli.options import TOKEN_VARIABLE, read_real, read_whole, taking
from crowdveil.errors import FileFormatError
from crowdveil.extras import require_extra
from crowdveil.server.address import check_address, check_proxy, is_loopback
from crowdveil.server.settings import ServerSettings

DATABASE = "crowdveil.sqlite"
HOST, PORT = "127.0.0.1", "8765"
DEFAULTS = ServerSettings()
EXAMPLES = """\b
Examples:
  crowdveil serve
  crowdveil serve --data /var/lib/crowdveil --port 9000
  crowdveil serve --database postgresql://crowdveil@localhost/crowdveil --new-token
  crowdveil serve --database postgresql://crowdveil@localhost/crowdveil --workers 4
  crowdveil serve --trusted-proxy 127.0.0.1
  crowdveil serve --tiles 'https://tiles.example.org/{z}/{x}/{y}.png'
"""

app = new_app()


def _limit(text: str, default: float) -> Any:
    return typer.Option(help=f"{text} (default: {default:,}).", metavar="NUMBER")


def limits(
    requests_per_minute: Annotated[
        str | None, _limit("Maximum requests from one address", DEFAULTS.requests_per_minute)
    ] = None,
    failures_per_minute: Annotated[
        str | None, _limit("Maximum wrong tokens from one address", DEFAULTS.failures_per_minute)
    ] = None,
    seats_per_address: Annotated[
        str | None, _limit("Maximum seats from one address in an open campaign", DEFAULTS.seats_per_address)
    ] = None,
    request_s: Annotated[str | None, _limit("Seconds that a request may take to arrive", DEFAULTS.request_s)] = None,
    body_bytes: Annotated[str | None, _limit("Maximum size of a request", DEFAULTS.body_bytes)] = None,
    operator_body_bytes: Annotated[
        str | None, _limit("Maximum size of an operator's request", DEFAULTS.operator_body_bytes)
    ] = None,
    commit_reports: Annotated[str | None, _limit("Maximum reports in one commit", DEFAULTS.commit_reports)] = None,
    max_queue_length: Annotated[
        str | None, _limit("Maximum reports that wait for a commit", DEFAULTS.max_queue_length)
    ] = None,
    announcement_age_s: Annotated[
        str | None, _limit("Seconds for which an announcement is cached", DEFAULTS.announcement_age_s)
    ] = None,
    keep_days: Annotated[
        str | None,
        typer.Option(
            help="Delete a finished campaign, with all that is stored of it, after so many days (default: keep it "
            "until an operator deletes it).",
            metavar="NUMBER",
        ),
    ] = None,
) -> ServerSettings:
    """Read the server's limits."""
    whole = {
        "requests_per_minute": requests_per_minute,
        "failures_per_minute": failures_per_minute,
        "seats_per_address": seats_per_address,
        "body_bytes": body_bytes,
        "operator_body_bytes": operator_body_bytes,
        "commit_reports": commit_reports,
        "max_queue_length": max_queue_length,
        "keep_days": keep_days,
    }
    given: dict[str, Any] = {name: read_whole(name, text) for name, text in whole.items() if text is not None}
    real = {"request_s": request_s, "announcement_age_s": announcement_age_s}
    given |= {name: read_real(name, text) for name, text in real.items() if text is not None}
    return replace(DEFAULTS, **given)


@app.command(cls=Verb, epilog=EXAMPLES)
@taking(limits)
def run(
    settings: ServerSettings,
    data: Annotated[Path, typer.Option(help="Folder for the server's data; made if missing.", metavar="FOLDER")] = Path(
        "crowdveil-data"
    ),
    database: Annotated[
        str | None,
        typer.Option(
            help=f"The database (default: SQLite, {DATABASE} in --data).", metavar="URL", envvar="CROWDVEIL_DATABASE"
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen at.", metavar="ADDRESS")] = HOST,
    port: Annotated[str, typer.Option(help="Port to listen at; 0 takes any free port.", metavar="NUMBER")] = PORT,
    workers: Annotated[
        str,
        typer.Option(
            help="Processes that answer requests; more than 1 needs PostgreSQL (default: 1).", metavar="NUMBER"
        ),
    ] = "1",
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(
            help="Address or network of a proxy in front of the server; may be repeated. Limits per address use what "
            "it sends as X-Forwarded-For (default: none; the header is ignored).",
            metavar="ADDRESS",
        ),
    ] = None,
    new_token: Annotated[
        bool,
        typer.Option(
            "--new-token", help="Make the operator `operator` an owner with a new token; its old ones stop working."
        ),
    ] = False,
    token_file: Annotated[
        Path | None, typer.Option(help="Write a new token to this file instead of printing it.", metavar="FILE")
    ] = None,
    tiles: Annotated[
        str | None,
        typer.Option(
            help="A tile server for the console's maps, with {z}, {x} and {y} (default: none).",
            metavar="URL",
            envvar="CROWDVEIL_TILES",
        ),
    ] = None,
) -> None:
    """Run the campaign server, until Ctrl-C.

    On its first start it prints the operator's token, once: only a hash of it is stored. Rounds open and close by
    themselves. The server speaks plain HTTP: put a proxy with TLS in front of it before other machines reach it.
    """
    require_extra("serve", "server")
    number = read_whole("port", port)
    check_address(host, number)
    proxies = [check_proxy(one) for one in trusted_proxy or ()]
    if tiles is not None:
        from crowdveil.server.pages import check_tiles

        check_tiles(tiles)
    url = database
    if url is None:
        open_folder(data, "data", private=True)
        url = f"sqlite:///{(data / DATABASE).resolve()}"
    processes = read_whole("workers", workers)
    if processes != 1:
        from crowdveil.server.workers import check_workers

        check_workers(processes, url)
    with working("starting"):
        # The web framework takes a second to load, which `crowdveil serve --help` should not wait for.
        from crowdveil.server.run import serve
        from crowdveil.server.tokens import issue_operator_token

        token = issue_operator_token(url, replace=new_token)
    if token is not None:
        _hand_over(token, token_file)
    elif token_file is not None:
        note(f"The operator has a token already, so {token_file} was not written. --new-token replaces the token.")
    if not is_loopback(host):
        warn(
            f"{host} can be reached from other machines, and this is plain HTTP: tokens, and who takes part, can be "
            "read on the way. Devices refuse such an address. Put a proxy with TLS in front, and listen at 127.0.0.1."
        )
    serve(url, host, number, settings, tile_url=tiles, trusted_proxies=proxies, workers=processes, ready=_tell_ready)


def _hand_over(token: str, path: Path | None) -> None:
    if path is None:
        typer.echo(f"The operator's token, shown only once: {token}")
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
    typer.echo(f"The operator's console: {url}/console")
