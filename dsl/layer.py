"""What a Transformer layer has beside einsums: norms, positions, masks, caches, by their rules.

An operation of this kind has an operand that leads. What comes of it is held like that one; the
others follow: each is whole, or split as the leading one is, and gives the part that is wanted.
`embed` is the exception: it is a product of the table with what would be one-hot rows.

Sources: the paper's section 3.3 and 3.4 for attention; RoFormer (Su et al. 2021) for rotary
positions, in the form that rotates halves; Zhang and Sennrich 2019 for the RMS norm.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from layoutc.dsl.operation import Layer
from layoutc.dsl.refusal import Held, Refusal, gathered, letters, unreduced
from layoutc.dsl.shape import Dim, Shape

TOKENS = "L"
"""The dim that counts the tokens of a pass, by the language's convention."""

LINEAR = frozenset({"rope", "scale", "rename"})
"""What commutes with a sum, so that a partial sum may go through."""

STATISTICS = frozenset({"rmsnorm", "layernorm", "softmax"})
"""What reduces a dim on the way: where that is split, statements of their own do it."""

Verdict = Shape | tuple[Refusal, ...]


def kept_whole(operation: Layer) -> tuple[str, ...]:
    """The dims of the leading operand that a chip has to hold whole."""
    match operation.kind:
        case "rmsnorm" | "layernorm" | "softmax" | "rope":
            return operation.dims
        case "embed" | "write" | "scale" | "causal" | "valid" | "rename":
            return ()
        case _:
            assert_never(operation.kind)


# Dims.


def layer_dims(
    operation: Layer, dims: Mapping[str, tuple[str, ...]], written: tuple[str, ...] | None
) -> tuple[str, ...] | Refusal:
    """The dims of the result, in order, or why there is none."""
    found = _dims(operation, dims)
    if isinstance(found, Refusal) or written is None or written == found:
        return found
    if operation.kind == "embed" and set(written) == set(found):
        return written
    message = f"{spelled(operation)} has the dims {letters(found)}, not {letters(written)}"
    return Refusal(message, at="annotation")


def spelled(operation: Layer) -> str:
    """The operation as a sentence has it: "softmax[M](s)"."""
    arrow = " -> " if operation.kind == "rename" else ", "
    return f"{operation.kind}[{arrow.join(operation.dims)}]({operation.lead})"


def _dims(operation: Layer, dims: Mapping[str, tuple[str, ...]]) -> tuple[str, ...] | Refusal:
    lead = dims[operation.lead]
    match operation.kind:
        case "rmsnorm" | "layernorm" | "rope" | "softmax" | "causal" | "valid":
            return _lacking(operation, lead, operation.dims) or _beside(operation, dims) or lead
        case "scale":
            return lead
        case "write":
            return _written(operation, dims)
        case "rename":
            return _renamed(operation, lead)
        case "embed":
            return _looked_up(operation, dims)
        case _:
            assert_never(operation.kind)


def _lacking(operation: Layer, has: tuple[str, ...], wanted: tuple[str, ...]) -> Refusal | None:
    strange = tuple(d for d in wanted if d not in has)
    if not strange:
        return None
    name = operation.lead
    message = f"{name} has no dim {letters(strange)}; its dims are {letters(has)}"
    return Refusal(message, at="dims", origin=name, note="defined here")


def _beside(operation: Layer, dims: Mapping[str, tuple[str, ...]]) -> Refusal | None:
    """What stands beside the leading operand has none but its dims; a position none of those
    that it counts or masks."""
    gone = set() if operation.kind in STATISTICS else {operation.dims[-1]}
    able = tuple(d for d in dims[operation.lead] if d not in gone)
    for name in operation.followers:
        strange = tuple(d for d in dims[name] if d not in able)
        if strange:
            message = (
                f"{name} has the dim {letters(strange)}; beside {operation.lead} of "
                f"{letters(dims[operation.lead])}, {operation.kind} takes "
                f"{f'dims of {letters(able)}' if able else 'none'}"
            )
            return Refusal(message, at="right", origin=name, note="defined here")
    return None


def tokens_written(operation: Layer, dims: Mapping[str, tuple[str, ...]]) -> str:
    """The dim of what is written that goes to the places of a cache: L of k, BLKQ, in BMKQ."""
    cache, new = dims[operation.lead], dims[str(operation.operands[1])]
    return next(d for d in new if d not in cache)


def _written(operation: Layer, dims: Mapping[str, tuple[str, ...]]) -> tuple[str, ...] | Refusal:
    cache, name = dims[operation.lead], str(operation.operands[1])
    new, place = dims[name], operation.dims[0]
    lacking = _lacking(operation, cache, (place,))
    if lacking:
        return lacking
    kept = tuple(d for d in cache if d != place)
    counted = tuple(d for d in new if d not in kept)
    if len(counted) != 1 or counted == (place,) or not set(kept) <= set(new):
        message = (
            f"what is written to {operation.lead} of {letters(cache)} has the dims "
            f"{letters(kept)} and one that counts the places of {place}; {name} has {letters(new)}"
        )
        return Refusal(message, at="statement", origin=name, note="defined here")
    able = kept
    for position in operation.followers[1:]:
        strange = tuple(d for d in dims[position] if d not in able)
        if strange:
            message = (
                f"{position} has the dim {letters(strange)}: a place is said for each of "
                f"{letters(able)} at most"
            )
            return Refusal(message, at="right", origin=position, note="defined here")
    return cache


