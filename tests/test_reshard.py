"""The cheapest way from any layout of a tensor to any other, against what must be moved at least.

Layouts of a matrix over one to three axes, of sizes 1 to 6, and of a tensor of three dims over
two; partial sums among those that one starts from. LAYOUTC_LONG=1 takes more of them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cache
from math import inf, prod

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from machines import elements_moved
from reshard import missing, partial
from texts import read

from layoutc.dsl.operation import Move
from layoutc.dsl.parse import parse_shape
from layoutc.dsl.shape import Shape
from layoutc.solver.hardware.catalogue import load_machine
from layoutc.solver.plan import Plan
from layoutc.solver.routes import Routes
from layoutc.solver.solve import solve
from layoutc.solver.space import Space

DIMS = {1: "BE", 2: "ABC", 3: "BE"}
"""By the number of axes."""
EXAMPLES = 2000 if os.environ.get("LAYOUTC_LONG") else 300

many = settings(max_examples=EXAMPLES, deadline=None)


@cache
def space(axes: int, dims: str) -> Space:
    return Space(tuple(dims), tuple("xyz"[:axes]))


@dataclass(frozen=True)
class Moves:
    """A tensor's layouts on a mesh, those that divide it, and the cheapest ways between them.

    `through` are the dims that layouts on the way have to divide, if not the tensor's own.
    """

    space: Space
    sizes: dict[str, int]
    mesh: dict[str, int]
    through: dict[str, int] | None = None

    @property
    def layouts(self) -> list[int]:
        return [i for i, v in enumerate(self.space.divides(self.sizes, self.mesh)) if v]

    @property
    def routes(self) -> Routes:
        received = elements_moved(self.space, self.sizes, self.mesh)
        valid = self.space.divides(self.through or self.sizes, self.mesh)
        return Routes.of(self.space.edges("sum"), (received,), valid)

    def cost(self, start: int, end: int) -> float:
        """Elements that a chip receives."""
        return self.routes.cost(start, end)[0]

    def shape(self, layout: int) -> Shape:
        return self.space.shape(layout)


@st.composite
def tensors(draw: st.DrawFn) -> Moves:
    """Any mesh; dims that every layout divides, and others."""
    axes = draw(st.integers(1, 3))
    mesh = {a: draw(st.integers(1, 6)) for a in "xyz"[:axes]}
    chips = prod(mesh.values())
    sizes = {}
    for dim in DIMS[axes]:
        parts = draw(st.sampled_from([chips, *mesh.values(), 12, 30]))
        sizes[dim] = parts * draw(st.integers(1, 3))
    return Moves(space(axes, DIMS[axes]), sizes, mesh)


def layouts(data: st.DataObject, moves: Moves, count: int) -> list[int]:
    return [data.draw(st.sampled_from(moves.layouts)) for _ in range(count)]


# Properties of the cheapest way.


@many
@given(tensors(), st.data())
def test_no_way_round_is_cheaper(moves: Moves, data: st.DataObject) -> None:
    one, between, other = layouts(data, moves, 3)
    routes = moves.routes
    there, on = routes.cost(one, between)[0], routes.cost(between, other)[0]
    assert routes.cost(one, other)[0] <= (there + on) * (1 + 1e-12)


@many
@given(tensors(), st.data())
def test_it_is_no_less_than_what_the_busiest_chip_lacks(moves: Moves, data: st.DataObject) -> None:
    one, other = layouts(data, moves, 2)
    lacking = missing(moves.shape(one), moves.shape(other), moves.sizes, moves.mesh)
    assert moves.cost(one, other) >= lacking * (1 - 1e-12)


@many
@given(tensors(), st.data())
def test_it_is_nothing_if_and_only_if_every_chip_has_its_part(
    moves: Moves, data: st.DataObject
) -> None:
    """What is not a term never becomes one: there is no such way, also of one chip."""
    one, other = layouts(data, moves, 2)
    before, after = moves.shape(one), moves.shape(other)
    cost = moves.cost(one, other)
    assert (cost == inf) == (not set(after.partial) <= set(before.partial))
    if cost < inf:
        alike = partial(before, moves.mesh) == partial(after, moves.mesh)
        lacking = missing(before, after, moves.sizes, moves.mesh)
        assert (cost == 0) == (alike and lacking == 0)


@many
@given(tensors(), st.integers(2, 7), st.data())
def test_it_grows_as_the_tensor_does(moves: Moves, factor: int, data: st.DataObject) -> None:
    """Through the same layouts, in proportion; new ones to pass through are the only relief."""
    one, other = layouts(data, moves, 2)
    assume(moves.cost(one, other) < inf)
    dim = data.draw(st.sampled_from(moves.space.dims))
    larger = Moves(moves.space, {**moves.sizes, dim: moves.sizes[dim] * factor}, moves.mesh)
    wanted = pytest.approx(moves.cost(one, other) * factor, rel=1e-12)
    if larger.layouts == moves.layouts:
        assert larger.cost(one, other) == wanted
    else:
        assert larger.cost(one, other) <= moves.cost(one, other) * factor * (1 + 1e-12)
        assert replace(larger, through=moves.sizes).cost(one, other) == wanted


def test_a_dim_that_grows_may_open_a_shorter_way() -> None:
    """B_xE_y to B_yE_x on 6 times 6 chips: with B=36, B can be split over both on the way."""
    over = space(2, "BE")
    start, end = (over.node(parse_shape(s)) for s in ("B_xE_y", "B_yE_x"))
    small = Moves(over, {"B": 18, "E": 18}, {"x": 6, "y": 6})
    large = Moves(over, {"B": 36, "E": 18}, {"x": 6, "y": 6})
    # 9 elements a chip: gather x (45), all-to-all y (45). 18 a chip: 15, 18 and 15 of them.
    assert small.cost(start, end) == 90
    assert large.cost(start, end) == 48


# By way of the whole solver.


def resharded(before: str, after: str, sizes: dict[str, int], mesh: dict[str, int]) -> Plan:
    """The plan of a program that does nothing but change a layout."""
    dims = " ".join(f"{d}={n}" for d, n in sizes.items())
    axes = " ".join(f"{a}={n}" for a, n in mesh.items())
    text = f"dims {dims}\nmesh {axes}\ninput a : {before}\nb : {after} = a\noutput b\n"
    return solve(read(text), prod(mesh.values()), load_machine(), "communication")


@settings(max_examples=EXAMPLES // 5, deadline=None)
@given(tensors(), st.data())
def test_the_plan_takes_the_cheapest_way(moves: Moves, data: st.DataObject) -> None:
    one, other = layouts(data, moves, 2)
    before, after = moves.shape(one), moves.shape(other)
    assume(before != after and not before.partial and not after.partial)
    plan = resharded(str(before), str(after), moves.sizes, moves.mesh)
    received = plan.only.prices.communication.seconds * plan.machine.network_bandwidth / 2
    assert received == pytest.approx(moves.cost(one, other), rel=1e-9)
    assert plan.bound == pytest.approx(plan.only.prices.communication.seconds, rel=1e-9)


def test_two_all_to_alls_rather_than_two_gathers() -> None:
    """3/4 of a shard over x and 1/2 over y; gathering would bring 7 shards."""
    sizes, mesh = {"A": 16, "B": 24, "C": 8}, {"x": 4, "y": 2}
    plan = resharded("A_yBC_x", "AB_{xy}C", sizes, mesh)
    shard = prod(sizes.values()) // 8
    moved = [s.define.operation for s in plan.only.prices.collectives]
    assert [(m.kind, m.axes) for m in moved if isinstance(m, Move)] == [
        ("all-to-all", ("x",)),
        ("all-to-all", ("y",)),
    ]
    assert plan.only.prices.communication.elements == shard * 5 // 4
    assert plan.only.program.types["b"].shape == parse_shape("AB_xyC")
