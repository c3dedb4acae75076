"""What the devices hold after a collective, from what they held before it: see `blocks`.

Nothing is taken from a collective's name but what it does with devices' numbers: which axes of a
mesh it is over comes out of the tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from layoutc.codegen.against.blocks import Block, Terms, canonical, tidy
from layoutc.codegen.against.digits import counted
from layoutc.codegen.against.rearrange import cut
from layoutc.codegen.against.summing import reducible
from layoutc.codegen.compiled.groups import Groups
from layoutc.dsl.shape import Reduction


def members(groups: Groups) -> np.ndarray:
    """A row for each group, its devices in order."""
    return np.array(sorted(groups))


def gathered(block: Block, groups: Groups, dim: int) -> Block | None:
    """An all-gather: what a group's devices hold, one after another along the dim."""
    rows, letters = members(groups), sorted(block.letters)
    if rows.shape[1] == 1:
        return block
    if not letters:
        return None
    places = np.stack([_table(block, d, rows.size)[rows] for d in letters], axis=2)
    steps = places - places[:, :1]
    digits = counted(steps[0], letters)
    if digits is None or np.any(steps != steps[0]) or not _same_terms(block, rows):
        return None
    starts = {}
    for i, letter in enumerate(letters):
        starts[letter] = np.zeros(rows.size, np.int64)
        starts[letter][rows] = places[:, :1, i]
    dims = (*block.dims[:dim], (*digits, *block.dims[dim]), *block.dims[dim + 1 :])
    return tidy(replace(block, dims=dims, starts=starts))


def reduced(block: Block, groups: Groups, reduction: Reduction) -> Block | None:
    """An all-reduce: a group's devices hold terms of the same, and all get their sum."""
    rows = members(groups)
    if rows.shape[1] == 1:
        return block
    block = reducible(block, rows, reduction)
    terms = block.terms
    alike = all(
        np.all(_rows(block, d, rows) == _rows(block, d, rows)[:, :1]) for d in block.letters
    )
    if terms is None or terms.reduction != reduction or not alike:
        return None
    left = _left(terms, rows)
    if left is None:
        return None
    rest = replace(terms, labels=left) if np.any(left) else None
    return replace(block, terms=rest, name="")


def _left(terms: Terms, rows: np.ndarray) -> np.ndarray | None:
    """The labels after the sum; None if a term would be counted twice, or not with all of its."""
    held = np.sort(terms.labels[rows], axis=1)
    if np.any(held[:, 1:] == held[:, :-1]):
        return None
    sets = {tuple(row) for row in held.tolist()}
    if sum(map(len, sets)) != terms.count:
        return None
    first = np.zeros(rows.size, np.int64)
    first[rows] = held[:, :1]
    return canonical([first])


def scattered(block: Block, groups: Groups, reduction: Reduction, dim: int) -> Block | None:
    """A reduce-scatter: the sum, of which each device of a group keeps its part of the dim."""
    whole = reduced(block, groups, reduction)
    return whole and own(whole, groups, dim)


def own(block: Block, groups: Groups, dim: int) -> Block | None:
    """Each device's part of a dim that is dealt out to its group in order."""
    rows = members(groups)
    size, rest = divmod(block.extents[dim], rows.shape[1])
    if rest:
        return None
    start = np.zeros(rows.size, np.int64)
    start[rows] = np.arange(rows.shape[1]) * size
    return cut(block, dim, start, size)


def exchanged(block: Block, groups: Groups, dim: int) -> Block | None:
    """An all-to-all on one array: parts of a dim for the devices of a group, and from them."""
    part = own(block, groups, dim)
    return part and gathered(part, groups, dim)


def dealt(blocks: Sequence[Block], groups: Groups) -> list[Block] | None:
    """An all-to-all of several: operand i for the i-th of a group, result j from the j-th."""
    rows, first = members(groups), blocks[0]
    if any(b.dims != first.dims or b.terms for b in blocks):
        return None
    results = []
    for source in range(len(blocks)):
        starts = {}
        for letter in first.letters:
            sent = np.stack([_rows(b, letter, rows)[:, source] for b in blocks], axis=1)
            starts[letter] = np.zeros(rows.size, np.int64)
            starts[letter][rows] = sent
        results.append(tidy(replace(first, starts=starts)))
    return results


def permuted(block: Block, pairs: Sequence[tuple[int, int]], devices: int) -> Block | None:
    """A collective-permute in which every device gets something, if only its own."""
    source = np.full(devices, -1)
    for giver, taker in pairs:
        source[taker] = giver
    if np.any(source < 0):
        return None
    starts = {d: table[source] for d, table in block.starts.items()}
    terms = block.terms
    if terms is not None:
        terms = replace(terms, labels=canonical([terms.labels[source]]))
    return tidy(replace(block, starts=starts, terms=terms))


def _same_terms(block: Block, rows: np.ndarray) -> bool:
    """True if a group's devices hold the same term."""
    if block.terms is None:
        return True
    labels = block.terms.labels[rows]
    return bool(np.all(labels == labels[:, :1]))


def _table(block: Block, dim: str, devices: int) -> np.ndarray:
    found = block.starts.get(dim)
    return np.zeros(devices, np.int64) if found is None else found


def _rows(block: Block, dim: str, rows: np.ndarray) -> np.ndarray:
    found: np.ndarray = _table(block, dim, rows.size)[rows]
    return found
