"""Every layout that a tensor can have on a mesh, every move between two, and the cheapest way.

Written as plainly as can be, and from the rules alone: `layoutc.dsl.rules.infer` says which
statements are legal, `layoutc.solver.collectives.received` what a move brings. Nothing of the
solver's search is used.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from heapq import heappop, heappush
from itertools import combinations, permutations, product
from math import prod

from layoutc.dsl.program import Move
from layoutc.dsl.refusal import Held
from layoutc.dsl.rules import infer
from layoutc.dsl.shape import Dim, Reduction, Shape
from layoutc.solver.collectives import moves_nothing, received

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


class Layouts:
    """The layouts of tensors of `dims` on `mesh`, by number, and the distances between them.

    A layout in which axes do not divide a dim is none. Distances are in elements that a chip
    receives, times the chips of the mesh, which makes them whole numbers.
    """

    def __init__(
        self, dims: tuple[str, ...], sizes: Mapping[str, int], mesh: Mapping[str, int]
    ) -> None:
        self.values = {**sizes, **mesh}
        self.mesh, self.chips = mesh, prod(mesh.values())
        candidates = all_shapes(dims, tuple(mesh))
        self.shapes = [s for s in candidates if self._divides(s)]
        self.number = {shape: i for i, shape in enumerate(self.shapes)}
        self.moves = [list(self._moves(s)) for s in self.shapes]
        self.distances = [self._from(i) for i in range(len(self.shapes))]

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
        if moves_nothing(move, before, after, self.mesh):
            return 0
        cost = received(move, before, after).exact(self.values) * self.chips
        assert cost.denominator == 1
        return int(cost)

    def _from(self, start: int) -> list[int]:
        """Dijkstra: the distance from one layout to every other."""
        distances = [FAR] * len(self.shapes)
        queue = [(0, start)]
        while queue:
            distance, at = heappop(queue)
            if distance >= distances[at]:
                continue
            distances[at] = distance
            for _, after, cost in self.moves[at]:
                heappush(queue, (distance + cost, after))
        return distances
