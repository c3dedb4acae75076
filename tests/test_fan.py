"""Trees of moves: the recursion over sets of leaves against every tree there is."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from machines import elements_moved

from layoutc.solver.fan import Fan
from layoutc.solver.routes import Routes
from layoutc.solver.space import Floats, Ints, Space

SIZES, MESH = {"A": 12, "B": 24, "C": 6}, {"x": 2, "y": 3}
SPACE = Space(("A", "B", "C"), ("x", "y"))
RATE = 0.5


def routes() -> Routes:
    edges = SPACE.edges("sum")
    received = elements_moved(SPACE, SIZES, MESH)
    return Routes.of(edges, (received, np.where(edges.kinds < 0, 0.0, 1.0)), valid())


def valid() -> np.ndarray:
    return SPACE.divides(SIZES, MESH)


def fan(leaves: int, seed: int) -> tuple[Fan, list[Floats]]:
    """A root and leaves with random domains, and random costs of their layouts."""
    chosen = np.random.default_rng(seed)
    every = np.flatnonzero(valid())
    nodes = [np.sort(chosen.choice(every, size=4, replace=False)) for _ in range(leaves + 1)]
    costs = [chosen.random(4) * 40 for _ in nodes]
    return Fan(tuple(range(leaves + 1)), tuple(nodes), routes(), RATE), costs


def brute(fan: Fan) -> Floats:
    """[root, leaf, ...], the least over every tree, branching at every layout."""
    every = fan.routes.layouts
    ways = fan.routes.between(every, every)[0] * RATE
    place = {int(node): i for i, node in enumerate(every)}
    ends: list[Ints] = [np.array([place[int(n)] for n in nodes]) for nodes in fan.nodes]
    root, *leaves = ends
    if len(leaves) == 1:
        return ways[np.ix_(root, leaves[0])]
    if len(leaves) == 2:
        a, b = leaves
        there = ways[:, a][:, :, None] + ways[:, b][:, None, :]
        return np.min(ways[root][:, :, None, None] + there[None], axis=1)
    shape = tuple(len(e) for e in ends)
    least = np.full(shape, np.inf)
    for one, other in combinations(range(3), 2):
        (last,) = {0, 1, 2} - {one, other}
        pair = ways[:, leaves[one]][:, :, None] + ways[:, leaves[other]][:, None, :]
        joined = np.min(ways[:, :, None, None] + pair[None], axis=1)
        full = joined[:, :, :, None] + ways[:, leaves[last]][:, None, None, :]
        best = np.min(ways[root][:, :, None, None, None] + full[None], axis=1)
        order = np.argsort([one, other, last])
        least = np.minimum(least, best.transpose(0, *(1 + order)))
    return least


def outer(costs: list[Floats], without: int) -> Floats:
    """The sum of the ends' costs, one of them left out, over all assignments."""
    shape = [len(c) for c in costs]
    total = np.zeros(shape)
    for i, cost in enumerate(costs):
        if i != without:
            total = total + cost.reshape([-1 if j == i else 1 for j in range(len(costs))])
    return total


each = pytest.mark.parametrize("seed", range(8))
many = pytest.mark.parametrize("leaves", [1, 2, 3])


@each
@many
def test_a_message_is_the_least_over_all_trees(leaves: int, seed: int) -> None:
    made, costs = fan(leaves, seed)
    table = brute(made)
    for at in range(leaves + 1):
        others = tuple(i for i in range(leaves + 1) if i != at)
        wanted = np.min(table + outer(costs, at), axis=others)
        np.testing.assert_allclose(made.tell([at], costs)[0], wanted, rtol=1e-12)


@each
@many
def test_ends_are_told_at_once_what_they_are_told_alone(leaves: int, seed: int) -> None:
    made, costs = fan(leaves, seed)
    places = range(leaves + 1)
    for at, told in zip(places, made.tell(places, costs), strict=True):
        np.testing.assert_allclose(told, made.tell([at], costs)[0], rtol=1e-12)


@each
def test_many_layouts_are_swept_to_the_same_costs(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Up to some number every way is known beforehand; beyond, each is looked for."""
    made, costs = fan(2, seed)
    known = made.tell(range(3), costs)
    monkeypatch.setattr("layoutc.solver.routes.FEW", 0)
    for told, again in zip(known, made.tell(range(3), costs), strict=True):
        np.testing.assert_allclose(again, told, rtol=1e-12)


@each
@many
def test_a_table_is_the_least_for_each_assignment(leaves: int, seed: int) -> None:
    made, _ = fan(leaves, seed)
    found = made.table(made.nodes, made.routes.layouts)[0]
    np.testing.assert_allclose(found, brute(made), rtol=1e-12)


@each
@many
def test_a_tree_costs_what_the_table_says(leaves: int, seed: int) -> None:
    made, _ = fan(leaves, seed)
    table = brute(made)
    chosen = np.random.default_rng(seed)
    for _ in range(10):
        at = tuple(int(i) for i in chosen.integers(4, size=leaves + 1))
        ends = [int(nodes[i]) for nodes, i in zip(made.nodes, at, strict=True)]
        edges = made.tree(ends)
        assert sum(made.routes.cost(a, b)[0] * RATE for a, b in edges) == pytest.approx(table[at])
        reached = {ends[0]}
        for start, end in edges:
            assert start in reached
            reached.add(end)
        assert set(ends) <= reached


@each
@pytest.mark.parametrize("leaves", [2, 3])
def test_a_solution_that_passes_through_a_layout_costs_no_less(leaves: int, seed: int) -> None:
    """And the least of all passes through some."""
    made, costs = fan(leaves, seed)
    through = made.through(costs)
    least = float(np.min(brute(made) + outer(costs, -1)))
    assert float(through.min()) == pytest.approx(least)
    best = np.unravel_index(np.argmin(brute(made) + outer(costs, -1)), (4,) * (leaves + 1))
    ends = [int(nodes[i]) for nodes, i in zip(made.nodes, best, strict=True)]
    for start, end in made.tree(ends):
        for node in (start, end):
            assert through[made.routes.place[node]] == pytest.approx(least)
