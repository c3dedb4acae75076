"""Lower bounds, fast: what a problem costs at the least if a variable takes a value.

The factors and variables of a problem form a graph. Where a factor would close a cycle it gets a
copy of the variable that need not agree with the original: what is left is a forest, on which
two passes of messages give the exact minimum for each value of each variable. Letting copies
disagree can only make things cheaper, so that these minima bound the problem from below.

Copies share the cost of their variable: what is taken off one is put on the others, so that the
sum stays the same. `layoutc.solver.ascent` lets them share it so that the bound is the greatest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from layoutc.solver.fan import Fan
from layoutc.solver.messages import Bounded, Teller, teller
from layoutc.solver.space import Floats


@dataclass(frozen=True, slots=True)
class Bounds:
    """Lower bounds of the first component of the cost: of all, and for each value of each
    variable."""

    least: float
    values: dict[int, Floats]

    def raised(self, other: Bounds) -> Bounds:
        """The higher of two bounds, each by each: both hold."""
        values = {v: np.maximum(b, other.values[v]) for v, b in self.values.items()}
        return Bounds(max(self.least, other.least), values)


@dataclass(frozen=True, slots=True)
class _Link:
    """A factor in the forest: its number, the nodes of its scope, and the one of them through
    which it hangs from the root."""

    number: int
    nodes: tuple[int, ...]
    head: int

    @property
    def tails(self) -> list[int]:
        """The nodes that hang from it."""
        return [n for n in self.nodes if n != self.head]


@dataclass
class Forest:
    """Variables (and copies) as nodes; each factor joins the nodes of its scope.

    Only what lies between copies changes from one pass to the next: messages from branches in
    which nothing is copied are passed once, and none go there until bounds are asked for.
    """

    factors: Sequence[Bounded]
    sizes: dict[int, int]
    original: dict[int, int]
    scopes: list[tuple[int, ...]] = field(default_factory=list)
    touching: dict[int, list[int]] = field(default_factory=dict)
    roots: list[int] = field(default_factory=list)
    root_of: dict[int, int] = field(default_factory=dict)
    order: list[_Link] = field(default_factory=list)
    """From the root outwards."""
    offsets: dict[int, Floats] = field(default_factory=dict)
    """What copies of a variable owe each other: for each value they add up to nothing."""
    said: dict[tuple[int, int], Floats] = field(default_factory=dict)
    """The messages of factors to nodes, those of the last pass."""
    live: list[_Link] = field(default_factory=list)
    """The factors of `order` from which copies hang."""
    still: list[_Link] = field(default_factory=list)
    """The others, from the leaves inwards."""
    leading: set[int] = field(default_factory=set)
    """The nodes that are copies, or from which copies hang."""
    nothing: dict[int, Floats] = field(default_factory=dict)
    """For each node what it knows as long as it is told nothing."""
    tellers: list[Teller] = field(default_factory=list)
    """Each factor in the shape in which it is asked for messages."""

    @classmethod
    def of(cls, domains: dict[int, int], factors: Sequence[Bounded]) -> Forest:
        forest = cls(factors, dict(domains), {v: v for v in domains})
        forest._copy_where_cyclic()
        for number, scope in enumerate(forest.scopes):
            for node in scope:
                forest.touching.setdefault(node, []).append(number)
        forest._walk()
        forest.tellers = [teller(factor) for factor in factors]
        forest.nothing = {node: np.zeros(size) for node, size in forest.sizes.items()}
        forest._part()
        forest.settle()
        return forest

    def _copy_where_cyclic(self) -> None:
        parent = {v: v for v in self.sizes}

        def find(node: int) -> int:
            while parent[node] != node:
                parent[node] = parent[parent[node]]
                node = parent[node]
            return node

        for factor in self.factors:
            scope: list[int] = []
            for variable in factor.scope:
                node = variable
                if scope and find(node) == find(scope[0]):
                    node = max(self.sizes) + 1
                    self.sizes[node] = self.sizes[variable]
                    self.original[node] = variable
                    parent[node] = node
                if scope:
                    parent[find(node)] = find(scope[0])
                scope.append(node)
            self.scopes.append(tuple(scope))

    def _walk(self) -> None:
        """The order in which messages go out from the roots: copies, where there are any."""
        seen: set[int] = set()
        for root in sorted(self.sizes, key=lambda n: self.original[n] not in self.copies):
            if root in self.root_of:
                continue
            self.roots.append(root)
            self.root_of[root] = root
            queue = [root]
            while queue:
                node = queue.pop()
                for number in self.touching.get(node, ()):
                    if number in seen:
                        continue
                    seen.add(number)
                    link = _Link(number, self.scopes[number], node)
                    self.order.append(link)
                    self.root_of.update(dict.fromkeys(link.tails, root))
                    queue += link.tails

    @cached_property
    def copies(self) -> dict[int, list[int]]:
        """The nodes of each variable that has several."""
        found: dict[int, list[int]] = {}
        for node, variable in self.original.items():
            found.setdefault(variable, []).append(node)
        return {v: nodes for v, nodes in found.items() if len(nodes) > 1}

    # Messages.

    def _part(self) -> None:
        """Finds the factors whose messages change as copies agree, and those that stay still."""
        self.leading = {node for nodes in self.copies.values() for node in nodes}
        for link in reversed(self.order):
            if self.leading.isdisjoint(link.tails):
                self.still.append(link)
            else:
                self.leading.add(link.head)
                self.live.append(link)
        self.live.reverse()

    def settle(self) -> None:
        """Passes the messages that stay as they are."""
        for link in self.still:
            self._tell(link, [link.head])

    def known(self, node: int, but: int = -1) -> Floats:
        """[values], what a node has been told, by all factors or all but one."""
        total = self.offsets.get(node, self.nothing[node])
        for number in self.touching.get(node, ()):
            if number != but:
                total = total + self.said[number, node]
        return total

    def _tell(self, link: _Link, to: Sequence[int]) -> None:
        """Passes a factor's messages to some of its nodes.

        What is known of the nodes that are told counts for nothing, and may not be known yet.
        """
        if not to:
            return
        known = [self.nothing[n] if [n] == to else self.known(n, link.number) for n in link.nodes]
        places = [link.nodes.index(n) for n in to]
        for node, told in zip(to, self.tellers[link.number].tell(places, known), strict=True):
            self.said[link.number, node] = told

    def passed(self) -> float:
        """Messages to the roots and back between copies; the least cost that this proves."""
        for link in reversed(self.live):
            self._tell(link, [link.head])
        for link in self.live:
            self._tell(link, [n for n in link.tails if n in self.leading])
        return self.least()

    def least(self) -> float:
        """The sum of the least of each tree."""
        return sum(float(self.known(root).min()) for root in self.roots)

    def apart(self) -> Forest:
        """The same forest, which goes its own way from here."""
        return replace(self, offsets=dict(self.offsets), said=dict(self.said))

    def owe(self, node: int, costs: Floats) -> None:
        """Puts costs on the values of a node."""
        self.offsets[node] = self.offsets.get(node, self.nothing[node]) + costs

    # Bounds.

    def bounds(self) -> Bounds:
        """What the last pass proves, once its messages have reached every branch."""
        for link in self.order:
            self._tell(link, [n for n in link.tails if n not in self.leading])
        least = self.least()
        values: dict[int, Floats] = {}
        for node, original in self.original.items():
            bound = self.known(node) + self._rest(node)
            values[original] = np.maximum(values.get(original, bound), bound)
        return Bounds(least, values)

    def agreed(self, variable: int) -> Floats:
        """[values], what a solution costs at least in which all copies of a variable agree."""
        trees: dict[int, Floats] = {}
        for node in self.copies[variable]:
            known, root = self.known(node), self.root_of[node]
            trees[root] = np.maximum(trees.get(root, known), known)
        rest = self.least() - sum(float(self.known(root).min()) for root in trees)
        return np.asarray(sum(trees.values()) + rest)

    def through(self) -> dict[int, Floats]:
        """For the number of each fan of several leaves, [layouts], what a solution costs at
        least whose tree passes through a layout; after `bounds`."""
        found = {}
        for number, factor in enumerate(self.factors):
            if isinstance(factor, Fan) and len(factor.scope) > 2:
                nodes = self.scopes[number]
                known = [self.known(n, number) for n in nodes]
                found[number] = factor.through(known) + self._rest(nodes[0])
        return found

    def _rest(self, node: int) -> float:
        """The least of all trees but the one of a node."""
        return sum(
            float(self.known(root).min()) for root in self.roots if root != self.root_of[node]
        )
