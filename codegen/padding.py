"""Where the padding of dims is masked, so that what lies there never matters.

A value is clean along a padded dim if its padding there is known to hold zeros. Inputs and weights
are not: in their padding stands whatever the caller put there, infinities too. What is computed
from it is not looked at until an operation would mix it with what is used; only there, and where a
value leaves the program, zeros are put in its place.

A cache is clean: it starts as zeros, and what is written to it is masked, so that it need not be as
a whole. Only along the dim of its places, where that is padded, tokens may come to lie beyond the
last one.

That a zero stays one is taken for granted only where both operands are clean: 0 times infinity is
none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import NamedTuple, assert_never

from layoutc.dsl.operation import (
    Apply,
    Arithmetic,
    Cast,
    Function,
    Hold,
    Layer,
    Move,
    Number,
    Operand,
    Operation,
    Product,
    Reduce,
)
from layoutc.dsl.program import Declare, Define, Item, Program, Repeat, Type

ZERO_AT_ZERO: frozenset[Function] = frozenset(
    {"relu", "gelu", "gelu_erf", "silu", "tanh", "sqrt", "square", "neg", "abs"}
)
"""The functions that keep a zero."""


class Mask(NamedTuple):
    """Zeros in the padding of a value's dim, from here on under the same name."""

    name: str
    dim: str


@dataclass(frozen=True, slots=True)
class Masks:
    """All of a program: those that stand `before` a definition, or before a block what the block
    takes from outside; `unclean` are the dims along which each value has to be masked as it leaves.
    """

    before: Mapping[Define | Repeat, tuple[Mask, ...]] = field(default_factory=dict)
    unclean: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def padded(program: Program) -> dict[str, tuple[int, int]]:
    """The dims that have padding: how much of each is used, and its size with the padding."""
    sizes = {dim: program.dims[dim] or 0 for dim in program.useful}
    return {dim: (n, sizes[dim]) for dim, n in program.useful.items() if n < sizes[dim]}


def masks(program: Program) -> Masks:
    """The masks that an explicit program takes."""
    walk = _Walk(frozenset(padded(program)), program.types, program.written)
    for item in program.items:
        walk.item(item)
    return Masks(walk.before, {name: walk.unclean(name) for name in walk.clean})


@dataclass(slots=True)
class _Walk:
    """What is known after some statements: the dims along which each value is clean."""

    padded: frozenset[str]
    types: Mapping[str, Type]
    written: Mapping[str, str]
    clean: dict[str, frozenset[str]] = field(default_factory=dict)
    before: dict[Define | Repeat, tuple[Mask, ...]] = field(default_factory=dict)

    def item(self, item: Item) -> None:
        match item:
            case Declare(kind):
                zeros = self.padded.intersection(item.type.shape.names)
                self.clean[item.name] = zeros if kind == "cache" else frozenset()
            case Define():
                self.mask(item, self.wanted(item))
                self.clean[item.name] = self.result(item.operation)
            case Repeat():
                self.repeat(item)

    def unclean(self, name: str) -> tuple[str, ...]:
        dims = self.types[name].shape.names
        return tuple(d for d in dims if d in self.padded and d not in self.clean[name])

    def mask(self, item: Define | Repeat, wanted: Iterable[Mask]) -> None:
        for mask in wanted:
            self.before[item] = (*self.before.get(item, ()), mask)
            self.clean[mask.name] |= {mask.dim}

    def wanted(self, item: Define) -> tuple[Mask, ...]:
        """What is not clean along a dim that the definition sums, or that a cache keeps."""
        match item.operation:
            case Layer("write", _, (_, str(new), _)):
                return tuple(Mask(new, d) for d in self.unclean(new) if d in item.type.shape)
            case Product(left, right):
                names = [side for side in (left, right) if isinstance(side, str)]
            case Reduce("sum" | "mean", _, operand):
                names = [operand]
            case _:
                # A maximum wants no zeros, but the least value that there is: it sees to that.
                names = []
        gone = [(n, d) for n in names for d in self.unclean(n) if d not in item.type.shape]
        return tuple(dict.fromkeys(Mask(name, dim) for name, dim in gone))

    def result(self, operation: Operation) -> frozenset[str]:
        """Along which of its dims a result is clean."""
        match operation:
            case Product(left, right):
                return self.operand(left) & self.operand(right)
            case Arithmetic("/", str(left), Number() as right):
                return self.clean[left] if right.value else frozenset()
            case Arithmetic("+" | "-", str(left), str(right)):
                return self.clean[left] & self.clean[right]
            case Arithmetic():
                return frozenset()
            case Apply(function, operand):
                return self.clean[operand] if function in ZERO_AT_ZERO else frozenset()
            case Cast(operand) | Hold(operand) | Move(_, _, operand):
                return self.clean[operand]
            case Reduce(_, dims, operand):
                return self.clean[operand] - {*dims}
            case Layer():
                return self.layer(operation)

    def layer(self, operation: Layer) -> frozenset[str]:
        """Along which of its dims a layer's operation gives something clean."""
        lead = self.clean[operation.lead]
        match operation.kind:
            case "rmsnorm" | "layernorm" | "softmax":
                return self.padded.intersection(operation.dims)
            case "rope" | "scale":
                return lead
            case "embed" | "write":
                return lead - {*operation.dims}
            case "rename":
                old, new = operation.dims
                return lead - {old} | ({new} if old in lead else frozenset())
            case "causal" | "valid":
                return frozenset()
            case _:
                assert_never(operation.kind)

    def operand(self, operand: Operand) -> frozenset[str]:
        """The dims along which a factor keeps zeros."""
        if isinstance(operand, str):
            return self.clean[operand]
        return self.padded if isfinite(operand.value) else frozenset()

    # Blocks.

    def repeat(self, block: Repeat) -> None:
        """What is carried is clean at the start of a repetition if it is so in the first one and
        at the end of each; what comes from outside is masked once, before the block."""
        inside = {item.name for item in block.body} | {n.carried for n in block.nexts}
        start = {n.carried: self.clean[n.carried] for n in block.nexts}
        while True:
            once = _Walk(self.padded, self.types, self.written, self.clean | start)
            for item in block.body:
                once.item(item)
            asked = [mask for wanted in once.before.values() for mask in wanted]
            outside = [mask for mask in asked if mask.name not in inside]
            end = {n.carried: once.clean[n.value] for n in block.nexts}
            kept = {name: dims & end[name] for name, dims in start.items()}
            if not outside and kept == start:
                break
            self.mask(block, dict.fromkeys(outside))
            start = kept
        self.before |= once.before
        own = [item.name for item in block.body if isinstance(item, Declare)]
        self.clean |= end | {name: once.clean[self.written.get(name, name)] for name in own}
