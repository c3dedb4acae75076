"""Every layout of a tensor over a set of axes, numbered, with the moves between them.

A `Space` is a graph: nodes are the layouts of one tuple of dims (partial ones included), edges
are the statements that lead from one to another. It is built once for a set of axes; what an
edge costs depends on the mesh and is evaluated from arrays, so that a search never touches a
`Shape` until it prints its answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import permutations, product
from math import prod

import numpy as np
from numpy.typing import NDArray

from layoutc.dsl.operation import Move, MoveKind
from layoutc.dsl.shape import Dim, Reduction, Shape
from layoutc.solver.collectives import RULES

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Lists = tuple[tuple[str, ...], ...]

TOKENS = frozenset("BLM")
"""Dims that count tokens or sequences: at a tie the paper scatters into the others."""


@dataclass(frozen=True, slots=True)
class Node:
    """One layout: the list of axes of each dim, and the partial axes."""

    lists: Lists
    partial: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Edges:
    """The moves of a space as arrays, sorted by target: one entry an edge.

    `kinds` indexes `KINDS`; `axes` is a bit mask over the space's axes. Every node has an edge
    to itself of kind -1, the move that is not made.
    """

    source: Ints
    target: Ints
    kinds: Ints
    axes: Ints
    starts: Ints


KINDS: tuple[MoveKind, ...] = (
    "all-gather", "reduce-scatter", "all-reduce", "all-to-all", "slice", "permute",
)  # fmt: skip


class Space:
    """The layouts of the tensors with dims `dims` over `axes`, `never` naming dims left whole.

    Attributes:
        nodes: every layout; node 0 is whole on every chip.
        place: [nodes, axes], the number of the dim that an axis splits, WHOLE or PARTIAL.
        lists: [nodes, dims], the number of each dim's list of axes in `sequences`.
        partial: [nodes], a bit mask of the partial axes.
        reading: [nodes, axes], when an axis is met: dim by dim, then if partial, then if whole.
    """

    WHOLE, PARTIAL = -1, -2

    def __init__(
        self, dims: tuple[str, ...], axes: tuple[str, ...], never: frozenset[str] = frozenset()
    ) -> None:
        self.dims, self.axes = dims, axes
        self._masks: dict[tuple[str, ...], int] = {}
        self.sequences = sequences(axes)
        self._open = tuple(i for i, d in enumerate(dims) if d not in never)
        self.nodes = tuple(_nodes(dims, self._open, axes))
        self.index = {node: i for i, node in enumerate(self.nodes)}
        number = {s: i for i, s in enumerate(self.sequences)}
        self.lists: Ints = np.array([[number[s] for s in n.lists] for n in self.nodes])
        self.partial: Ints = np.array([self.mask(n.partial) for n in self.nodes])
        self.place: Ints = np.array([[_place(n, a) for a in axes] for n in self.nodes])
        self.place = self.place.reshape(len(self.nodes), len(axes))
        reading = [_reading(n, axes) for n in self.nodes]
        self.reading: Ints = np.array(reading).reshape(len(self.nodes), len(axes))
        self._edges: dict[Reduction, Edges] = {}

    def __len__(self) -> int:
        return len(self.nodes)

    def mask(self, axes: tuple[str, ...]) -> int:
        """Axes as bits, the first axis the lowest."""
        if axes not in self._masks:
            self._masks[axes] = sum(1 << self.axes.index(a) for a in axes)
        return self._masks[axes]

    def names(self, mask: int) -> tuple[str, ...]:
        """The axes of a bit mask, in the mesh's order."""
        return tuple(a for i, a in enumerate(self.axes) if mask >> i & 1)

    def shape(self, node: int, reduction: Reduction = "sum") -> Shape:
        """The layout as the notation's value."""
        lists, partial = self.nodes[node].lists, self.nodes[node].partial
        return Shape(tuple(map(Dim, self.dims, lists)), partial, reduction)

    def node(self, shape: Shape) -> int:
        """The number of an explicit shape with these dims."""
        return self.index[Node(tuple(d.axes for d in shape), shape.partial)]

    # What depends on the mesh.

    def divides(self, sizes: Mapping[str, int], mesh: Mapping[str, int]) -> NDArray[np.bool_]:
        """[nodes], whether the layout cuts every dim into equal parts."""
        parts = np.array([prod(mesh[a] for a in s) for s in self.sequences])
        extents = np.array([sizes[d] for d in self.dims])
        return np.asarray((extents % parts[self.lists] == 0).all(axis=1))

    def held(self, sizes: Mapping[str, int], mesh: Mapping[str, int]) -> Floats:
        """[nodes], the elements on one chip."""
        parts = np.array([prod(mesh[a] for a in s) for s in self.sequences], dtype=float)
        whole = float(prod(sizes[d] for d in self.dims))
        return np.asarray(whole / parts[self.lists].prod(axis=1))

    def moving(self, sizes: Mapping[str, int], mesh: Mapping[str, int]) -> Floats:
        """[edges], the elements that a move is priced by: D of `collectives.RULES`, what a chip
        holds on the larger side. For partial sums; a maximum has a subset of these edges.

        0 where nothing moves: slices, axes of one chip, permutes that leave the real axes.
        """
        edges, held = self.edges("sum"), self.held(sizes, mesh)
        group = np.array([prod(mesh[a] for a in self.names(m)) for m in range(1 << len(self.axes))])
        elements = np.zeros(len(edges.source))
        for number, kind in enumerate(KINDS):
            rule, own = RULES[kind], edges.kinds == number
            side = edges.target if rule.side == "after" else edges.source
            elements[own] = held[side[own]] * (rule.factor > 0)
        still = (group[edges.axes] == 1) | self._idle(edges, mesh)
        return np.where(still, 0.0, elements)

    def _idle(self, edges: Edges, mesh: Mapping[str, int]) -> NDArray[np.bool_]:
        """[edges], the permutes in which only axes of size 1 change places."""
        real = [tuple(a for a in s if mesh[a] > 1) for s in self.sequences]
        number = {s: i for i, s in enumerate(dict.fromkeys(real))}
        lists = np.array([number[s] for s in real])[self.lists]
        same = (lists[edges.source] == lists[edges.target]).all(axis=1)
        return np.asarray(same & (edges.kinds == KINDS.index("permute")))

    def untidiness(self, mesh: Mapping[str, int]) -> Floats:
        """[nodes], small numbers that settle ties: tokens split, then axes out of order."""
        split = np.array([sum(mesh[a] > 1 for a in s) for s in self.sequences], dtype=float)
        tokens = np.array([d in TOKENS for d in self.dims])
        swaps = np.array([_inversions(s, self.axes) for s in self.sequences], dtype=float)
        return np.asarray(
            1e3 * (split[self.lists] * tokens).sum(axis=1) + swaps[self.lists].sum(axis=1)
        )

    # The graph.

    def edges(self, reduction: Reduction) -> Edges:
        """The moves between layouts; a partial maximum is not reduce-scattered."""
        if reduction not in self._edges:
            numbers = {kind: number for number, kind in enumerate(KINDS)}
            found = [(i, i, -1, 0) for i in range(len(self))]
            for i, node in enumerate(self.nodes):
                for kind, axes, target in self._moves(node):
                    if kind != "reduce-scatter" or reduction == "sum":
                        found.append((i, self.index[target], numbers[kind], self.mask(axes)))
            found.sort(key=lambda edge: edge[1])
            source, target_, kinds, masks = (np.array(c) for c in zip(*found, strict=True))
            starts = np.searchsorted(target_, np.arange(len(self)))
            self._edges[reduction] = Edges(source, target_, kinds, masks, starts)
        return self._edges[reduction]

    def move(self, edges: Edges, edge: int, operand: str) -> Move:
        """An edge as the statement that it is."""
        kind = KINDS[edges.kinds[edge]]
        return Move(kind, self.names(int(edges.axes[edge])), operand)

    def _moves(self, node: Node) -> Iterator[tuple[MoveKind, tuple[str, ...], Node]]:
        lists, partial = node.lists, node.partial
        taken = {*partial, *(a for s in lists for a in s)}
        whole = tuple(a for a in self.axes if a not in taken)
        yield from _gathers(node)
        for axes in _subsets(partial):
            rest = tuple(a for a in partial if a not in axes)
            yield "all-reduce", axes, Node(lists, rest)
            for landed in _landings(lists, axes, self._open):
                yield "reduce-scatter", axes, Node(landed, rest)
        for axes in _subsets(whole):
            for landed in _landings(lists, axes, self._open):
                yield "slice", axes, Node(landed, partial)
        for i, own in enumerate(lists):
            for cut in range(len(own)):
                left = (*lists[:i], own[:cut], *lists[i + 1 :])
                others = tuple(j for j in self._open if j != i)
                for landed in _landings(left, own[cut:], others):
                    yield "all-to-all", own[cut:], Node(landed, partial)
            for order in permutations(own):
                moved = [a != b for a, b in zip(own, order, strict=True)]
                if any(moved):
                    first, last = moved.index(True), len(own) - moved[::-1].index(True)
                    reordered = (*lists[:i], order, *lists[i + 1 :])
                    yield "permute", own[first:last], Node(reordered, partial)


