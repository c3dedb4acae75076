"""What a chip stores of a program for good: its weights and caches, and the scales of int8 weights.

Every chip holds all of a weight's scales: they take little, and nothing ever moves for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import ceil, prod

from layoutc.dsl.program import DTYPES, Declare, Item, Program, Repeat
from layoutc.dsl.scales import scaled
from layoutc.solver.collectives import held

SCALE = DTYPES["f32"]
"""The bytes of a scale."""


def stored(program: Program, mesh: Mapping[str, int]) -> dict[str, int]:
    """The bytes on one chip of each weight and cache, all its repetitions, its scales included."""
    values, beside = {**program.sizes, **mesh}, scales(program)
    return {
        item.name: ceil(held(item.type.shape).exact(values)) * DTYPES[item.type.dtype] * times
        + beside.get(item.name, 0)
        for item, times in program.walk()
        if isinstance(item, Declare) and item.kind != "input"
    }


def scales(program: Program) -> dict[str, int]:
    """The bytes of the scales of each int8 weight, all its repetitions."""
    times = {item.name: n for item, n in program.walk()}
    return {
        name: SCALE * prod(program.sizes[dim] for dim in dims) * times[name]
        for name, dims in scaled(program).items()
    }


def layers_weights(program: Program) -> frozenset[str]:
    """The weights by which a layout is called: those of the blocks that are repeated, where there
    are any; what stands outside, a table or the logits' matrix, may fare otherwise."""
    blocks = [item.body for item in program.items if isinstance(item, Repeat)]
    repeated = frozenset(_weights(inner for body in blocks for inner in body))
    return repeated or frozenset(_weights(item for item, _ in program.walk()))


def _weights(items: Iterable[Item]) -> Iterator[str]:
    return (i.name for i in items if isinstance(i, Declare) and i.kind == "weight")
