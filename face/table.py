"""Rows of cells as aligned columns: how everything that is listed is printed."""

from __future__ import annotations

from collections.abc import Sequence

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
