"""The six statements that change a layout, and nothing else: LANGUAGE's collectives.

Each takes its axes off the end of dims' lists (or out of the partial axes, or from nowhere)
and puts them on the end of one dim's list; `permute` reorders one list. Whatever would leave
chunks out of order is refused here, since JAX itself says nothing.
"""

from __future__ import annotations

from layoutc.dsl.operation import Move
from layoutc.dsl.refusal import Held, Refusal, letters, scattered
from layoutc.dsl.shape import Shape

Verdict = Shape | tuple[Refusal, ...]


def move(operation: Move, operand: Held, written: Shape | None) -> Verdict:
    """The shape that `operation` gives, or why it can't be done.

    `written` says where axes land for the statements that scatter; the others only have to
    agree with it, which the caller compares.
    """
    match operation.kind:
        case "all-gather":
            return _all_gather(operation, operand)
        case "all-reduce":
            return _all_reduce(operation, operand)
        case "reduce-scatter":
            return _reduce_scatter(operation, operand, written)
        case "all-to-all":
            return _all_to_all(operation, operand, written)
        case "slice":
            return _slice(operation, operand, written)
        case "permute":
            return _permute(operation, operand, written)


def _all_gather(operation: Move, operand: Held) -> Verdict:
    refusals = _off_the_end(operation, operand)
    return refusals or operand.shape.without(operation.axes)


def _all_reduce(operation: Move, operand: Held) -> Verdict:
    refusals = _not_partial(operation, operand)
    if refusals:
        return refusals
    rest = (a for a in operand.shape.partial if a not in operation.axes)
    return operand.shape.with_partial(rest, operand.shape.reduction)


def _reduce_scatter(operation: Move, operand: Held, written: Shape | None) -> Verdict:
    refusals = _not_partial(operation, operand)
    if refusals:
        return refusals
    if operand.shape.reduction == "max":
        axes = letters(operation.axes)
        return (
            Refusal(
                f"{operand.name} is a partial maximum over {letters(operand.shape.partial)}; "
                "reduce-scatter sums",
                f"write instead:  all-reduce({axes}) {operand.name}",
                origin=operand.name,
                note="made here",
            ),
        )
    rest = (a for a in operand.shape.partial if a not in operation.axes)
    return _land(operation, operand.shape.with_partial(rest), written)


def _all_to_all(operation: Move, operand: Held, written: Shape | None) -> Verdict:
    refusals = _off_the_end(operation, operand)
    if refusals:
        return refusals
    sources = {operand.shape.place(a) for a in operation.axes}
    if len(sources) > 1:
        both = " and ".join(sorted(s for s in sources if s))
        message = f"all-to-all takes axes off one dim, not off {both} at once"
        return (Refusal(message, "write one all-to-all for each dim", at="axes"),)
    verdict = _land(operation, operand.shape.without(operation.axes), written)
    if isinstance(verdict, Shape) and verdict.place(operation.axes[0]) in sources:
        message = f"all-to-all({letters(operation.axes)}) leaves its axes on the dim they came from"
        return (Refusal(message, "permute reorders the axes of one dim", at="annotation"),)
    return verdict


def _slice(operation: Move, operand: Held, written: Shape | None) -> Verdict:
    taken = tuple(a for a in operation.axes if not operand.shape.whole_over(a))
    if taken:
        message = (
            f"{operand.name} : {operand.shape} is not whole over {letters(taken)}; slice keeps a "
            "chip's own part of what every chip holds"
        )
        return (Refusal(message, at="axes", origin=operand.name, note="held so here"),)
    return _land(operation, operand.shape, written)


def _permute(operation: Move, operand: Held, written: Shape | None) -> Verdict:
    axes, shape = set(operation.axes), operand.shape
    homes = [d for d in shape if axes & set(d.axes)]
    if len(homes) != 1 or not axes <= set(homes[0].axes):
        message = (
            f"permute({letters(operation.axes)}) reorders the axes of one dim; no dim of "
            f"{operand.name} : {shape} is split over all of {letters(operation.axes)}"
        )
        return (Refusal(message, at="axes", origin=operand.name, note="held so here"),)
    if written is None:
        return (_unsaid(operation),)
    home, target = homes[0], written.split(homes[0].name)
    kept = len(target) == len(home.axes) and all(
        new == old or {new, old} <= axes for new, old in zip(target, home.axes, strict=True)
    )
    if sorted(target) != sorted(home.axes) or not kept:
        message = (
            f"permute({letters(operation.axes)}) of {shape} reorders "
            f"{letters(a for a in home.axes if a in axes)} within {home}; it does not give "
            f"{written}"
        )
        return (Refusal(message, at="annotation"),)
    if target == home.axes:
        return (Refusal(f"permute({letters(operation.axes)}) of {shape} changes nothing"),)
    return shape.with_split(home.name, target)


