"""layoutc: a layout compiler for sharded Transformer programs.

    >>> import layoutc
    >>> layoutc.compile("examples/ffn.layout", chips=64, B=512)
    <plan of ffn: 64 chips (tpu-v4-flat), mesh x=4 y=4 z=4, 217 µs a pass>

The stages, each in a folder of its own: `layoutc.dsl` reads and checks, `layoutc.solver` fills
and prices, `layoutc.codegen` spells it in JAX. `layoutc.pipeline` is the way through them on one
page; `layoutc.cli` is the command line, `layoutc.calls` the same from Python.

Names are fetched when they are first asked for: importing the package loads nothing else.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from layoutc.calls import compile, compile_text
    from layoutc.compiled import Compiled
    from layoutc.costs import Costs
    from layoutc.loaded import Loaded
    from layoutc.phase import Phase
    from layoutc.pipeline import WrongCall, WrongFile

__all__ = [
    "Compiled",
    "Costs",
    "Loaded",
    "Phase",
    "WrongCall",
    "WrongFile",
    "compile",
    "compile_text",
]
__version__ = "0.1.0"

_HOMES = {
    "Compiled": "layoutc.compiled",
    "Costs": "layoutc.costs",
    "Loaded": "layoutc.loaded",
    "Phase": "layoutc.phase",
    "WrongCall": "layoutc.pipeline",
    "WrongFile": "layoutc.pipeline",
    "compile": "layoutc.calls",
    "compile_text": "layoutc.calls",
}


def __getattr__(name: str) -> object:
    """A public name, from the module that it lives in."""
    if name not in _HOMES:
        raise AttributeError(f"module 'layoutc' has no attribute {name!r}")
    found: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
