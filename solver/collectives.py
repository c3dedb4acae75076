"""What each of the six moves costs a chip, in elements received from others.

Source: the paper's appendix A.1. With K the product of the sizes of the axes taking part and D
the larger side on one chip, an all-gather or a reduce-scatter brings D·(K-1)/K, an all-reduce
is one of each, an all-to-all brings (K-1)/K of what a chip holds. D·(K-1)/K is D - D/K: two
monomials, so that exact costs stay sums of monomials.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from layoutc.dsl.operation import Move, MoveKind
from layoutc.dsl.shape import Shape
from layoutc.solver.monomial import Cost, Monomial


def held(shape: Shape) -> Monomial:
    """The elements of `shape` on one chip: its dims over the sizes of the axes that split it."""
    return Monomial.of(shape.names, shape.axes)


@dataclass(frozen=True, slots=True)
class Rule:
    """How a move is priced: `factor` times what a chip holds on one `side` of it.

    `shared` moves bring only the (K-1)/K that a chip did not have.
    """

    side: Literal["before", "after"]
    factor: int
    shared: bool = True


RULES: dict[MoveKind, Rule] = {
    "all-gather": Rule("after", 1),
    "reduce-scatter": Rule("before", 1),
    "all-reduce": Rule("before", 2),
    "all-to-all": Rule("before", 1),
    "slice": Rule("after", 0),
    "permute": Rule("before", 1, shared=False),
}


def received(move: Move, before: Shape, after: Shape) -> Cost:
    """Elements that one chip receives, the (K-1)/K kept. A permute counts its busiest chip."""
    large = received_large(move, before, after)
    if not RULES[move.kind].shared:
        return large
    return large - large * Monomial.of((), move.axes)


def received_large(move: Move, before: Shape, after: Shape) -> Cost:
    """The same for K much larger than 1, as the paper's closed forms have it."""
    rule = RULES[move.kind]
    return Cost.of(held(before if rule.side == "before" else after)) * rule.factor


def moves_nothing(move: Move, before: Shape, after: Shape, mesh: Mapping[str, int]) -> bool:
    """True if on this mesh no chip receives anything, whatever the formula says.

    So it is with a slice, with axes of size 1, and with a permute whose axes of more than one
    chip keep their order.
    """
    if move.kind == "slice" or all(mesh[a] == 1 for a in move.axes):
        return True
    return move.kind == "permute" and _real_axes(before, mesh) == _real_axes(after, mesh)


def sending(move: Move, before: Shape, after: Shape) -> tuple[str, ...]:
    """The axes over which chips send: those that a move names, and of a permute all from the first
    that changes its place to the last, since where sizes differ those between count on otherwise.
    """
    if move.kind != "permute":
        return move.axes
    pairs = zip(before, after, strict=True)
    own, new = next((b.axes, a.axes) for b, a in pairs if b.axes != a.axes)
    places = [i for i, axis in enumerate(own) if axis != new[i]]
    return own[places[0] : places[-1] + 1]


def _real_axes(shape: Shape, mesh: Mapping[str, int]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(a for a in dim.axes if mesh[a] > 1) for dim in shape)
