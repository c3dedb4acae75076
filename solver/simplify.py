"""What need not be decided: layouts that can be taken alike, or left whole, at no cost.

A mask moves nothing and takes any layout, and dividing by a number takes partial sums too: what is
moved between two of such statements may as well be moved before or after both. Positions and
lengths are so small that every chip may hold them all, and takes its part of them for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from layoutc.dsl.dtypes import WHOLE_NUMBERS
from layoutc.dsl.operation import Layer
from layoutc.solver.problem import Problem, Value

MASKS = frozenset({"causal", "valid"})


@dataclass(frozen=True, slots=True)
class Led:
    """A layer's operation: its leading operand and the leaf in which it is had, the same of the
    others, and what comes of it."""

    operation: Layer
    lead: tuple[Value, int]
    others: tuple[tuple[Value, int], ...]
    result: Value

    @property
    def place(self) -> tuple[int, ...]:
        """The leaf of the positions, the lengths or the ids, where it has such and they are no
        number."""
        counts = self.operation.kind in WHOLE_NUMBERS
        named = isinstance(self.operation.operands[-1], str)
        return (self.others[-1][1],) if counts and named else ()


def simplify(problem: Problem, led: Iterable[Led], inputs: Iterable[Value]) -> None:
    """Leaves an optimum of the problem, with fewer layouts to choose."""
    led = list(led)
    places = {leaf for each in led for leaf in each.place}
    for value in inputs:
        if value.leaves and places.issuperset(value.leaves):
            _replicate(problem, value)
    for each in led:
        source, leaf = each.lead
        alone = source.leaves == [leaf] and source.times == each.result.times
        # What is scaled is no partial maximum, which a value may be until it is moved.
        if each.operation.kind == "scale" and alone and source.reduction == "sum":
            _unmoved(problem, source, leaf)
        free = all(value.free for value, _ in each.others)
        if each.operation.kind in MASKS and free and len(each.result.leaves) == 1:
            _unmoved(problem, each.result, each.result.leaves[0])


def _replicate(problem: Problem, value: Value) -> None:
    """Holds a value whole on every chip, unless it is to be held otherwise, or like another."""
    root = problem.variables[value.root]
    tied = value.root in problem.merged or value.root in problem.merged.values()
    whole = root.allowed & (root.space.place == root.space.WHOLE).all(axis=1)
    if whole.any() and not root.spread and not tied:
        root.allowed = whole
        value.free = True


def _unmoved(problem: Problem, value: Value, leaf: int) -> None:
    """Has a value used as it comes to be."""
    before = {problem.find(value.root), problem.find(leaf)}
    if len(before) == 2:
        problem.equate(value.root, leaf)
