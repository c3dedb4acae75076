"""The graph of layouts, entry by entry against the rules of the notation."""

import random
from math import comb, perm

import pytest
from machines import elements_moved

from layoutc.dsl.operation import Arithmetic, Product
from layoutc.dsl.rules import Held, infer
from layoutc.dsl.shape import Shape
from layoutc.solver.collectives import moves_nothing, received
from layoutc.solver.relations import pairs, reduced
from layoutc.solver.routes import Routes
from layoutc.solver.space import Space

SIZES = {"B": 24, "L": 6, "E": 720, "F": 48}
MESH = {"x": 2, "y": 3, "z": 1}


@pytest.fixture(scope="module")
def space() -> Space:
    return Space(tuple("BLE"), tuple("xyz"))


def test_every_layout_once(space: Space) -> None:
    """Each axis on one of 3 dims, whole or partial; on a dim in every order."""
    shapes = {str(space.shape(i)) for i in range(len(space))}
    assert len(shapes) == len(space) == 176
    assert {"BLE", "B_zyLE_x", "BLE_yz(partialsum-x)", "BLE(partialsum-xyz)"} <= shapes
    assert all(space.node(space.shape(i)) == i for i in range(len(space)))


@pytest.mark.parametrize("axes", [1, 2, 3, 4])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_layouts_are_as_many_as_the_page_on_the_search_says(axes: int, dims: int) -> None:
    """k axes cut dims, in an order; each other one is whole or partial."""
    wanted = sum(perm(axes, k) * comb(k + dims - 1, k) * 2 ** (axes - k) for k in range(axes + 1))
    assert len(Space(tuple("BLE"[:dims]), tuple("xyzu"[:axes]))) == wanted


def test_a_dim_that_stays_whole() -> None:
    small = Space(tuple("BLE"), tuple("xyz"), frozenset("L"))
    assert all(not small.shape(i).split("L") for i in range(len(small)))
    assert len(small.edges("sum").source) < len(
        Space(tuple("BLE"), tuple("xyz")).edges("sum").source
    )


def test_every_edge_is_a_statement_and_has_its_price(space: Space) -> None:
    edges, prices = space.edges("sum"), elements_moved(space, SIZES, MESH)
    chosen = random.Random(0).sample(range(len(edges.source)), 700)
    for edge in (e for e in chosen if edges.kinds[e] >= 0):
        before, after = (space.shape(int(n[edge])) for n in (edges.source, edges.target))
        move = space.move(edges, edge, "a")
        assert infer(move, {"a": Held("a", before, "bf16")}, after, "bf16") == after
        exact = received(move, before, after).exact({**SIZES, **MESH})
        if moves_nothing(move, before, after, MESH):
            exact *= 0
        assert prices[edge] == pytest.approx(float(exact), rel=1e-12)


def test_every_statement_is_an_edge() -> None:
    """All that `infer` allows between two layouts is there, on a space small enough to try all."""
    space = Space(tuple("BE"), tuple("xy"))
    edges = space.edges("sum")
    have = {
        (int(s), int(t), space.move(edges, i, "a").kind)
        for i, (s, t) in enumerate(zip(edges.source, edges.target, strict=True))
        if edges.kinds[i] >= 0
    }
    want = set()
    for i in range(len(space)):
        held = {"a": Held("a", space.shape(i), "bf16")}
        for kind in (
            "all-gather",
            "reduce-scatter",
            "all-reduce",
            "all-to-all",
            "slice",
            "permute",
        ):
            for axes in (("x",), ("y",), ("x", "y")):
                from layoutc.dsl.operation import Move

                for j in range(len(space)):
                    if infer(Move(kind, axes, "a"), held, space.shape(j), "bf16") == space.shape(j):
                        want.add((i, j, kind))
    assert have == want


@pytest.mark.parametrize(
    ("kind", "left", "right", "result"),
    [
        ("product", "BLE", "EF", "BLF"),
        ("product", "BE", "EF", "BFE"),
        ("product", "BE", "BE", "BE"),
        ("sum", "BE", "EF", "BEF"),
        ("sum", "BE", "E", "BE"),
        ("quotient", "BE", "B", "BE"),
    ],
)
def test_relations_are_the_rules(kind: str, left: str, right: str, result: str) -> None:
    axes = ("x", "y")
    one, other, to = (Space(tuple(d), axes) for d in (left, right, result))
    operation = {
        "product": Product("a", "b"),
        "sum": Arithmetic("+", "a", "b"),
        "quotient": Arithmetic("/", "a", "b"),
    }[kind]
    relation = pairs(kind, one, other, to)  # type: ignore[arg-type]
    have = {(i, j): to.shape(k) for i, j, k in zip(relation.left, relation.right, relation.result,
                                                   strict=True)}  # fmt: skip
    for i in range(len(one)):
        for j in range(len(other)):
            held = {"a": Held("a", one.shape(i), "bf16"), "b": Held("b", other.shape(j), "bf16")}
            found = {to.shape(k) for k in range(len(to))
                     if infer(operation, held, to.shape(k), "bf16") == to.shape(k)}  # fmt: skip
            assert found == ({have[i, j]} if (i, j) in have else set())


def test_sums_over_a_dim() -> None:
    source, result = Space(tuple("BLE"), ("x", "y")), Space(tuple("BE"), ("x", "y"))
    to = reduced(source, result)
    for i in range(len(source)):
        shape = source.shape(i)
        axes = (*shape.partial, *shape.split("L"))
        expected = Shape(tuple(d for d in shape if d.name != "L"), axes)
        assert result.shape(int(to[i])) == expected


def test_routes_are_the_cheapest_ways(space: Space) -> None:
    """Against Floyd and Warshall's three loops; the way is as long as it says."""
    small = Space(tuple("ABC"), ("x", "y"))
    sizes, mesh = {"A": 8, "B": 8, "C": 8}, {"x": 4, "y": 2}
    edges, prices = small.edges("sum"), elements_moved(small, sizes, mesh)
    valid = small.divides(sizes, mesh)
    found = Routes.of(edges, (prices,), valid)
    count = len(small)
    least = [[0.0 if i == j else float("inf") for j in range(count)] for i in range(count)]
    for source, target, price in zip(edges.source, edges.target, prices, strict=True):
        least[source][target] = min(least[source][target], float(price))
    for k in range(count):
        for i in range(count):
            for j in range(count):
                least[i][j] = min(least[i][j], least[i][k] + least[k][j])
    for i in range(count):
        for j in range(count):
            assert found.cost(i, j)[0] == pytest.approx(least[i][j])
            if least[i][j] < float("inf"):
                assert sum(prices[e] for e in found.way(i, j)) == pytest.approx(least[i][j])


def test_two_all_to_alls_rather_than_two_gathers() -> None:
    """A_yBC_x to AB_xyC on x=4, y=2: 1.25 of what a chip holds, x before y."""
    space = Space(tuple("ABC"), ("x", "y"))
    sizes, mesh = {"A": 8, "B": 8, "C": 8}, {"x": 4, "y": 2}
    edges = space.edges("sum")
    found = Routes.of(edges, (elements_moved(space, sizes, mesh),), space.divides(sizes, mesh))
    where = {str(space.shape(i)): i for i in range(len(space))}
    start, end = where["A_yBC_x"], where["AB_xyC"]
    assert found.cost(start, end)[0] == 1.25 * 512 / 8
    moves = [space.move(edges, e, "a") for e in found.way(start, end)]
    assert [(m.kind, m.axes) for m in moves] == [("all-to-all", ("x",)), ("all-to-all", ("y",))]
