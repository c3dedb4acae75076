"""Caches handed from one phase to the next: the layout in which they can be placed there.

A phase leaves its caches as it holds them. Where the next one holds them otherwise, or has more
places, they are moved first: to the layout that they have there, whole on every dim that has
another size there, for what lands where is known only when it is placed.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from layoutc.dsl.program import DTYPES, Declare
from layoutc.solver.problem import Handed, Part, Problem, Step, Value, Variable
from layoutc.solver.space import Node, Space


def hand_over(problem: Problem) -> None:
    """Ties the layouts of each cache in consecutive parts by what it takes to hand it over."""
    for number, (source, target) in enumerate(pairwise(problem.parts)):
        walked = source.program.walk()
        caches = [(i, n) for i, n in walked if isinstance(i, Declare) and i.kind == "cache"]
        if all(_fits(item, source, target) for item, _ in caches):
            for item, times in caches:
                _hand(problem, number, item, times)


def _fits(item: Declare, source: Part, target: Part) -> bool:
    """Whether a cache of one part has a place in the other's."""
    return all(source.sizes[d] <= target.sizes[d] for d in item.type.shape.names)


def _hand(problem: Problem, number: int, item: Declare, times: int) -> None:
    source, target = problem.parts[number : number + 2]
    start, end = (problem.find(p.of[item.name].root) for p in (source, target))
    here, there = problem.space(start), problem.space(end)
    placed = _placed(here, there, [source.sizes[d] == target.sizes[d] for d in here.dims])
    problem.variables.append(Variable(here, here.partial == 0, number))
    leaf = len(problem.variables) - 1
    nodes = np.flatnonzero(problem.variables[end].allowed)
    problem.steps.append(Step(number, (end, leaf), (nodes, placed[nodes])))
    size = DTYPES[item.type.dtype]
    value = Value(item.name, number, start, "sum", size, times, [leaf], in_place=True)
    problem.values.append(value)
    problem.handed.append(Handed(item.name, value))


def _placed(here: Space, there: Space, alike: list[bool]) -> np.ndarray:
    """[nodes of `there`], the node of `here` that is split as it is on the dims that are alike."""
    return np.array(
        [
            here.index[
                Node(
                    tuple(own if same else () for own, same in zip(node.lists, alike, strict=True)),
                    (),
                )
            ]
            for node in there.nodes
        ]
    )