def _renamed(operation: Layer, lead: tuple[str, ...]) -> tuple[str, ...] | Refusal:
    old, new = operation.dims
    lacking = _lacking(operation, lead, (old,))
    if lacking:
        return lacking
    if new in lead:
        message = f"{operation.lead} of {letters(lead)} has a dim {new} already"
        return Refusal(message, at="dims", origin=operation.lead, note="defined here")
    return tuple(new if d == old else d for d in lead)


def _looked_up(operation: Layer, dims: Mapping[str, tuple[str, ...]]) -> tuple[str, ...] | Refusal:
    ids, (row,) = str(operation.operands[1]), operation.dims
    lacking = _lacking(operation, dims[operation.lead], (row,))
    if lacking:
        return lacking
    if row in dims[ids]:
        message = f"{ids} has the dim {row} itself; what it holds are the numbers of {row}"
        return Refusal(message, at="right", origin=ids, note="defined here")
    rest = tuple(d for d in dims[operation.lead] if d != row)
    return tuple(dict.fromkeys(dims[ids] + rest))


# Layouts.


def layer_layout(operation: Layer, operands: Mapping[str, Held]) -> Verdict:
    """The layout of the result of all but `embed`, or every reason why there is none."""
    lead = operands[operation.lead]
    refusals = [*_lead_refused(operation, lead)]
    for name in operation.followers:
        refusals += _follower_refused(operation, lead, operands[name])
    if refusals:
        return tuple(refusals)
    if operation.kind != "rename":
        return lead.shape
    old, new = operation.dims
    dims = tuple(Dim(new, d.axes) if d.name == old else d for d in lead.shape)
    return Shape(dims, lead.shape.partial, lead.shape.reduction)


def one_hot(ids: Held, row: str) -> Held:
    """What `embed` multiplies its table with: for each id a row that every chip can make whole."""
    shape = Shape((*ids.shape.dims, Dim(row)), ids.shape.partial, ids.shape.reduction)
    return Held(ids.name, shape, ids.dtype)


def _lead_refused(operation: Layer, lead: Held) -> list[Refusal]:
    shape = lead.shape
    linear = operation.kind in LINEAR and shape.reduction == "sum"
    if shape.partial and not linear and operation.kind != "rename":
        return [unreduced(lead, operation.kind)]
    split = [d for d in kept_whole(operation) if shape.split(d)]
    return [_not_whole(operation, lead, dim) for dim in split]


def _not_whole(operation: Layer, lead: Held, dim: str) -> Refusal:
    axes = lead.shape.split(dim)
    hint = f"add before it:  {gathered(lead, axes)}"
    if operation.kind == "rope":
        message = f"rope turns pairs of {dim}, and {lead.name} is split over {letters(axes)} there"
    else:
        message = (
            f"{operation.kind}[{dim}] needs all of {dim} on a chip, and {lead.name} is split over "
            f"{letters(axes)} there"
        )
        hint += (
            f"; or spell it out: {_steps(operation)}, each reduced by all-reduce({letters(axes)})"
        )
    return Refusal(message, hint, at="left", origin=lead.name, note="held so here")


def _steps(operation: Layer) -> str:
    (dim,) = operation.dims
    return {
        "softmax": f"max[{dim}] and sum[{dim}] of the exponentials",
        "rmsnorm": f"mean[{dim}] of the squares",
        "layernorm": f"mean[{dim}] of it and of the squares",
    }[operation.kind]


def _follower_refused(operation: Layer, lead: Held, other: Held) -> list[Refusal]:
    """Why an operand does not have the part that the leading one takes of it."""
    if other.shape.partial:
        return [unreduced(other, operation.kind)]
    refusals = []
    for dim in other.shape:
        theirs = lead.shape.split(dim.name)
        if dim.axes != theirs[: len(dim.axes)]:
            more = dim.axes[_common(dim.axes, theirs) :]
            held = f"over {letters(theirs)}" if theirs else "not"
            message = (
                f"{other.name} is split over {letters(dim.axes)} on {dim.name}, {lead.name} {held} "
                f"there: {operation.kind} needs of {other.name} at least the part that {lead.name} "
                "has"
            )
            hint = f"add before it:  {gathered(other, more)}"
            note = f"{dim.name} is split over {letters(dim.axes)} here"
            refusals.append(Refusal(message, hint, at="right", origin=other.name, note=note))
    return refusals


def _common(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """How many axes two lists begin with alike."""
    pairs = zip(one, other, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
