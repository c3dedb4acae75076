"""Blocks that meet in one operation: elementwise, in a product, or in a sum over dims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import gcd
from typing import Literal

from layoutc.codegen.against.blocks import (
    Block,
    Terms,
    canonical,
    same_start,
    tidy,
    unnumbered,
)
from layoutc.codegen.against.digits import Digit, Digits, merged


def met(blocks: Sequence[Block], opcode: str) -> Block | None:
    """The outcome of an elementwise operation on arrays of the same extents."""
    terms = _terms(blocks, opcode)
    if terms == "none":
        return None
    plain = [replace(unnumbered(b), terms=None, mark=None) for b in blocks]
    marks = [m for m in (unnumbered(b).mark for b in blocks) if m is not None]
    found = plain[0]
    for other in plain[1:]:
        pair = _aligned(found, other)
        if pair is None:
            return None
        found = pair
    name = blocks[0].name if len(blocks) == 1 else ""
    mark = canonical(marks) if marks else None
    return tidy(replace(found, terms=terms, mark=mark, name=name))


def _terms(blocks: Sequence[Block], opcode: str) -> Terms | Literal["none"] | None:
    """The terms of the outcome; a word where there would be no sense in them."""
    having = [b.terms for b in blocks if b.terms]
    if not having:
        return None
    first, alike = having[0], all(t.same(having[0]) for t in having)
    match opcode:
        case "convert" | "copy":
            return first
        case "negate" | "real" if first.reduction == "sum":
            return first
        case "add" | "subtract" if first.reduction == "sum":
            every = len(having) == len(blocks) and alike
        case "maximum" if first.reduction == "max":
            every = len(having) == len(blocks) and alike
        case "multiply" if first.reduction == "sum" and len(blocks) == 2:
            return multiplied(blocks[0].terms, blocks[1].terms)
        case "divide" if first.reduction == "sum":
            every = len(having) == 1 and blocks[0].terms is not None
        case "select":
            every = blocks[0].terms is None and len(having) == 2 and alike
        case _:
            every = False
    if not every:
        return "none"
    sources = dict.fromkeys(s for t in having for s in t.sources)
    return replace(first, sources=tuple(sources))


def multiplied(one: Terms | None, other: Terms | None) -> Terms | Literal["none"] | None:
    """The terms of a product: each of the one with each of the other."""
    if one and other:
        return combined(one, other) or "none"
    found = one or other
    return "none" if found and found.reduction != "sum" else found


def _aligned(one: Block, other: Block) -> Block | None:
    """One block with the dims of the other where its own are free."""
    if one.extents != other.extents:
        return None
    other = _apart(one, other)
    dims, starts = [], dict(one.starts)
    for left, right in zip(one.dims, other.dims, strict=True):
        row = paired(one, left, other, right)
        if row is None:
            return None
        dims.append(row)
        for digit in row:
            if digit.dim not in one.letters and digit.dim in other.starts:
                starts[digit.dim] = other.starts[digit.dim]
    return replace(one, dims=tuple(dims), starts=starts)


def _apart(one: Block, other: Block) -> Block:
    """The other block, with dims that stand elsewhere in the first under names of their own."""
    mixed = set()
    for i, left in enumerate(one.dims):
        for j, right in enumerate(other.dims):
            if i != j and _free(one.dims[j]):
                mixed |= {d.dim for d in left if d.dim} & {d.dim for d in right}
    return renamed(other, {d: f"{d}'" for d in mixed})


def _free(digits: Digits) -> bool:
    return all(not d.dim for d in digits)


def renamed(block: Block, names: Mapping[str, str]) -> Block:
    """The same with dims under other names."""
    if not names:
        return block
    dims = tuple(tuple(replace(d, dim=names.get(d.dim, d.dim)) for d in ds) for ds in block.dims)
    return replace(block, dims=dims, starts={names.get(d, d): t for d, t in block.starts.items()})


def paired(one: Block, left: Digits, other: Block, right: Digits) -> Digits | None:
    """The digits of two dims of one extent that meet: the first's, the second's where it is free.

    None if they step through dims of the program in different ways.
    """
    if left == right and all(same_start(one, other, d.dim) for d in left):
        return left
    if _free(right) or not left:
        return left or right
    if _free(left) or not right:
        return right
    pieces = _refined(left, right)
    if pieces is None:
        return None
    row = []
    for a, b in pieces:
        if a.dim and b.dim and a is not b and not _alike(one, a, other, b):
            return None
        row.append(a if a.dim else b)
    return merged(row)


def _alike(one: Block, a: Digit, other: Block, b: Digit) -> bool:
    """True if two digits are cut alike; the dims may have different names, as L beside L'."""
    return a.stride == b.stride and same_start(one, other, a.dim, b.dim)


def _refined(left: Digits, right: Digits) -> list[tuple[Digit, Digit]] | None:
    """Both rows in pieces of the same sizes, from the least significant."""
    ones, others = list(left), list(right)
    pieces = []
    while ones and others:
        a, b = ones.pop(), others.pop()
        if min(a.size, b.size) == 1 < max(a.size, b.size):
            single = a if a.size == 1 else b
            pieces.append((single, single))
            (others if a.size == 1 else ones).append(b if a.size == 1 else a)
            continue
        size = gcd(a.size, b.size)
        if size < min(a.size, b.size):
            return None
        pieces.append((replace(a, size=size), replace(b, size=size)))
        if a.size > size:
            ones.append(Digit(a.dim, a.stride * size, a.size // size))
        if b.size > size:
            others.append(Digit(b.dim, b.stride * size, b.size // size))
    if any(d.size > 1 for d in ones + others):
        return None
    pieces += [(d, d) for d in reversed(ones + others)]
    return list(reversed(pieces))


def combined(one: Terms, other: Terms) -> Terms | None:
    """The terms of a sum of sums: every term of the one is met by every term of the other."""
    labels = canonical([one.labels, other.labels])
    if one.reduction != other.reduction or int(labels.max()) + 1 != one.count * other.count:
        return None
    return Terms(labels, one.reduction, one.sources + other.sources)
