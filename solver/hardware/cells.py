"""Cells of a CSV file with their places, so that what is wrong with one can be shown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from math import isfinite

from layoutc.dsl.errors import Span

QUOTED = re.compile(r'\s*"(?:[^"]|"")*"\s*(?=,|\Z)')
"""A cell as a spreadsheet may write it: with quotes, and in them commas and doubled quotes."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell's text and its place."""

    text: str
    span: Span


def cells(line: int, text: str) -> Iterator[Cell]:
    """The cells of a line, without the quotes that a spreadsheet may put around them."""
    at = 0
    while at <= len(text):
        quoted = QUOTED.match(text, at)
        comma = quoted.end() if quoted else text.find(",", at)
        part = text[at : comma if comma >= 0 else len(text)]
        start = at + len(part) - len(part.lstrip())
        inner = part.strip()
        span = Span(line, start + 1, max(start + 1, start + len(inner)) + 1)
        bare = inner.removeprefix('"').removesuffix('"')
        yield Cell(bare.replace('""', '"') if quoted else bare, span)
        at += len(part) + 1


def number(text: str) -> float:
    """What a text says, 0 if it is no number."""
    try:
        found = float(text)
    except ValueError:
        return 0.0
    return found if isfinite(found) else 0.0


def meant(text: str, known: Sequence[str]) -> str:
    """The known word that is nearest to a text, as a hint, or all of them."""
    near = get_close_matches(text, known, 1)
    return f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
