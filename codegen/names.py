"""How the program's names are spelled in Python.

Tensors' names were checked by the grammar, so only clashes matter: Python's keywords, and
the names that an emitted module uses itself. A file's stem may be anything.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable

MODULE = frozenset(
    "annotations argparse functools math os statistics sys time zlib jax jnp np lax P "
    "AbstractMesh AxisType Mesh NamedSharding NamedTuple Any Sequence Tensor "
    "product own_part permute _chips reorder make_mesh make_inputs checked_sizes extents part "
    "reference main start options shrunk worst median_ms block carry weights dtype _".split()
)
"""What the fixed text defines and imports (a test holds this list against it)."""


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


def identifier(stem: str) -> str:
    """A file's stem as the name of a function: ASCII letters, digits and underscores.

    >>> identifier("2d weight-stationary"), identifier("main"), identifier("class")
    ('_2d_weight_stationary', 'main_', 'class_')
    """
    text = re.sub(r"[^0-9A-Za-z_]", "_", stem) or "program"
    if text[0].isdigit() or text.startswith("__"):
        text = "_" + text.lstrip("_")
    while _reserved(text) or text.isupper() or hasattr(builtins, text):
        text += "_" if not text.isupper() else "_program"
    return text


def _reserved(text: str) -> bool:
    return keyword.iskeyword(text) or text in MODULE
