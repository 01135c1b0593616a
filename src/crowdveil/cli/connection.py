"""Define the options of every verb that speaks to a server: which server, and who asks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated

import typer

from crowdveil.cli.options import TOKEN_VARIABLE, missing
from crowdveil.client import HttpTransport, Operator
from crowdveil.codec import read_text
from crowdveil.errors import FileFormatError

SERVER = "http://127.0.0.1:8765"
ANSWER_S = 120.0
"""How long an operator waits for one answer: a preview solves a dozen policies."""

Server = Annotated[str, typer.Option(help="Address of the server.", metavar="URL", envvar="CROWDVEIL_SERVER")]
Token = Annotated[
    str | None,
    typer.Option(
        help="The operator's token. Setting the variable is safer: other users of this machine can see arguments.",
        metavar="TOKEN",
        envvar=TOKEN_VARIABLE,
        show_default=False,
    ),
]
TokenFile = Annotated[Path | None, typer.Option(help="A file that holds the operator's token.", metavar="FILE")]


@contextmanager
def operator(server: Server = SERVER, token: Token = None, token_file: TokenFile = None) -> Iterator[Operator]:
    """Connect the operator to the named server; nothing is sent yet."""
    if token_file is not None:
        # A file that is named beats a variable that may have been set for another server.
        token = read_text(token_file).strip()
        if not token or len(token.split()) > 1:
            raise FileFormatError(f"{token_file}: should hold the operator's token, and nothing else")
    if token is None:
        raise missing(
            "token", f"set {TOKEN_VARIABLE} to what `crowdveil serve` or an owner gave you, or name a --token-file"
        )
    with HttpTransport(server, timeout_s=ANSWER_S) as transport:
        yield Operator(transport, token)


@contextmanager
def operator_if_needed(
    server: Server = SERVER, token: Token = None, token_file: TokenFile = None
) -> Iterator[Callable[[], Operator]]:
    """Connect the operator when the verb calls for it."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(operator(server, token, token_file))
