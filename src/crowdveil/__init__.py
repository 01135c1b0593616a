"""crowdveil: choose the crowd that will cover your places, without learning where anyone is.

>>> import math
>>> import crowdveil as cv
>>> grid = cv.Grid.from_bounds(40.70, -74.02, 40.80, -73.93, cell_km=1.0)
>>> policy = cv.optimal_policy(grid, None, [40, 57], epsilon_per_km=math.log(4), beta=0.06)
>>> certificate = cv.certify(policy)
>>> certificate.ok
True

Everything in `crowdveil.front_door` is available here; `dir(crowdveil)` lists it. It is loaded on first use, so that
`import crowdveil.errors` or `crowdveil --help` do not wait for the solver.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # type checkers see the names themselves; a module's __getattr__ would let any name pass
    from crowdveil.front_door import *  # noqa: F403
    from crowdveil.front_door import __all__ as __all__

    __version__: str

_FUNCTIONS_NAMED_LIKE_MODULES = frozenset({"certify", "draw"})


class _Package(ModuleType):
    """Keep `crowdveil.certify` and `crowdveil.draw` functions.

    Python sets every imported submodule as an attribute of its package. For a submodule that has the name of a public
    function, that would replace the function by the module, depending on what happened to be imported before.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _FUNCTIONS_NAMED_LIKE_MODULES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def _is_module(name: str) -> bool:
    from importlib.util import find_spec

    return find_spec(f"{__name__}.{name}") is not None


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            from importlib.metadata import version

            value: Any = version("crowdveil")
        elif name.startswith("__") and name != "__all__":  # asked for by Python itself
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        elif name not in _FUNCTIONS_NAMED_LIKE_MODULES and _is_module(name):
            value = import_module(f"{__name__}.{name}")
        else:
            # not `from crowdveil import front_door`, which would ask this function for it
            value = getattr(import_module(f"{__name__}.front_door"), name, None)
            if value is None:
                raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*import_module(f"{__name__}.front_door").__all__, "__version__"})