# What the moves share.


def _off_the_end(operation: Move, operand: Held) -> tuple[Refusal, ...]:
    """Why the axes are not at the ends of their dims' lists; empty if they are."""
    axes, shape = set(operation.axes), operand.shape
    absent = tuple(a for a in operation.axes if shape.place(a) is None)
    if absent:
        return (_not_split(operation, operand, absent),)
    refusals = []
    for dim in shape:
        count = sum(a in axes for a in dim.axes)
        end = dim.axes[len(dim.axes) - count :]
        if not set(end) <= axes:
            moving = letters(a for a in dim.axes if a in axes)
            first = min(i for i, a in enumerate(dim.axes) if a in axes)
            message = (
                f"{operation.kind}({moving}) of {shape}: {moving} is not at the end of {dim}, so "
                "the chunks would be out of order"
            )
            hint = (
                f"take {letters(dim.axes[first:])}, or permute so that {moving} is least "
                f"significant, or order {dim.name}'s axes otherwise where it is made"
            )
            refusals.append(
                Refusal(message, hint, at="axes", origin=operand.name, note="held so here")
            )
    return tuple(refusals)


def _not_split(operation: Move, operand: Held, absent: tuple[str, ...]) -> Refusal:
    shape, kind = operand.shape, operation.kind
    if set(absent) & set(shape.partial):
        message = (
            f"{operand.name} : {shape} is not split over {letters(absent)} but partial over it; "
            f"{kind} moves parts, it does not reduce"
        )
        hint = f"write instead:  {scattered(operand, absent)}"
        return Refusal(message, hint, at="axes", origin=operand.name, note="made here")
    message = (
        f"{operand.name} : {shape} is not split over {letters(absent)}; {kind} has no part to move"
    )
    split = letters(shape.axes)
    hint = f"it is split over {split}" if split else "every chip holds it whole"
    return Refusal(message, hint, at="axes", origin=operand.name, note="held so here")


def _not_partial(operation: Move, operand: Held) -> tuple[Refusal, ...]:
    shape = operand.shape
    absent = tuple(a for a in operation.axes if a not in shape.partial)
    if not absent:
        return ()
    message = f"{operand.name} : {shape} is not partial over {letters(absent)}"
    split = tuple(a for a in absent if shape.place(a))
    if split:
        message += f"; it is split over {letters(split)}"
        hint = f"all-gather({letters(split)}) makes parts whole"
    else:
        message += "; every chip along it holds the same, and the sum would be too large"
        hint = f"leave {letters(absent)} out"
    return (Refusal(message, hint, at="axes", origin=operand.name, note="held so here"),)


def _land(operation: Move, base: Shape, written: Shape | None) -> Verdict:
    """`base` with the axes on the end of the one dim where `written` has them."""
    if written is None:
        return (_unsaid(operation),)
    axes = set(operation.axes)
    homes = [d for d in written if axes & set(d.axes)]
    if len(homes) != 1 or not axes <= set(homes[0].axes) or homes[0].name not in base:
        where = " and ".join(map(str, homes)) or "no dim"
        message = (
            f"{operation.kind}({letters(operation.axes)}) puts its axes on the end of one dim; "
            f"{written} has them on {where}"
        )
        return (Refusal(message, at="annotation"),)
    landed = tuple(a for a in homes[0].axes if a in axes)
    return base.with_split(homes[0].name, base.split(homes[0].name) + landed)


def _unsaid(operation: Move) -> Refusal:
    axes = letters(operation.axes)
    message = f"where {axes} lands does not follow from {operation.kind}({axes})"
    return Refusal(message, "write the result's layout after the name:  NAME : SHAPE = ...")
