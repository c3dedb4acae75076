"""Sums over dims, within a device and over devices: reductions and products. See `blocks`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from layoutc.codegen.against.blocks import (
    Block,
    Source,
    Terms,
    canonical,
    tidy,
    unnumbered,
)
from layoutc.codegen.against.digits import Digit, Digits
from layoutc.codegen.against.meeting import combined, multiplied, paired, renamed
from layoutc.dsl.shape import Reduction


def summed(
    block: Block, gone: Iterable[Digit], reduction: Reduction | None, at: str
) -> Block | None:
    """What remains of a block whose digits `gone` are reduced, and are not in its dims any more.

    If devices have different parts of them, each is left with a term. `reduction` is None for one
    that is neither a sum nor a maximum.
    """
    gone = [d for d in gone if d.dim]
    kept = [d for digits in block.dims for d in digits]
    starts, tables, dims = dict(block.starts), [], []
    for digit in gone:
        table = starts.get(digit.dim)
        if table is None:
            continue
        above = [d.stride for d in kept + gone if d.dim == digit.dim and d.stride > digit.stride]
        part = table - table % digit.stride
        part = part % min(above) if above else part
        starts[digit.dim] = table - part
        if np.any(part != part[0]):
            tables.append(part)
            dims.append(digit.dim.rstrip("~'"))
    plain = tidy(replace(unnumbered(block), starts=starts, name=""))
    if not tables:
        return plain if block.terms is None or block.terms.reduction == reduction else None
    if reduction is None:
        return None
    labels = canonical(tables)
    terms = Terms(labels, reduction, (Source(tuple(dict.fromkeys(dims)), at),))
    both = terms if block.terms is None else combined(block.terms, terms)
    return replace(plain, terms=both) if both else None


# Products.


def product(
    left: Block,
    right: Block,
    batch: tuple[Sequence[int], Sequence[int]],
    contracted: tuple[Sequence[int], Sequence[int]],
    at: str,
) -> Block | None:
    """A dot: dims of the batch first, then what is the left's own, then the right's."""
    left, right = unnumbered(left), unnumbered(right)
    if left.mark is not None or right.mark is not None:
        return None
    own = [i for i in range(len(left.dims)) if i not in (*batch[0], *contracted[0])]
    others = [i for i in range(len(right.dims)) if i not in (*batch[1], *contracted[1])]
    clash = {d.dim for i in others for d in right.dims[i] if d.dim} & left.letters
    if clash & {d.dim for i in (*batch[1], *contracted[1]) for d in right.dims[i]}:
        return None
    right = renamed(right, {d: f"{d}'" for d in clash})
    rows = []
    for i, j in zip((*batch[0], *contracted[0]), (*batch[1], *contracted[1]), strict=True):
        row = paired(left, left.dims[i], right, right.dims[j])
        if row is None:
            return None
        rows.append(row)
    gone = [d for row in rows[len(batch[0]) :] for d in row if not _alone(d, row, left, right)]
    ones = [d for row in rows[len(batch[0]) :] for d in row if _alone(d, row, left, right)]
    dims = [*rows[: len(batch[0])], *(left.dims[i] for i in own)]
    if dims:
        dims[-1] = (*dims[-1], *ones)
    dims += [right.dims[i] for i in others]
    terms = multiplied(left.terms, right.terms)
    if terms == "none":
        return None
    held = Block(tuple(dims), {**right.starts, **left.starts}, terms)
    return summed(held, gone, "sum", at)


def _alone(digit: Digit, row: Digits, left: Block, right: Block) -> bool:
    """True of a digit of size 1 that may only lie in the dim that is summed: see `kept`."""
    both = digit.dim in left.letters and digit.dim in right.letters
    varies = left.varies(digit.dim) or right.varies(digit.dim)
    return digit.size == 1 and (varies or (not both and any(d.size > 1 for d in row)))


def kept(digit: Digit, row: Digits, block: Block) -> bool:
    """True of a digit of size 1 in a dim that is reduced which may not be what is reduced.

    To XLA a dim of one element is nothing: it goes along with any operation. Where the devices'
    elements are different ones, they are terms only once they are summed: see `reducible`.
    """
    return digit.size == 1 and (block.varies(digit.dim) or any(d.size > 1 for d in row))


def reducible(block: Block, rows: np.ndarray, reduction: Reduction) -> Block:
    """The same where what a collective sums over its groups are dims of one element each."""
    mixed = {d for d in block.letters if block.varies(d) and _differ(block.starts[d][rows])}
    digits = [d for ds in block.dims for d in ds if d.dim in mixed]
    if not mixed or any(d.size > 1 for d in digits):
        return block
    dims = tuple(tuple(d for d in ds if d.dim not in mixed) for ds in block.dims)
    return summed(replace(block, dims=dims), digits, reduction, "") or block


def _differ(table: np.ndarray) -> bool:
    return bool(np.any(table != table[:, :1]))
