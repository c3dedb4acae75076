"""Every layout that a tensor can have on a mesh, every move between two, and the cheapest way.

Written as plainly as can be, and from the rules alone: `layoutc.dsl.rules.infer` says which
statements are legal, and a network (`networks`) what a move costs. Nothing of the search is used.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import combinations, permutations, product
from math import prod

import numpy as np
from networks import Flat, Network
from numpy.typing import NDArray

from layoutc.dsl.operation import Move
from layoutc.dsl.refusal import Held
from layoutc.dsl.rules import infer
from layoutc.dsl.shape import Dim, Reduction, Shape

FAR = 1 << 60
"""The distance to what can't be reached."""


def all_shapes(dims: tuple[str, ...], axes: tuple[str, ...]) -> Iterator[Shape]:
    """Every explicit shape of `dims`: each axis on a dim, partial, or unused; every order."""
    places = [*dims, "sum", "max", ""]
    for homes in product(places, repeat=len(axes)):
        if "sum" in homes and "max" in homes:
            continue
        at = defaultdict(list)
        for axis, home in zip(axes, homes, strict=True):
            at[home].append(axis)
        reduction: Reduction = "max" if "max" in homes else "sum"
        for orders in product(*(permutations(at[d]) for d in dims)):
            split = tuple(Dim(d, order) for d, order in zip(dims, orders, strict=True))
            yield Shape(split, (*at["sum"], *at["max"]), reduction)


@cache
def legal_moves(shape: Shape, axes: tuple[str, ...]) -> tuple[tuple[Move, Shape], ...]:
    """Every move that may be made of `shape`, and what it gives."""
    found = []
    operand = {"a": Held("a", shape, "f32")}
    for move, written in _conceivable(shape, axes):
        verdict = infer(move, operand, written, "f32")
        if isinstance(verdict, Shape):
            found.append((move, verdict))
    return tuple(found)


def _conceivable(shape: Shape, axes: tuple[str, ...]) -> Iterator[tuple[Move, Shape | None]]:
    """Moves that the rules are asked about: every axes set, every dim to land on, every order."""
    for count in range(1, len(axes) + 1):
        for some in combinations(axes, count):
            yield Move("all-gather", some, "a"), None
            yield Move("all-reduce", some, "a"), None
            for dim, order in product(shape.names, permutations(some)):
                landed = _landed(shape, dim, order)
                yield Move("reduce-scatter", some, "a"), landed
                yield Move("all-to-all", some, "a"), landed
                yield Move("slice", some, "a"), landed
    for home in shape:
        for order in permutations(home.axes):
            moved = tuple(a for a in axes if a in order and order.index(a) != home.axes.index(a))
            if moved:
                yield Move("permute", moved, "a"), shape.with_split(home.name, order)


def _landed(shape: Shape, dim: str, order: tuple[str, ...]) -> Shape:
    rest = tuple(a for a in shape.partial if a not in order)
    base = shape.without(order).with_partial(rest, shape.reduction)
    return base.with_split(dim, base.split(dim) + order)


def _between(before: Shape, after: Shape) -> tuple[str, ...]:
    """The axes from the first that changes its place to the last: where sizes differ, those between
    count on otherwise too."""
    (one, other) = next(pair for pair in zip(before, after, strict=True) if pair[0] != pair[1])
    places = [i for i, a in enumerate(one.axes) if a != other.axes[i]]
    return one.axes[places[0] : places[-1] + 1]


class Layouts:
    """The layouts of tensors of `dims` on `mesh`, by number, and the distances between them.

    A layout in which axes do not divide a dim is none, nor, without `maxima`, is a partial
    maximum. Distances are in the network's units, of elements of `itemsize` bytes.
    """

    def __init__(
        self,
        dims: tuple[str, ...],
        sizes: Mapping[str, int],
        mesh: Mapping[str, int],
        maxima: bool = True,
        network: Network | None = None,
        itemsize: int = 1,
    ) -> None:
        self.values = {**sizes, **mesh}
        self.mesh, self.network = mesh, network or Flat.of(mesh)
        self.itemsize = itemsize
        candidates = all_shapes(dims, tuple(mesh))
        kept = (s for s in candidates if maxima or s.reduction != "max")
        self.shapes = [s for s in kept if self._divides(s)]
        self.number = {shape: i for i, shape in enumerate(self.shapes)}
        self.moves = [list(self._moves(s)) for s in self.shapes]
        self.distances = self._ways()

    def _divides(self, shape: Shape) -> bool:
        return all(self.values[d.name] % prod(self.mesh[a] for a in d.axes) == 0 for d in shape)

    def elements(self, number: int) -> int:
        """What one chip holds."""
        return self.shapes[number].elements(self.values, self.mesh)

    def _moves(self, shape: Shape) -> Iterator[tuple[Move, int, int]]:
        """The moves of a layout: the move, the layout it gives, its cost."""
        for move, after in legal_moves(shape, tuple(self.mesh)):
            if after in self.number:
                yield move, self.number[after], self._cost(move, shape, after)

    def _cost(self, move: Move, before: Shape, after: Shape) -> int:
        """Nothing where no chip receives anything."""
        if move.kind == "slice" or all(self.mesh[a] == 1 for a in move.axes):
            return 0
        if move.kind == "permute" and self._alike(before, after):
            return 0
        axes = _between(before, after) if move.kind == "permute" else move.axes
        larger = after if move.kind == "all-gather" else before
        held = larger.elements(self.values, self.mesh) * self.itemsize
        return self.network.cost(move.kind, axes, held)

    def _alike(self, before: Shape, after: Shape) -> bool:
        """Whether axes of more than one chip stand in the same order in both."""
        orders = [[[a for a in d.axes if self.mesh[a] > 1] for d in s] for s in (before, after)]
        return orders[0] == orders[1]

    def _ways(self) -> NDArray[np.int64]:
        """Floyd and Warshall: the distance from each layout to every other."""
        count = len(self.shapes)
        found = np.full((count, count), FAR, dtype=np.int64)
        np.fill_diagonal(found, 0)
        for start, moves in enumerate(self.moves):
            for _, end, cost in moves:
                found[start, end] = min(cost, found[start, end])
        for middle in range(count):
            np.minimum(found, found[:, middle, None] + found[middle], out=found)
        return np.minimum(found, FAR)
