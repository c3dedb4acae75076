"""A program as it is served: at its sizes, with int8 weights, with heads that chips divide."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import count
from math import prod
from typing import Literal

from layoutc.dsl.operation import Hold, Move
from layoutc.dsl.program import Declare, Define, Item, Program, Repeat
from layoutc.solver.attention import HEADS
from layoutc.solver.matmuls import matmul
from layoutc.solver.stored import layers_weights

Weights = Literal["bf16", "int8"]

MOST_PADDING = Fraction(1, 3)
"""So much is added to a number of heads at most: a third, as 48 are padded to 64 in the paper's
section 4."""


def sized(program: Program, **sizes: int) -> Program:
    """The program without phases, where B, L and M, as far as it has them, have these sizes."""
    known = {dim: size for dim, size in sizes.items() if dim in program.dims}
    return replace(program, dims={**program.dims, **known}, phases=())


def with_weights(program: Program, weights: Weights) -> Program:
    """The program whose layers' matrices are int8; as it is for bf16."""
    return _quantised(program) if weights == "int8" else program


def _quantised(program: Program) -> Program:
    multiplied, held = _multiplied(program), _held(program)

    def stored(item: Item) -> Item:
        if isinstance(item, Repeat):
            return replace(item, body=tuple(map(stored, item.body)))  # type: ignore[arg-type]
        if held.get(item.name) in multiplied:
            return replace(item, type=replace(item.type, dtype="int8"))
        return item

    return replace(program, items=tuple(map(stored, program.items)))


def _held(program: Program) -> dict[str, str]:
    """The names that hold a weight of the layers, as it is declared or moved, and which one."""
    found = {name: name for name in layers_weights(program)}
    for item, _ in program.walk():
        match item:
            case Define(name, _, Move(operand=weight) | Hold(weight)) if weight in found:
                found[name] = found[weight]
            case _:
                pass
    return found


def _multiplied(program: Program) -> frozenset[str]:
    """The weights of the layers that are multiplied, however they are held there."""
    types, held = program.types, _held(program)
    products = (matmul(i, types) for i, _ in program.walk() if isinstance(i, Define))
    names = {n for p in products if p is not None for n in (p.left, p.right)}
    return frozenset(held[name] for name in names if name in held)


def padded(program: Program, chips: int) -> Program:
    """The program whose heads, if they and the chips divide neither the other, take the room of
    the next number of heads where one of them does; as it is where that adds too much, or where
    the file pads them itself. Where heads are in groups, K·G, the groups grow."""
    counted = sorted(HEADS & program.sizes.keys())
    if not counted or HEADS & program.useful.keys():
        return program
    dim, *others = counted
    size, each = program.sizes[dim], prod(program.sizes[other] for other in others)
    to = next(n for n in count(size) if not each * n % chips or not chips % (each * n))
    if not size < to <= size * (1 + MOST_PADDING):
        return program
    return replace(program, dims={**program.dims, dim: to}, useful={**program.useful, dim: size})


def spread(program: Program) -> Program:
    """The program whose caches are stored once, no part of one on two chips, where the file leaves
    that open."""

    def stored(item: Item) -> Item:
        if isinstance(item, Repeat):
            return replace(item, body=tuple(map(stored, item.body)))  # type: ignore[arg-type]
        if isinstance(item, Declare) and item.kind == "cache" and item.type.shape.hole == "?":
            shape = replace(item.type.shape, hole="!")
            return replace(item, type=replace(item.type, shape=shape))
        return item

    return replace(program, items=tuple(map(stored, program.items)))
