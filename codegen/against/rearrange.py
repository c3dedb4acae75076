"""Arrays laid out anew, cut and joined, by the digits of their dims: see `blocks`.

Each function takes a block and gives one, or `None` where the outcome can't be followed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from layoutc.codegen.against.blocks import Block, tidy, unnumbered
from layoutc.codegen.against.digits import Digit, Digits, chopped, counted, free


def reshaped(block: Block, extents: Sequence[int]) -> Block | None:
    """The elements in the same order as an array of other extents."""
    dims = chopped([d for digits in block.dims for d in digits], extents)
    numbers = None if block.numbers is None else block.numbers.reshape(-1, *extents)
    return None if dims is None else tidy(replace(block, dims=dims, numbers=numbers))


def transposed(block: Block, order: Sequence[int]) -> Block:
    """The array's dims in another order: dim i of the result is `order[i]` of the operand."""
    numbers = block.numbers
    if numbers is not None:
        numbers = numbers.transpose(0, *(i + 1 for i in order))
    return replace(block, dims=tuple(block.dims[i] for i in order), numbers=numbers)


def recast(
    block: Block, held: Sequence[int], extents: Sequence[int], wanted: Sequence[int]
) -> Block | None:
    """The elements as they lie in memory, read as another array.

    `held` and `wanted` are the two layouts: dims from the least significant in memory.
    """
    major = list(reversed(wanted))
    lying = reshaped(transposed(block, list(reversed(held))), [extents[i] for i in major])
    return lying and transposed(lying, [major.index(i) for i in range(len(major))])


def broadcast(block: Block, places: Sequence[int], extents: Sequence[int]) -> Block:
    """The array's dims as the dims `places` of a larger one, all else copies."""
    dims = [free(extent) for extent in extents]
    shape = [1] * len(extents)
    for place, digits in zip(places, block.dims, strict=True):
        dims[place] = digits
        shape[place] = extents[place]
    numbers = block.numbers
    if numbers is not None:
        numbers = np.broadcast_to(numbers.reshape(-1, *shape), (len(numbers), *extents))
    return tidy(replace(block, dims=tuple(dims), numbers=numbers))


def freed(block: Block, dim: int, extent: int) -> Block | None:
    """The array with `extent` elements along a dim of which nothing is known any more."""
    letters = [d.dim for d in block.dims[dim] if d.dim]
    if any(map(block.varies, letters)):
        return None
    dims = (*block.dims[:dim], free(extent), *block.dims[dim + 1 :])
    return tidy(replace(unnumbered(block), dims=dims, name=""))


# Parts.


def cut(block: Block, dim: int, start: np.ndarray, size: int, fresh: str = "") -> Block | None:
    """The part of each device along a dim: `size` elements from `start[device]` on.

    A free dim that is cut at different places becomes a dim of its own, called `fresh`.
    """
    block = unnumbered(block)
    digits = block.dims[dim]
    if all(not d.dim for d in digits) and np.any(start != start[0]):
        digits = (Digit(fresh, 1, block.extents[dim]),)
    starts, kept, below = dict(block.starts), [], 1
    left, inside = size, True
    for digit in reversed(digits):
        place = start // below
        place = place if digit is digits[0] else place % digit.size
        below *= digit.size
        inside = inside and left % digit.size == 0
        size = digit.size if inside else left
        if np.any(place + size > digit.size) or (inside and np.any(place)):
            return None
        kept.append(replace(digit, size=size))
        left = left // digit.size if inside else 1
        if digit.dim:
            starts[digit.dim] = starts.get(digit.dim, 0) + place * digit.stride
    dims = (*block.dims[:dim], tuple(reversed(kept)), *block.dims[dim + 1 :])
    return tidy(replace(block, dims=dims, starts=starts))


def strided(block: Block, dim: int, ends: Sequence[int], devices: int) -> Block | None:
    """A slice from, to, and in steps of what the program's text gives."""
    start, stop, step = (*ends, 1)[:3]
    size = -(-(stop - start) // step)
    if step == 1:
        found = cut(block, dim, np.full(devices, start), size)
        return found or freed(block, dim, size)
    return freed(block, dim, size)


# Joining.


def stacked(
    blocks: Sequence[Block], tables: Sequence[Sequence[np.ndarray]], letters: Sequence[str]
) -> tuple[Digits, dict[str, np.ndarray]] | None:
    """The digits that count through blocks of one shape, and where the first begins.

    `tables[k][i]` is where block k begins in `letters[i]` on each device.
    """
    places = np.array(tables)
    steps = places - places[:1]
    if np.any(steps != steps[:, :, :1]):
        return None
    digits = counted(steps[:, :, 0], letters)
    if not digits:
        return None
    return digits, {d: places[0, i] for i, d in enumerate(letters)}


def joined(blocks: Sequence[Block], dim: int, devices: int) -> Block | None:
    """Arrays one after another along a dim."""
    blocks = list(map(unnumbered, blocks))
    first = blocks[0]
    extent = sum(b.extents[dim] for b in blocks)
    alike = all(b.dims == first.dims and b.terms is None and b.mark is None for b in blocks)
    letters = sorted(first.letters)
    if alike and letters:
        zero = np.zeros(devices, np.int64)
        tables = [[b.starts.get(d, zero) for d in letters] for b in blocks]
        found = stacked(blocks, tables, letters)
        if found:
            row = (*found[0], *first.dims[dim])
            dims = (*first.dims[:dim], row, *first.dims[dim + 1 :])
            name = first.name if all(b.name == first.name for b in blocks) else ""
            return tidy(replace(first, dims=dims, starts=found[1], name=name))
    return _together(blocks, dim, extent)


def _together(blocks: Sequence[Block], dim: int, extent: int) -> Block | None:
    """Blocks that differ along the dim, all devices alike there: it is free afterwards."""
    loose = [freed(b, dim, 1) for b in blocks]
    first = next((b for b in loose if b and b.letters), loose[0])
    if first is None or any(b is None or not _meets(b, first) for b in loose):
        return None
    dims = (*first.dims[:dim], free(extent), *first.dims[dim + 1 :])
    return replace(first, dims=dims, name="")


def _meets(block: Block, first: Block) -> bool:
    return block.equals(first) or (not block.letters and block.uniform and first.terms is None)
