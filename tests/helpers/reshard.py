"""What changing a layout must move at the least, found by looking at every chip's block.

Nothing of the solver's is used, and no price: only where the notation says that blocks lie.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from math import prod

from layoutc.dsl.shape import Shape

Block = tuple[range, ...]
Chip = Mapping[str, int]


def blocks(
    shape: Shape, sizes: Mapping[str, int], mesh: Mapping[str, int]
) -> list[tuple[Chip, Block]]:
    """Every chip, and the indices that it holds along each dim."""
    places = product(*map(range, mesh.values()))
    chips = [dict(zip(mesh, place, strict=True)) for place in places]
    return [(chip, _block(shape, sizes, mesh, chip)) for chip in chips]


def _block(shape: Shape, sizes: Mapping[str, int], mesh: Mapping[str, int], chip: Chip) -> Block:
    found = []
    for dim in shape:
        number, parts = 0, 1
        for axis in dim.axes:
            number, parts = number * mesh[axis] + chip[axis], parts * mesh[axis]
        extent = sizes[dim.name] // parts
        found.append(range(number * extent, (number + 1) * extent))
    return tuple(found)


def partial(shape: Shape, mesh: Mapping[str, int]) -> set[str]:
    """The axes along which chips hold terms: of one chip, a term is the sum."""
    return {a for a in shape.partial if mesh[a] > 1}


def missing(before: Shape, after: Shape, sizes: Mapping[str, int], mesh: Mapping[str, int]) -> int:
    """The elements that the chip that lacks most needs under `after` and has not under `before`.

    Where terms are to be added up, it has none of them.
    """
    pairs = zip(blocks(before, sizes, mesh), blocks(after, sizes, mesh), strict=True)
    if partial(before, mesh) != partial(after, mesh):
        return max(_size(want) for _, (_, want) in pairs)
    return max(_size(want) - _common(have, want) for (_, have), (_, want) in pairs)


def _size(block: Block) -> int:
    return prod(map(len, block))


def _common(one: Block, other: Block) -> int:
    return prod(len(set(a) & set(b)) for a, b in zip(one, other, strict=True))
