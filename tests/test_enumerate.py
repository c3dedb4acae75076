"""The enumeration, which the solver is held against, is itself held against pencil and paper."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import combinations, count, product
from typing import get_args

import pytest
from enumerate import Minimize, optimum
from layouts import FAR, Layouts, all_shapes, legal_moves
from machines import plain
from rows import gives
from versions import Versions

from layoutc.dsl.check import check
from layoutc.dsl.operation import Arithmetic, Move, MoveKind, Product
from layoutc.dsl.parse import parse
from layoutc.dsl.program import Program
from layoutc.dsl.refusal import Held
from layoutc.dsl.rules import infer
from layoutc.dsl.shape import Shape
from layoutc.solver.hardware.machine import Machine

ONE = plain("one", 1.0, 1 << 30, 1.0, 1.0)
QUICK = plain("quick to compute", 1e12, 1 << 30, 1.0, 1.0)
SLOW = plain("slow to move", 1e12, 1 << 30, 1.0, 0.25)


def program(text: str) -> Program:
    found = check(parse(text, "test.layout"))
    assert isinstance(found, Program), found
    return found


def least(
    text: str, chips: int, minimize: Minimize = "communication", machine: Machine = ONE
) -> tuple[int, int, int]:
    """Flops, bytes of weights read (where they count), bytes received."""
    found = optimum(program(text), chips, machine, minimize)
    assert found is not None
    return found.flops, found.traffic, int(found.communication)


ONE_PRODUCT = """\
dims B=4 E=4 F=4
mesh x
input  x : BE_x
weight w : EF!
h : BF? = x * w
output h
"""


def test_one_product() -> None:
    """Either x is gathered or h is scattered: half of 16 elements, in bf16."""
    assert least(ONE_PRODUCT, 2) == (64, 0, 16)


def test_what_is_gathered_for_one_product_serves_the_next() -> None:
    text = """\
dims B=4 E=4 F=4 G=4
mesh x
input  x : BE_x
weight w : EF_x
weight u : EG_x
h : BF? = x * w
g : BG? = x * u
output h, g
"""
    assert least(text, 2) == (128, 0, 16)


def test_axes_that_change_places_move_everything() -> None:
    text = """\
dims B=4 E=8
mesh x=2 y=2
input x : BE_xy
y : BE_yx = x
output y
"""
    assert least(text, 4) == (0, 0, 8 * 2)


PINNED = """\
dims B=2 E=4 F=4
mesh x
input  x : BE
weight w : EF?
h : BF = x * w
output h
"""


def test_reading_weights_is_weighed_against_moving() -> None:
    """A split w is read in half the time, and then half of h, 4 elements, has to be gathered."""
    assert least(PINNED, 2, "time", QUICK) == (32, 16, 8)
    assert least(PINNED, 2, "time", SLOW)[1:] == (32, 0)


def test_work_is_shared_before_bytes_are_counted() -> None:
    assert least(PINNED, 2) == (32, 0, 8)


def test_an_output_is_held_like_the_input() -> None:
    """Rows are split while it matters: x and h, 4 elements a chip, each change half of them."""
    text = """\
dims B=2 E=4 F=4
mesh x
input  x : BE_x
weight w : EF?
weight u : FE?
g : BF? = x * w
h : BE? = g * u
output h -> x
"""
    assert least(text, 2) == (64, 0, 2 * 2 * 2)
    assert least(text.replace(" -> x", ""), 2) == (64, 0, 2 * 2)


def test_nothing_is_found_where_nothing_divides() -> None:
    text = ONE_PRODUCT.replace("B=4 E=4 F=4", "B=3 E=3 F=3")
    assert optimum(program(text), 2, ONE) is None


def test_every_mesh_is_looked_at() -> None:
    text = ONE_PRODUCT.replace("mesh x", "mesh x y").replace("BE_x", "BE_x?")
    found = optimum(program(text.replace("B=4 E=4", "B=4 E=2")), 8, ONE, "communication")
    assert found is not None
    assert found.mesh == {"x": 2, "y": 4}


# What it is made of, against asking the rules about everything.

AXES = ("x", "y")


def test_no_move_is_forgotten() -> None:
    shapes = list(all_shapes(("B", "E"), AXES))
    for shape in shapes:
        every = set()
        for kind, size in product(get_args(MoveKind), (1, 2)):
            for axes, written in product(combinations(AXES, size), shapes):
                move = Move(kind, axes, "a")
                held = {"a": Held("a", shape, "f32")}
                if infer(move, held, written, "f32") == written:
                    every.add((move, written))
        assert every == set(legal_moves(shape, AXES))


@pytest.mark.parametrize("operation", [Product("a", "b"), Arithmetic("+", "a", "b")])
def test_no_result_is_forgotten(operation: Product | Arithmetic) -> None:
    dims = ("B", "F") if isinstance(operation, Product) else ("B", "E", "F")
    results = list(all_shapes(dims, AXES))
    for one, other in product(all_shapes(("B", "E"), AXES), all_shapes(("E", "F"), AXES)):
        held = {"a": Held("a", one, "f32"), "b": Held("b", other, "f32")}
        found = [s for s in results if infer(operation, held, s, "f32") == s]
        given = gives(operation, (one, other), ("f32", "f32"), dims, "f32")
        assert found == ([] if given is None else [given])


def test_ways_are_as_good_as_any_search_over_sets_of_versions() -> None:
    layouts = Layouts(("E",), {"E": 8}, {"x": 2, "y": 4})
    versions = Versions(layouts)
    numbers = range(len(layouts.shapes))
    for start, one, other in product(numbers, repeat=3):
        steps = [
            cost + versions.ways(kept, other, 0)[0][0]
            for cost, kept in versions.ways(frozenset({start}), one, 1)
            if versions.ways(kept, other, 0)
        ]
        assert min(steps, default=FAR) == by_sets(layouts, start, {one, other})


def by_sets(layouts: Layouts, start: int, wanted: set[int]) -> int:
    """Dijkstra over sets of versions, one move at a time: the cost of having all that is wanted."""
    tickets = count()
    queue = [(0, next(tickets), frozenset({start}))]
    seen = set()
    while queue:
        cost, _, at = heappop(queue)
        if wanted <= at:
            return cost
        if at in seen:
            continue
        seen.add(at)
        for version in at:
            for _, after, price in layouts.moves[version]:
                if after not in at:
                    heappush(queue, (cost + price, next(tickets), at | {after}))
    return FAR


def test_shapes_are_counted() -> None:
    """Of one dim over two axes: 5 split or whole, and with a partial sum or maximum 5 each."""
    shapes: list[Shape] = list(all_shapes(("E",), AXES))
    assert len(shapes) == len(set(shapes)) == 15
