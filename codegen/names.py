"""How the program's names are spelled in Python.

Tensors' names were checked by the grammar, so only clashes matter: Python's keywords, and the
names that an emitted function uses itself. A file's stem may be anything.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable, Mapping, Sequence

from layoutc.codegen import copied
from layoutc.dsl.program import Program

USED = frozenset(
    {"jax", "jnp", "lax", "float", "product", "own_part", "reorder", "permute"}
    | {"masked", "used_share", "useful", "trimmed", "refilled", "places", "scaled", "seen"}
    | {"block", "carry", "weights", "own", "layer", "dtype", "placed", "place"}
)
"""What stands in the emitted functions beside the program's own names."""


def respelled(names: Iterable[str]) -> dict[str, str]:
    """Each name's spelling as a variable: an underscore is added until it clashes with nothing.

    A name that needs none keeps its own spelling, so respelled ones make way for them.
    """
    names = tuple(names)
    taken = {n for n in names if not _reserved(n)}
    spelled = {}
    for name in names:
        text = name
        while _reserved(text) or (text != name and text in taken):
            text += "_"
        taken.add(text)
        spelled[name] = text
    return spelled


def beside(spelled: Mapping[str, str], names: Iterable[str], what: str) -> dict[str, str]:
    """What stands beside some of the spelled names is called: for w its `w_scales`."""
    taken, found = set(spelled.values()), dict[str, str]()
    for name in names:
        text = f"{spelled[name]}_{what}"
        while _reserved(text) or text in taken:
            text += "_"
        taken.add(text)
        found[name] = text
    return found


def function_name(program: Program, passes: Sequence[Program]) -> str:
    """What the function of a phase is called: after the file, or of several after the phase."""
    return identifier(program.phase.name if len(passes) > 1 else program.name)


def identifier(stem: str) -> str:
    """A file's stem as the name of a function: ASCII letters, digits and underscores.

    >>> identifier("2d weight-stationary"), identifier("main"), identifier("class")
    ('_2d_weight_stationary', 'main_', 'class_')
    """
    text = re.sub(r"[^0-9A-Za-z_]", "_", stem) or "program"
    if text[0].isdigit() or text.startswith("__"):
        text = "_" + text.lstrip("_")
    while keyword.iskeyword(text) or hasattr(builtins, text) or text in fixed_names():
        text += "_"
    return text


def fixed_names() -> frozenset[str]:
    """Every name in the fixed text, local ones too: the program's function is called there."""
    return (copied.names() | {"_"}) - {"program"}


def _reserved(text: str) -> bool:
    return keyword.iskeyword(text) or text in USED