@cache
def sequences(axes: tuple[str, ...]) -> Lists:
    """Every ordered subset of `axes`; the empty one first."""
    return tuple(p for n in range(len(axes) + 1) for p in permutations(axes, n))


def _subsets(axes: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Every subset but the empty one, each in the given order."""
    picks = product((False, True), repeat=len(axes))
    return [tuple(a for a, p in zip(axes, pick, strict=True) if p) for pick in picks if any(pick)]


def _nodes(dims: tuple[str, ...], able: tuple[int, ...], axes: tuple[str, ...]) -> Iterator[Node]:
    """Every layout: each axis on one dim, whole or partial, each dim's axes in each order."""
    partial = len(dims)
    for places in product((-1, *able, partial), repeat=len(axes)):
        rest = tuple(sorted(a for a, p in zip(axes, places, strict=True) if p == partial))
        groups = [[a for a, p in zip(axes, places, strict=True) if p == d] for d in range(partial)]
        for lists in product(*(permutations(g) for g in groups)):
            yield Node(lists, rest)


def _place(node: Node, axis: str) -> int:
    if axis in node.partial:
        return Space.PARTIAL
    return next((i for i, s in enumerate(node.lists) if axis in s), Space.WHOLE)


def _reading(node: Node, axes: tuple[str, ...]) -> tuple[int, ...]:
    split = tuple(a for held in node.lists for a in held) + node.partial
    order = (*split, *(a for a in axes if a not in split))
    return tuple(order.index(a) for a in axes)


def _landings(lists: Lists, axes: tuple[str, ...], able: tuple[int, ...]) -> Iterator[Lists]:
    """`lists` with `axes` on the end of one of the lists `able`, in every order."""
    for i in able:
        for order in permutations(axes):
            yield (*lists[:i], lists[i] + order, *lists[i + 1 :])


def _gathers(node: Node) -> Iterator[tuple[MoveKind, tuple[str, ...], Node]]:
    """All-gathers may act for several dims at once: any end of each list."""
    for kept in product(*(range(len(s) + 1) for s in node.lists)):
        left = tuple(s[:k] for s, k in zip(node.lists, kept, strict=True))
        axes = tuple(a for s, k in zip(node.lists, kept, strict=True) for a in s[k:])
        if axes:
            yield "all-gather", axes, Node(left, node.partial)


def _inversions(sequence: tuple[str, ...], axes: tuple[str, ...]) -> int:
    order = [axes.index(a) for a in sequence]
    return sum(order[i] > b for i in range(len(order)) for b in order[i + 1 :])
