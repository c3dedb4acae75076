"""Rows of cells as aligned columns: how everything that is listed is printed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import wrap

WIDTH = 100
"""Of what is listed, in columns."""

NARROW = 30
"""Remarks have so many columns at least, whatever stands before them."""

Rows = list[list[str]]


def table(rows: Rows, right: Sequence[int] = (), gap: Sequence[int] = ()) -> str:
    """Rows as aligned columns, indented; those in `right` end alike, `gap` are the spaces before.

    A row of one cell runs across all columns.
    """
    width = max(len(row) for row in rows)
    full = [[*row, *[""] * (width - len(row))] for row in rows if len(row) > 1]
    widths = [max(len(cell) for cell in column) for column in zip(*full, strict=True)]
    gaps = [*gap, *[2] * (width - len(gap))]
    lines = []
    for row in rows:
        cells = (
            " " * g + (cell.rjust(w) if i in right else cell.ljust(w))
            for i, (cell, w, g) in enumerate(zip(row, widths, gaps, strict=False))
        )
        lines.append(("".join(cells) if len(row) > 1 else f"  {row[0]}").rstrip())
    return "\n".join(lines)


def listing(entries: Iterable[list[str]], before: int = 1) -> str:
    """Rows of as many cells, and then remarks, each on lines of its own within `WIDTH`."""
    entries = list(entries)
    taken = sum(max(len(entry[column]) for entry in entries) + 2 for column in range(before))
    room = max(WIDTH - taken - 2, NARROW)
    rows: Rows = []
    for entry in entries:
        lines = [line for one in entry[before:] for line in wrap(one, room)]
        rows.append([*entry[:before], *(lines[:1] or [""])])
        rows += [[*[""] * before, line] for line in lines[1:]]
    return table(rows)
