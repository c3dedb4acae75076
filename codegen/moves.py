"""The six statements that change a layout, as JAX collectives.

What JAX does not check is taken care of here: a tiled collective gets its axes in the order
in which they stand in the dim; an all-gather's result is typed as the same on all chips
(`to="invarying"`), so that the replication check can stay on; an all-to-all that lands in
another order than it left has its chunks reordered first. Every value is then typed as varying
over exactly the axes that its shape names, split or partial, which is what the check compares.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from layoutc.codegen.layouts import AxisNames
from layoutc.codegen.tree import Call, Expr, Literal
from layoutc.dsl.operation import Move
from layoutc.dsl.shape import Shape

Step = tuple[Expr, Shape]
"""A call, and the layout of what it gives."""


def steps(
    move: Move,
    operand: Expr,
    result: Expr,
    before: Shape,
    after: Shape,
    axes: AxisNames,
    leading: int = 0,
) -> Iterator[Step]:
    """The calls that `move` takes: each works on what the one before gave, named `result`.

    In front of the shapes' own dims the values have `leading` others: a stack is moved whole.
    """
    match move.kind:
        case "all-gather":
            yield from _all_gather(move, operand, result, before, axes, leading)
        case "all-reduce":
            primitive = "lax.psum" if before.reduction == "sum" else "lax.pmax"
            yield Call(primitive, (operand, axes.one_or_more(move.axes))), after
        case "reduce-scatter":
            dim, moved = _landing(move, after, leading)
            keywords = (("scatter_dimension", Literal(dim)), ("tiled", Literal(True)))
            yield Call("lax.psum_scatter", (operand, axes.one_or_more(moved)), keywords), after
        case "all-to-all":
            yield _all_to_all(move, operand, before, after, axes, leading), after
        case "slice":
            dim, moved = _landing(move, after, leading)
            yield own_part(operand, dim, moved, axes), after
        case "permute":
            held, wanted = changed_order(before, after)
            yield Call("permute", (operand, axes.all(held), axes.all(wanted))), after
        case _:
            assert_never(move.kind)


def own_part(operand: Expr, dim: int, moved: Sequence[str], axes: AxisNames) -> Expr:
    """The chip's own part of `operand` along its dim number `dim`."""
    return Call("own_part", (operand, Literal(dim), axes.one_or_more(moved)))


def changed_order(before: Shape, after: Shape) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The axes that a permutation is over, before and after: those between the ones that stay.

    Axes that keep their place in the middle are among them: where sizes differ, the blocks
    cross them.
    """
    dim = next(d for d in before if d.axes != after.split(d.name))
    held, wanted = dim.axes, after.split(dim.name)
    while held[0] == wanted[0]:
        held, wanted = held[1:], wanted[1:]
    while held[-1] == wanted[-1]:
        held, wanted = held[:-1], wanted[:-1]
    return held, wanted


def _all_gather(
    move: Move, operand: Expr, result: Expr, before: Shape, axes: AxisNames, leading: int
) -> Iterator[Step]:
    # From the last dim on: what is gathered along it need not be copied when those before follow.
    shape = before
    for number, dim in reversed(list(enumerate(before, leading))):
        moved = tuple(a for a in dim.axes if a in move.axes)
        if not moved:
            continue
        shape = shape.without(moved)
        keywords = (
            ("axis", Literal(number)),
            ("tiled", Literal(True)),
            ("to", Literal("invarying")),
        )
        yield Call("lax.all_gather", (operand, axes.one_or_more(moved)), keywords), shape
        operand = result


def _all_to_all(
    move: Move, operand: Expr, before: Shape, after: Shape, axes: AxisNames, leading: int
) -> Expr:
    source, sent = _landing(move, before, leading)
    target, wanted = _landing(move, after, leading)
    if sent != wanted:
        # Chunk number i of the target goes to the chip at place i of `wanted`.
        args = (operand, Literal(target), axes.all(wanted), axes.all(sent))
        operand = Call("reorder", args)
    keywords = (
        ("split_axis", Literal(target)),
        ("concat_axis", Literal(source)),
        ("tiled", Literal(True)),
    )
    return Call("lax.all_to_all", (operand, axes.one_or_more(sent)), keywords)


def _landing(move: Move, shape: Shape, leading: int) -> tuple[int, tuple[str, ...]]:
    """The one dim of `shape` that holds the moved axes, by number, and they in its order."""
    for number, dim in enumerate(shape, leading):
        moved = tuple(a for a in dim.axes if a in move.axes)
        if moved:
            return number, moved
    raise AssertionError(f"{shape} is not split over {move.axes}")
