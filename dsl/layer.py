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

from layoutc.dsl.longhand import STATISTICS, in_place_of
from layoutc.dsl.notation import print_operation
from layoutc.dsl.operation import Layer
from layoutc.dsl.refusal import Held, Refusal, gathered, lacking, letters, named, unreduced
from layoutc.dsl.shape import Dim, Shape

TOKENS = "L"
"""The dim that counts the tokens of a pass, by the language's convention."""

LINEAR = frozenset({"rope", "scale", "rename"})
"""What commutes with a sum, so that a partial sum may go through."""

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
    message = f"{print_operation(operation)} has the dims {letters(found)}, not {letters(written)}"
    return Refusal(message, at="annotation")


def _dims(operation: Layer, dims: Mapping[str, tuple[str, ...]]) -> tuple[str, ...] | Refusal:
    lead = dims[operation.lead]
    match operation.kind:
        case "rmsnorm" | "layernorm" | "rope" | "softmax" | "causal" | "valid":
            counted = () if operation.kind in STATISTICS else operation.dims[-1:]
            able = tuple(d for d in lead if d not in counted)
            refused = lacking(operation.lead, lead, operation.dims)
            return refused or _beside(operation, operation.followers, able, dims) or lead
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


def _beside(
    operation: Layer,
    names: tuple[str, ...],
    able: tuple[str, ...],
    dims: Mapping[str, tuple[str, ...]],
) -> Refusal | None:
    """The refusal of an operand beside the leading one that has other dims than it may have.

    A position has none of the dims that are turned or masked by it. Where it has the tokens' dim
    it says where each of them is, else where the first is.
    """
    for name in names:
        strange = tuple(d for d in dims[name] if d not in able)
        if strange:
            takes = f"{named(able)} at most" if able else "no dims"
            message = (
                f"{name} has the {named(strange)}; beside {operation.lead}, {operation.kind} "
                f"takes {takes}"
            )
            first = operation.kind == "write" and TOKENS in strange
            hint = "it says where the first token goes; the others follow it" if first else ""
            return Refusal(message, hint, at="operand", origin=name, note="defined here")
    return None


def tokens_written(operation: Layer, dims: Mapping[str, tuple[str, ...]]) -> str:
    """The dim of what is written that goes to the places of a cache: L of k, BLKQ, in BMKQ."""
    cache, new = dims[operation.lead], dims[str(operation.operands[1])]
    return next(d for d in new if d not in cache)


def _written(operation: Layer, dims: Mapping[str, tuple[str, ...]]) -> tuple[str, ...] | Refusal:
    cache, (name, *position) = dims[operation.lead], operation.followers
    new, place = dims[name], operation.dims[0]
    refused = lacking(operation.lead, cache, (place,))
    if refused:
        return refused
    kept = tuple(d for d in cache if d != place)
    counted = tuple(d for d in new if d not in kept)
    if len(counted) != 1 or counted == (place,) or not set(kept) <= set(new):
        has = f"{named(kept)}, and one" if kept else "one dim"
        message = (
            f"what is written to {operation.lead} of {letters(cache)} has {has} for the new "
            f"tokens in place of {place}; {name} has {letters(new)}"
        )
        hint = f"{letters(cache).replace(place, TOKENS)} would do" if TOKENS in counted else ""
        return Refusal(message, hint, at="operand", origin=name, note="defined here")
    return _beside(operation, tuple(position), kept, dims) or cache


def _renamed(operation: Layer, lead: tuple[str, ...]) -> tuple[str, ...] | Refusal:
    old, new = operation.dims
    refused = lacking(operation.lead, lead, (old,))
    if refused:
        return refused
    if new in lead:
        message = f"{operation.lead} of {letters(lead)} has a dim {new} already"
        return Refusal(message, at="dims", origin=operation.lead, note="defined here")
    return tuple(new if d == old else d for d in lead)


