"""Options that several verbs share, defined once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any

VerbFunction = Callable[..., None]


def taking(read: Callable[..., Any]) -> Callable[[VerbFunction], VerbFunction]:
    """A verb that also takes the options of `read`; what `read` makes of them is the verb's first argument.

    What `read` opens, as a context manager, is closed behind the verb. The command line is built from signatures, so
    the verb gets one that lists its own parameters and those of `read`.
    """
    shared = signature(read, eval_str=True).parameters

    def decorate(verb: VerbFunction) -> VerbFunction:
        first, *own = signature(verb, eval_str=True).parameters.values()

        @wraps(verb)
        def run(**given: Any) -> None:
            made = read(**{name: given.pop(name) for name in shared})
            opened = made if isinstance(made, AbstractContextManager) else nullcontext(made)
            with opened as value:
                verb(**{first.name: value}, **given)

        every = [one.replace(kind=Parameter.KEYWORD_ONLY) for one in [*own, *shared.values()]]
        run.__signature__ = Signature(every)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in every}
        return run

    return decorate
