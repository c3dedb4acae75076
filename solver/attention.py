"""How attention is sharded: over heads, over the batch, over the context (the paper's section 3.3).

It is read off two products: that of the scores, which makes the dim of a context out of queries
and keys, and that of the values, which sums it. What splits a tensor that these read or make is
what attention is sharded over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from layoutc.dsl.layer import TOKENS
from layoutc.dsl.operation import Layer, Product
from layoutc.dsl.program import Declare, Define, Program
from layoutc.solver.context import PLACES, SEQUENCES

Side = Literal["batch", "heads", "head size", "context"]
"""What a dim of attention counts."""

SIDES: tuple[Side, ...] = ("batch", "heads", "head size", "context")

WHOLE = "not sharded"
"""What is said of attention that nothing splits."""

HEADS = frozenset("HKG")
"""The dims that count heads by the language's convention: where no weight has them, it decides."""


@dataclass(frozen=True, slots=True)
class Attended:
    """One of the two products: the name that it defines, its operands, and what its dims count."""

    name: str
    operands: tuple[str, str]
    sides: Mapping[str, Side]


def attended(program: Program) -> list[Attended]:
    """The products of attention in the program's order; none where nothing attends."""
    places = context_dims(program)
    found = list[tuple[str, tuple[str, str], frozenset[str], frozenset[str]]]()
    for item, _ in program.walk():
        match item:
            case Define(operation=Product(str(left), str(right))):
                dims = frozenset(d for n in (left, right) for d in program.types[n].shape.names)
                summed = dims - set(item.type.shape.names)
                if places & dims and summed:
                    found.append((item.name, (left, right), dims, summed))
            case _:
                pass
    size = frozenset(d for *_, summed in found for d in summed) - places
    by = _Counted(places, size, _dims_of_weights(program))
    return [Attended(n, names, {d: by.side(d) for d in dims}) for n, names, dims, _ in found]


def attention(program: Program, mesh: Mapping[str, int]) -> str:
    """What the attention of an explicit program is sharded over: "batch", "batch and heads", or
    "not sharded"; "" of a program without attention. Axes of one chip are passed over."""
    products = attended(program)
    split = {
        each.sides[dim.name]
        for each in products
        for name in (each.name, *each.operands)
        for dim in program.types[name].shape
        if any(mesh[axis] > 1 for axis in dim.axes)
    }
    return spelled(tuple(s for s in SIDES if s in split)) if products else ""


def spelled(sides: tuple[Side, ...]) -> str:
    """As it is said: "batch and heads"."""
    if not sides:
        return WHOLE
    *first, last = sides
    return f"{', '.join(first)} and {last}" if first else last


def phrase(over: str) -> str:
    """What a layout's name says of attention; "" where there is none."""
    if not over:
        return ""
    return f"attention {over}" if over == WHOLE else f"attention over {over}"


def context_dims(program: Program) -> frozenset[str]:
    """The dims that count the places of a context: those that a write or a rename makes, and M of
    a cache that is only read, by convention."""
    found = set[str]()
    for item, _ in program.walk():
        match item:
            case Define(operation=Layer("write" | "rename") as made):
                found.add(made.dims[-1])
            case Declare("cache") if PLACES in item.type.shape:
                found.add(PLACES)
            case _:
                pass
    return frozenset(found)


def _dims_of_weights(program: Program) -> frozenset[str]:
    declared = (i for i, _ in program.walk() if isinstance(i, Declare) and i.kind == "weight")
    return frozenset(dim for item in declared for dim in item.type.shape.names)


@dataclass(frozen=True, slots=True)
class _Counted:
    """What dims count, in one program: `size` are those that the scores sum."""

    places: frozenset[str]
    size: frozenset[str]
    weights: frozenset[str]

    def side(self, dim: str) -> Side:
        if dim in self.places or dim == TOKENS:
            return "context"
        if dim in self.size:
            return "head size"
        heads = dim in HEADS or dim in self.weights
        return "heads" if heads and dim != SEQUENCES else "batch"
