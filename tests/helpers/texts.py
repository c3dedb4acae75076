"""Programs for the tests of emission, read from text without the front end.

Explicit programs only, every annotation written, one statement to a line; nothing is checked. It
keeps these tests independent of the parser: what a program means is held against NumPy here.
"""

from __future__ import annotations

import re

from layoutc.dsl.program import (
    Apply,
    Arithmetic,
    Axis,
    Cast,
    Declare,
    Define,
    Hold,
    Item,
    Move,
    Next,
    Number,
    Operand,
    Operation,
    Output,
    Product,
    Program,
    Reduce,
    Repeat,
    Type,
)
from layoutc.dsl.shape import Dim, Shape

MOVE = r"(all-gather|reduce-scatter|all-reduce|all-to-all|slice|permute)\((\w+)\) (\w+)$"


def shape(text: str) -> Shape:
    """`BLE_yz(partialsum-x)` as a shape."""
    found = re.fullmatch(r"((?:[A-Z](?:_[a-z]+)?)+)(?:\(partial(sum|max)-([a-z]+)\))?", text)
    assert found, text
    dims = re.findall(r"([A-Z])(?:_([a-z]+))?", found[1])
    parts = tuple(Dim(d, tuple(a)) for d, a in dims)
    return Shape(parts, tuple(found[3] or ()), "max" if found[2] == "max" else "sum")


def read(text: str, name: str = "test") -> Program:
    """The program; `dims`, `mesh`, `dtype` lines come first, as in a file."""
    lines = [line.split("#")[0].strip() for line in text.splitlines()]
    dims: dict[str, int | None] = {}
    axes: list[Axis] = []
    dtype = "f32"
    items: list[Item] = []
    outputs: list[Output] = []
    block: tuple[int, list[Declare | Define], list[Next]] | None = None
    for line in filter(None, lines):
        head, _, rest = line.partition(" ")
        if head == "dims":
            dims = {d: int(n) for d, n in (part.split("=") for part in rest.split())}
        elif head == "mesh":
            axes = [Axis(a, None, label or None) for a, _, label in (p.partition(":") for p in rest.split())]
        elif head == "dtype":
            dtype = rest
        elif head == "output":
            outputs += [Output(n.strip()) for n in rest.split(",")]
        elif head == "repeat":
            block = (int(rest.split()[0]), [], [])
        elif head == "next" and block:
            block[2].append(Next(*rest.split(" = ")))
        elif head == "}" and block:
            items.append(Repeat(block[0], tuple(block[1]), tuple(block[2])))
            block = None
        else:
            (block[1] if block else items).append(_statement(line, dtype))  # type: ignore[attr-defined]
    return Program(name, dims, tuple(axes), dtype, tuple(items), tuple(outputs))  # type: ignore[arg-type]


def _statement(line: str, dtype: str) -> Declare | Define:
    left, _, right = line.partition(" = ")
    what, _, held = left.partition(" : ")
    written = held.split()
    type_ = Type(shape(written[0]), written[1] if written[1:] else dtype)  # type: ignore[arg-type]
    if not right:
        kind, name = what.split()
        return Declare(kind, name, type_)  # type: ignore[arg-type]
    return Define(what.strip(), type_, _operation(right.strip()))


def _operation(text: str) -> Operation:
    if found := re.match(MOVE, text):
        return Move(found[1], tuple(found[2]), found[3])  # type: ignore[arg-type]
    if found := re.fullmatch(r"(sum|mean|max)\[([A-Z, ]+)\]\((\w+)\)", text):
        return Reduce(found[1], tuple(found[2].split(", ")), found[3])  # type: ignore[arg-type]
    if found := re.fullmatch(r"(\w+)\((\w+)\)", text):
        return Cast(found[2]) if found[1] == "cast" else Apply(found[1], found[2])  # type: ignore[arg-type]
    if found := re.fullmatch(r"(\S+) ([-+*/]) (\S+)", text):
        left, right = _operand(found[1]), _operand(found[3])
        return Product(left, right) if found[2] == "*" else Arithmetic(found[2], left, right)  # type: ignore[arg-type]
    return Hold(text)


def _operand(text: str) -> Operand:
    return text if text[0].isalpha() else Number(text)
