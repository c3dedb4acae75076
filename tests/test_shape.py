"""The sharded shape: its invariants, and that its notation reads back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutc.dsl.parse import parse_shape
from layoutc.dsl.shape import Dim, Hole, Reduction, Shape, whole


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    """Any shape over seven dims and four axes, holes and braces included."""
    names = draw(st.lists(st.sampled_from("BLEFKGQ"), min_size=1, unique=True))
    places = draw(st.lists(st.integers(-1, len(names)), min_size=4, max_size=4))
    axes = draw(st.permutations("wxyz"))
    held = {i: tuple(a for a, p in zip(axes, places, strict=True) if p == i) for i in range(9)}
    dims = tuple(Dim(n, held[i], draw(st.booleans())) for i, n in enumerate(names))
    reduction: Reduction = draw(st.sampled_from(["sum", "max"]))
    hole: Hole = draw(st.sampled_from(["", "?"]))
    return Shape(dims, held[len(names)], reduction, hole)


@given(shapes())
def test_notation_reads_back(shape: Shape) -> None:
    assert parse_shape(str(shape)) == shape


NOTATION = ["BLE", "BLE_xyz", "E_xF_yz", "B_xL_yE_z", "BLE_{xyz}", "BLE_x?", "BLE?", "EF!"]
NOTATION += ["BLE_yz(partialsum-x)", "BL(partialmax-xy)"]


@pytest.mark.parametrize("text", NOTATION)
def test_the_papers_notation(text: str) -> None:
    assert str(parse_shape(text)) == text


@pytest.mark.parametrize(
    "text",
    ["", "x", "BLE_", "B L", "BB", "B_xL_x", "B_x(partialsum-x)", "BLE(sum-x)", "E_{", "BE_x =1"],
)
def test_what_is_no_shape(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_shape(text)


def test_braces_around_one_axis_mean_nothing() -> None:
    assert parse_shape("BE_{x}") == parse_shape("BE_x")


def test_partial_axes_have_no_order() -> None:
    assert parse_shape("BE(partialsum-yx)") == parse_shape("BE(partialsum-xy)")


def test_order_within_a_dim_is_part_of_the_layout() -> None:
    assert parse_shape("E_xy") != parse_shape("E_yx")


def test_extents_on_one_chip() -> None:
    shape = parse_shape("BLE_xyz")
    sizes, mesh = {"B": 512, "L": 1, "E": 18432}, {"x": 4, "y": 4, "z": 4}
    assert shape.local(sizes, mesh) == (512, 1, 288)
    assert shape.elements(sizes, mesh) == 512 * 288


def test_what_a_shape_is_asked() -> None:
    shape = parse_shape("B_xLE_yz(partialsum-w)")
    assert shape.names == ("B", "L", "E")
    assert shape.axes == ("x", "y", "z")
    assert shape.split("E") == ("y", "z")
    assert shape.place("x") == "B"
    assert shape.place("w") is None
    assert not shape.whole_over("w")
    assert shape.without("xz") == parse_shape("BLE_y(partialsum-w)")
    assert whole("BLE", "?") == parse_shape("BLE?")
    assert not parse_shape("BE_{xy}").explicit
