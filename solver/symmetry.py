"""Axes that a problem treats alike: of layouts that differ by a renaming of them one is enough.

Where two axes have as many chips, no annotation names them, and collectives take as long over
either, every assignment can be renamed into one of the same cost. So a single variable may be
confined to layouts in which such axes stand in order; all else is found in the names that go with
it.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from layoutc.solver.hardware.fabric import Fabric
from layoutc.solver.meshes import named_axes
from layoutc.solver.problem import Problem
from layoutc.solver.relations import Flags
from layoutc.solver.space import Space


def ordered(problem: Problem, fabric: Fabric) -> tuple[int, Flags]:
    """A variable, and [nodes] whether axes that are alike stand in order there.

    It is one that must use every axis, if there is one: that leaves nothing to be renamed.
    """
    variables = {problem.find(v) for v in range(len(problem.variables))}
    stored = {problem.find(v.root) for v in problem.values if v.stored}

    def rank(variable: int) -> tuple[bool, bool, int]:
        return problem.variables[variable].spread, variable in stored, -variable

    best = max(variables, key=rank)
    return best, _in_order(problem.space(best), alike(problem, fabric))


def alike(problem: Problem, fabric: Fabric) -> list[tuple[str, ...]]:
    """The groups of axes that can be renamed among themselves."""
    named = named_axes(problem.parts[0].program)
    groups: list[list[str]] = []
    for axis in problem.axes:
        if axis not in named:
            mine = next((g for g in groups if fabric.exchangeable(g[-1], axis)), None)
            if mine is None:
                groups.append([axis])
            else:
                mine.append(axis)
    return [tuple(group) for group in groups]


def _in_order(space: Space, groups: list[tuple[str, ...]]) -> Flags:
    """[nodes], whether each group is met in order as a layout is read, dim by dim, then what is
    partial, then what is not used."""
    flags = np.ones(len(space), dtype=bool)
    pairs = [
        (space.axes.index(a), space.axes.index(b)) for group in groups for a, b in pairwise(group)
    ]
    for first, second in pairs:
        flags &= space.reading[:, first] < space.reading[:, second]
    return flags
