"""The language's own words, and what is said about a word that is not one of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

from layoutc.dsl.operation import Function, LayerKind, MoveKind, ReduceKind
from layoutc.dsl.program import DTYPES, DeclareKind

FUNCTIONS: tuple[Function, ...] = get_args(Function)
MOVES: tuple[MoveKind, ...] = get_args(MoveKind)
LAYERS: tuple[LayerKind, ...] = get_args(LayerKind)
REDUCTIONS: tuple[ReduceKind, ...] = get_args(ReduceKind)
DECLARATIONS: tuple[DeclareKind, ...] = get_args(DeclareKind)

HEADS = (
    "dims", "mesh", "dtype", "order", "phase", *DECLARATIONS, "output", "repeat", "next",
)  # fmt: skip
"""The words that a statement may start with."""

OPERATIONS = (*FUNCTIONS, "cast", *REDUCTIONS, *LAYERS, *MOVES)
CONSTANTS: dict[LayerKind, str] = {"rmsnorm": "eps", "layernorm": "eps", "rope": "theta"}
"""What a constant in brackets is called, of the operations that take one."""

RESERVED = frozenset({*HEADS, *OPERATIONS, *DTYPES, "free", "padded"})
"""What no tensor may be called."""

LARGEST = 2**62
"""The largest size of anything."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """ "did you mean gelu?", or "" if nothing is near."""
    from difflib import get_close_matches

    near = get_close_matches(word, list(known), 1, 0.6)
    return f"did you mean {near[0]}?" if near else ""


def listed(words: Iterable[str]) -> str:
    """ "a, b or c"."""
    *rest, last = words
    return f"{', '.join(rest)} or {last}" if rest else last


def size(text: str) -> int | str:
    """A size from its spelling, or what is wrong with it."""
    if not text.isascii() or not text.isdigit():
        negative = text[:1] == "-" and text[1:].isdigit()
        return "is negative; a size is at least 1" if negative else "is not a whole number"
    digits = text.lstrip("0")
    if not digits:
        return "is zero; a size is at least 1"
    # Python refuses to convert thousands of digits, so length is asked first.
    if len(digits) > 19 or int(digits) > LARGEST:
        return "is beyond any size: at most 2^62"
    return int(digits)


def number(text: str) -> str | None:
    """The canonical spelling of a number, None if no float can hold it."""
    value = float(text)
    if value in (float("inf"), float("-inf")):
        return None
    whole = value.is_integer() and abs(value) < 2**53
    return str(int(value)) if whole else repr(value).replace("e-0", "e-").replace("e+", "e")