def _looked_up(operation: Layer, dims: Mapping[str, tuple[str, ...]]) -> tuple[str, ...] | Refusal:
    ids, (row,) = str(operation.operands[1]), operation.dims
    refused = lacking(operation.lead, dims[operation.lead], (row,))
    if refused:
        return refused
    if row in dims[ids]:
        message = f"{ids} has the dim {row}; ids say where along {row}, and have other dims"
        return Refusal(message, at="operand", origin=ids, note="defined here")
    rest = tuple(d for d in dims[operation.lead] if d != row)
    shared = tuple(d for d in rest if d in dims[ids])
    if shared:
        message = f"{ids} has the {named(shared)} of {operation.lead}; a row is looked up whole"
        return Refusal(message, at="operand", origin=ids, note="defined here")
    return (*dims[ids], *rest)


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
    return Held(ids.name, Shape((*ids.shape.dims, Dim(row))), ids.dtype)


def ids_refused(table: Held, ids: Held) -> tuple[Refusal, ...]:
    """Why no chip has an id and the row of it: the terms of an id are none, or one is split where
    the other is split otherwise."""
    if ids.shape.partial:
        return (unreduced(ids, "embed"),)
    refusals = []
    for dim in ids.shape:
        met = tuple(a for a in dim.axes if table.shape.place(a) not in {None, dim.name})
        if met:
            there = table.shape.place(met[0])
            message = (
                f"{ids.name} is split over {letters(met)} on {dim.name} and {table.name} on "
                f"{there}: no chip holds {dim.name} and {there} of the same place"
            )
            hint = f"add before it:  {gathered(ids, dim.axes[dim.axes.index(met[0]) :])}"
            note = f"{dim.name} is split over {letters(met)} here"
            refusals.append(Refusal(message, hint, at="operand", origin=ids.name, note=note))
    return tuple(refusals)


def _lead_refused(operation: Layer, lead: Held) -> list[Refusal]:
    shape = lead.shape
    linear = operation.kind in LINEAR and shape.reduction == "sum"
    if shape.partial and not linear and operation.kind != "rename":
        return [unreduced(lead, operation.kind)]
    split = [d for d in kept_whole(operation) if shape.split(d)]
    return [_not_whole(operation, lead, dim) for dim in split]


def _not_whole(operation: Layer, lead: Held, dim: str) -> Refusal:
    axes = lead.shape.split(dim)
    what = f"rope turns pairs of {dim}" if operation.kind == "rope" else print_operation(operation)
    if operation.kind != "rope":
        what += f" needs all of {dim} on a chip"
    message = f"{what}, and {lead.name} is split over {letters(axes)} there"
    hint = f"add before it:  {gathered(lead, axes)}"
    steps = in_place_of(operation, lead)
    if steps:
        hint += f"\nor write in its place:\n{steps}"
    return Refusal(message, hint, at="operand", origin=lead.name, note="held so here")


def _follower_refused(operation: Layer, lead: Held, other: Held) -> list[Refusal]:
    """Why an operand does not have the part that the leading one takes of it."""
    if other.shape.partial:
        return [unreduced(other, operation.kind)]
    more = {dim.name: _beyond(dim.axes, lead.shape.split(dim.name)) for dim in other.shape}
    hint = f"add before it:  {gathered(other, tuple(a for axes in more.values() for a in axes))}"
    refusals = []
    for dim in other.shape:
        if more[dim.name]:
            message = _too_little(operation, lead, other, dim)
            note = f"{dim.name} is split over {letters(dim.axes)} here"
            refusals.append(Refusal(message, hint, at="operand", origin=other.name, note=note))
    return refusals


def _too_little(operation: Layer, lead: Held, other: Held, dim: Dim) -> str:
    over, theirs = letters(dim.axes), letters(lead.shape.split(dim.name))
    if dim.name not in lead.shape:
        needs = f"{operation.kind} needs all of {dim.name} on a chip"
        return f"{needs}, and {other.name} is split over {over} there"
    there = f"over {theirs}" if theirs else "not"
    return (
        f"{dim.name} is split over {over} in {other.name} and {there} in {lead.name}: a chip needs "
        f"all of {other.name} that goes with its part of {lead.name}"
    )


def _beyond(axes: tuple[str, ...], lead: tuple[str, ...]) -> tuple[str, ...]:
    """What of a list of axes is not what the leading list begins with."""
    pairs = zip(axes, lead, strict=False)
    same = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(axes), len(lead)))
    return axes[same:]
