"""Names of layouts: the paper's where it has one, told from the statements alone."""

from pathlib import Path

import pytest
from texts import read

from layoutc.solver.describe import describe

EXAMPLES = Path(__file__).parent.parent / "examples"
CUBE = {"x": 4, "y": 4, "z": 4}

GATHERED = """
dims   B=64  L=1  E=64  F=256
mesh   x y z
input  x     : {x}
weight w_in  : {w_in}
weight w_out : {w_out}
v : {v} = all-gather({axes}) w_in
u : {u} = all-gather({axes}) w_out
h : {h} = x * v
y : {y} = h * u
output y
"""


@pytest.mark.parametrize(
    ("stem", "name"),
    [
        ("ffn_1d_weight_stationary", "1D weight-stationary"),
        ("ffn_2d_weight_stationary", "2D weight-stationary"),
        ("ffn_x_weight_gathered", "X-weight-gathered"),
        ("ffn_xy_weight_gathered", "XY-weight-gathered"),
        ("ffn_xyz_weight_gathered", "XYZ-weight-gathered"),
    ],
)
def test_the_papers_five(stem: str, name: str) -> None:
    """By structure: the same text under another name has the same layout."""
    text = (EXAMPLES / f"{stem}.layout").read_text()
    assert describe(read(text, "anything"), CUBE) == name


def test_axes_of_one_chip_are_passed_over() -> None:
    program = read((EXAMPLES / "ffn_2d_weight_stationary.layout").read_text())
    assert describe(program, {"x": 1, "y": 16, "z": 4}) == "1D weight-stationary"
    assert describe(program, {"x": 1, "y": 1, "z": 1}) == "weights on every chip"


def test_axes_of_the_same_size_are_interchangeable() -> None:
    program = read(
        GATHERED.format(
            axes="xz", x="B_xzLE", w_in="E_xF_yz", w_out="F_yzE_x",
            v="EF_y", u="F_yE", h="B_xzLF_y", y="B_xzLE(partialsum-y)",
        ).replace("output y", "z : B_xzLE_y = reduce-scatter(y) y\noutput z")
    )  # fmt: skip
    assert describe(program, CUBE) == "XY-weight-gathered"
    assert describe(program, {"x": 4, "y": 8, "z": 2}) == "XZ-weight-gathered"
    assert describe(program, {"x": 4, "y": 1, "z": 16}) == "XYZ-weight-gathered"


def test_what_is_left_in_two_dims_is_not_one_of_the_papers() -> None:
    program = read(
        GATHERED.format(
            axes="z", x="B_zLE_x", w_in="E_xF_yz", w_out="F_yzE_x",
            v="E_xF_y", u="F_yE_x", h="B_zLF_y(partialsum-x)", y="B_zLE_x(partialsum-y)",
        ).replace("y : B", "g : B_zLF_y = all-reduce(x) h\ny : B").replace("h * u", "g * u")
        .replace("output y", "z : B_zLE_xy = reduce-scatter(y) y\noutput z")
    )  # fmt: skip
    assert describe(program, CUBE) == "weights gathered over z, 2D over x and y"


def test_what_is_left_on_the_models_dim_is_not_either() -> None:
    program = read(
        GATHERED.format(
            axes="yz", x="B_yzLE_x", w_in="E_xF_yz", w_out="F_yzE_x",
            v="E_xF", u="FE_x", h="B_yzLF(partialsum-x)", y="B_yzLE_x",
        ).replace("y : B", "g : B_yzLF = all-reduce(x) h\ny : B").replace("h * u", "g * u")
    )  # fmt: skip
    assert describe(program, CUBE) == "weights gathered over y and z, 1D over x"


def test_weights_that_fare_differently_are_told_one_by_one() -> None:
    text = """
    dims   B=64  E=64  F=256
    mesh   x
    input  x     : B_xE
    weight a     : EF_x
    weight b     : EF_x
    weight w_out : FE
    v : EF = all-gather(x) a
    u : EF = all-gather(x) b
    h : B_xF = x * v
    i : B_xF = x * u
    j : B_xF = h * i
    y : B_xE = j * w_out
    output y
    """
    name = describe(read(text.replace("\n    ", "\n")), {"x": 4})
    assert name == "a, b gathered over x; w_out stays"


def test_weights_that_are_rearranged_do_not_stay() -> None:
    text = (EXAMPLES / "ffn_1d_weight_stationary.layout").read_text()
    head, body = text.split("\n\n", 1)
    rearranged = body.replace("weight w_in  : EF_xyz", "weight w     : E_xyzF").replace(
        "F_xyzE\n", "F_xyzE\n\nw_in : EF_xyz = all-to-all(xyz) w\n", 1
    )
    assert head.startswith("#")
    assert describe(read(rearranged), CUBE) == "weights rearranged, then 1D weight-stationary"


def test_no_weight_no_name() -> None:
    text = "dims B=4\nmesh x\ninput a : B_x\nb : B_x = relu(a)\noutput b\n"
    assert describe(read(text), {"x": 2}) == "no weight is multiplied"
