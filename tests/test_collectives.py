"""What moves cost, and the algebra that the costs are written in.

The properties are those that make one cost model of six formulas: no way round a cost.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from layouts import all_shapes, legal_moves

from layoutc.dsl.operation import Move, MoveKind
from layoutc.dsl.parse import parse_shape
from layoutc.dsl.shape import Shape
from layoutc.solver.collectives import moves_nothing, received, received_large
from layoutc.solver.monomial import Cost, Monomial

AXES = ("x", "y", "z")
SHAPES = sorted(set(all_shapes(("B", "E"), AXES)), key=str)

shapes = st.sampled_from(SHAPES)
meshes = st.fixed_dictionaries({axis: st.integers(1, 6) for axis in AXES})


def sized(mesh: dict[str, int], scale: tuple[int, int] = (1, 1)) -> dict[str, int]:
    """Dims that every layout divides."""
    chips = mesh["x"] * mesh["y"] * mesh["z"]
    return {"B": chips * scale[0], "E": chips * scale[1], **mesh}


def cost(kind: MoveKind, axes: str, before: str | Shape, after: str | Shape) -> Cost:
    one, other = (parse_shape(s) if isinstance(s, str) else s for s in (before, after))
    return received(Move(kind, tuple(axes), "a"), one, other)


def paid(move: Move, before: Shape, after: Shape, values: dict[str, int]) -> Fraction:
    """What a chip receives on a mesh."""
    if moves_nothing(move, before, after, values):
        return Fraction(0)
    return received(move, before, after).exact(values)


# The formulas.


def test_the_table_of_formulas() -> None:
    values = {"B": 64, "E": 64, "x": 4, "y": 2, "z": 1}
    whole = 64 * 64
    assert cost("all-gather", "x", "BE_x", "BE").exact(values) == whole * 3 // 4
    assert cost("reduce-scatter", "x", "BE(partialsum-x)", "BE_x").exact(values) == whole * 3 // 4
    assert cost("all-reduce", "x", "BE(partialsum-x)", "BE").exact(values) == 2 * whole * 3 // 4
    assert cost("all-to-all", "x", "BE_x", "B_xE").exact(values) == whole // 4 * 3 // 4
    assert cost("permute", "xy", "BE_xy", "BE_yx").exact(values) == whole // 8
    assert cost("slice", "x", "BE", "BE_x") == Cost()


def test_large_counts_leave_the_last_part_out() -> None:
    move = Move("all-gather", ("y", "z"), "a")
    large = received_large(move, parse_shape("BLE_xyz"), parse_shape("BLE_x"))
    assert large == Cost.of(Monomial.of("BLE", "x"))


# Their properties.


@given(meshes)
def test_gathering_over_y_then_x_costs_what_both_at_once_do(mesh: dict[str, int]) -> None:
    in_two = cost("all-gather", "y", "BE_xy", "BE_x") + cost("all-gather", "x", "BE_x", "BE")
    assert in_two == cost("all-gather", "xy", "BE_xy", "BE")
    of_two = cost("all-gather", "y", "B_xE_y", "B_xE") + cost("all-gather", "x", "B_xE", "BE")
    assert of_two == cost("all-gather", "xy", "B_xE_y", "BE")
    assert in_two.exact(sized(mesh)) >= 0


@given(meshes)
def test_an_all_reduce_is_a_reduce_scatter_and_an_all_gather(mesh: dict[str, int]) -> None:
    scatter = cost("reduce-scatter", "xy", "BE(partialsum-xy)", "BE_xy")
    reduce = cost("all-reduce", "xy", "BE(partialsum-xy)", "BE")
    assert reduce == scatter + cost("all-gather", "xy", "BE_xy", "BE")
    assert scatter.exact(sized(mesh)) <= reduce.exact(sized(mesh))


@given(shapes, meshes, st.data())
def test_no_detour_is_cheaper_than_the_direct_way(
    start: Shape, mesh: dict[str, int], data: st.DataObject
) -> None:
    """Two moves that end where one could have gone cost no less than it."""
    first = legal_moves(start, AXES)
    assume(first)
    one, between = data.draw(st.sampled_from(first))
    second = legal_moves(between, AXES)
    assume(second)
    other, end = data.draw(st.sampled_from(second))
    values = sized(mesh)
    detour = paid(one, start, between, values) + paid(other, between, end, values)
    direct = [paid(move, start, end, values) for move, after in first if after == end]
    assume(direct)
    assert detour >= min(direct)


@given(shapes, meshes, st.sampled_from(AXES), st.integers(1, 3), st.data())
def test_costs_never_fall_when_sizes_rise(
    start: Shape, mesh: dict[str, int], axis: str, factor: int, data: st.DataObject
) -> None:
    """A larger dim; or a larger axis, among those that take part, at the same size per chip."""
    moves = legal_moves(start, AXES)
    assume(moves)
    move, after = data.draw(st.sampled_from(moves))
    small = paid(move, start, after, sized(mesh))
    assert paid(move, start, after, sized(mesh, (factor, 1))) >= small
    assert paid(move, start, after, sized(mesh, (1, factor))) >= small
    if axis in move.axes and axis in start.partial:
        grown = {**sized(mesh), axis: mesh[axis] * factor}
        assert paid(move, start, after, grown) >= small


@given(shapes, st.data())
def test_one_chip_receives_nothing(start: Shape, data: st.DataObject) -> None:
    moves = legal_moves(start, AXES)
    assume(moves)
    move, after = data.draw(st.sampled_from(moves))
    mesh = dict.fromkeys(AXES, 4) | dict.fromkeys(move.axes, 1)
    assert paid(move, start, after, sized(mesh)) == 0
    if move.kind != "permute":
        assert received(move, start, after).exact(sized(mesh)) == 0


def test_a_permute_of_an_axis_of_one_chip_is_free() -> None:
    move = Move("permute", ("x", "y"), "a")
    one, other = parse_shape("BE_xy"), parse_shape("BE_yx")
    assert moves_nothing(move, one, other, {"x": 1, "y": 4})
    assert not moves_nothing(move, one, other, {"x": 2, "y": 4})


# Monomials.

monomials = st.builds(
    Monomial.of,
    st.text("BExy", max_size=3),
    st.text("BExy", max_size=3),
    st.integers(-4, 4),
)
costs = st.lists(monomials, max_size=4).map(lambda terms: Cost.of(*terms))
points = st.fixed_dictionaries({s: st.integers(1, 9) for s in "BExy"})


@given(costs, costs, points)
def test_costs_add_as_their_values_do(one: Cost, other: Cost, at: dict[str, int]) -> None:
    assert (one + other).exact(at) == one.exact(at) + other.exact(at)
    assert (one - other).exact(at) == one.exact(at) - other.exact(at)
    assert one - one == Cost()


@given(costs, monomials, points)
def test_costs_multiply_as_their_values_do(one: Cost, by: Monomial, at: dict[str, int]) -> None:
    assert (one * by).exact(at) == one.exact(at) * by.exact(at)
    assert (one * 3).exact(at) == one.exact(at) * 3


@given(st.lists(monomials, max_size=4))
def test_the_order_of_terms_is_of_no_account(terms: list[Monomial]) -> None:
    assert len({Cost.of(*order) for order in permutations(terms)}) == 1


@given(costs, st.lists(points, min_size=1, max_size=3))
def test_arrays_hold_what_whole_numbers_say(cost: Cost, at: list[dict[str, int]]) -> None:
    arrays = {s: np.array([float(p[s]) for p in at]) for s in "BExy"}
    found = cost.at(arrays, np.zeros(len(at)))
    assert np.allclose(found, [float(cost.exact(p)) for p in at], rtol=1e-12, atol=1e-9)
