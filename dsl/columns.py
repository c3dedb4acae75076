"""Rows of cells as aligned text: how a `.layout` file is laid out, whoever prints it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby


@dataclass(frozen=True, slots=True)
class Row:
    """One line before its columns are aligned.

    `kind` says how cells are put together and with which neighbours they are aligned:
    "declare" has the cells (kind, name, shape), "define" (name, shape or "", operation), "phase"
    (name, settings); any other has one cell, the line itself. A row without cells is a blank line,
    or a comment's. `depth` counts the blocks around it.
    """

    kind: str
    cells: tuple[str, ...]
    depth: int = 0
    comment: str = ""


def align(rows: Sequence[Row]) -> str:
    """The text of the rows: neighbours aligned, at most one blank line in a row."""
    rows = _without_idle_blanks(rows)
    bodies: list[str] = []
    for _, group in groupby(rows, key=_Runs()):
        bodies += _aligned(list(group))
    return "".join(f"{line}\n" for line in _with_comments(rows, bodies))


class _Runs:
    """Numbers the runs of neighbours that share columns; a comment between them parts none."""

    def __init__(self) -> None:
        self.number, self.kind = 0, ""

    def __call__(self, row: Row) -> int:
        comment_alone = not row.cells and row.comment
        if not comment_alone and row.kind != self.kind:
            self.number, self.kind = self.number + 1, row.kind
        return self.number


def _without_idle_blanks(rows: Sequence[Row]) -> list[Row]:
    kept: list[Row] = []
    for row in rows:
        blank = not row.cells and not row.comment
        if not blank or (kept and (kept[-1].cells or kept[-1].comment)):
            kept.append(row)
    while kept and not kept[-1].cells and not kept[-1].comment:
        kept.pop()
    return kept


def _aligned(rows: list[Row]) -> list[str]:
    """The rows of one run, without their comments."""
    kinds = {row.kind for row in rows if row.cells}
    width = [0, 0]
    if kinds & {"declare", "define", "phase"}:
        width = [max(len(row.cells[i]) for row in rows if row.cells) for i in (0, 1)]
    return ["  " * row.depth + _body(row, width) for row in rows]


def _body(row: Row, width: list[int]) -> str:
    match row.kind, row.cells:
        case _, ():
            return ""
        case "declare", (kind, name, shape):
            return f"{kind:<6} {name:<{width[1]}} : {shape}"
        case "define", (name, shape, operation):
            return f"{_left(name, shape, width)} = {operation}"
        case "phase", (name, settings):
            return f"phase {name:<{width[0]}} : {settings}".rstrip()
        case _, (line,):
            return line
    raise AssertionError(row)


def _left(name: str, shape: str, width: list[int]) -> str:
    """What stands before `=`; a column for shapes only where a neighbour has one."""
    if not width[1]:
        return f"{name:<{width[0]}}"
    return f"{name:<{width[0]}} {':' if shape else ' '} {shape:<{width[1]}}"


def _with_comments(rows: list[Row], bodies: list[str]) -> list[str]:
    """Trailing comments of neighbouring lines stand in one column."""
    lines: list[str] = []
    pairs = list(zip(rows, bodies, strict=True))
    for trailing, group in groupby(pairs, key=lambda pair: bool(pair[0].comment and pair[0].cells)):
        run = list(group)
        width = max(len(body) for _, body in run) + 2
        for row, body in run:
            lines.append(f"{body:<{width}}{row.comment}" if trailing else f"{body}{row.comment}")
    return [line.rstrip() for line in lines]
