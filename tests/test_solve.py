"""Plans: what wins at a tie, what is kept of an explicit program, what is refused and why."""

import pytest

from layoutc.dsl.check import check
from layoutc.dsl.parse import parse
from layoutc.dsl.program import Program
from layoutc.solver.hardware.catalogue import load_machine
from layoutc.solver.meshes import factorisations, interchangeable, meshes
from layoutc.solver.plan import Plan
from layoutc.solver.solve import solve
from layoutc.solver.unsolvable import Unsolvable

FFN = """\
dims   B={B} L=1 E={E} F={F}
mesh   {mesh}
input  x     : {x}
weight w_in  : {w}
weight w_out : {u}
h : BLF? = x * w_in
g        = gelu(h)
y : BLE? = g * w_out
output y -> x
"""


def program(text: str) -> Program:
    found = check(parse(text, "test.layout"))
    assert isinstance(found, Program), found
    return found


def ffn(chips: int, **changes: object) -> Plan:
    words = {"B": 512, "E": 18432, "F": 73728, "mesh": "x y z", "x": "BLE?", "w": "EF!", "u": "FE!"}
    return solve(program(FFN.format(**{**words, **changes})), chips, load_machine())


def layouts(plan: Plan) -> dict[str, str]:
    return {name: str(held.shape) for name, held in plan.only.program.types.items()}


def test_hidden_dims_before_tokens_axes_in_order_even_meshes() -> None:
    """E_xF_yz on 16x4x1 or B_yzLE_x would take as long."""
    plan = ffn(64)
    assert plan.mesh == {"x": 4, "y": 4, "z": 4}
    found = layouts(plan)
    assert (found["x"], found["w_in"], found["w_out"]) == ("BLE_xyz", "E_xF_yz", "F_yzE_x")
    assert plan.bound == pytest.approx(plan.only.prices.seconds, rel=1e-12)


@pytest.mark.parametrize("chips", [1, 2, 3, 6, 8, 12, 24, 48, 96])
def test_every_chip_is_used(chips: int) -> None:
    """The matmuls and the weights are shared by all of them, powers of two or not."""
    plan = ffn(chips)
    flops = 2 * 2 * 512 * 18432 * 73728
    assert plan.only.prices.compute.flops == flops // chips
    assert plan.only.prices.memory.traffic_bytes == 2 * 2 * 18432 * 73728 // chips


def test_a_dim_that_does_not_divide_is_left_alone() -> None:
    """E and F are odd: on two chips only the tokens can be split."""
    plan = ffn(2, mesh="x", E=5, F=7, B=4, w="EF?", u="FE?")
    assert layouts(plan)["x"] == "B_xLE"


def test_an_axis_of_one_chip_is_not_named() -> None:
    assert "z" not in "".join(layouts(ffn(4)).values())


def test_an_axis_of_one_chip_that_the_file_names_stays() -> None:
    plan = ffn(4, x="B_zLE?", mesh="x y z=1")
    assert layouts(plan)["x"].startswith("B_z")


def test_four_axes() -> None:
    plan = ffn(16, mesh="x y z w", E=96, F=384, B=16)
    assert plan.mesh == {"x": 2, "y": 2, "z": 2, "w": 2}


def test_what_is_used_twice_is_gathered_once() -> None:
    text = """\
dims B=64 E=256 F=1024
mesh x y
input  x : BE?
weight a : EF!
weight b : EF!
weight c : FE!
g : BF? = x * a
u : BF? = x * b
s       = silu(g)
h : BF? = s * u
y : BE? = h * c
output y -> x
"""
    plan = solve(program(text), 16, load_machine())
    gathers = [s for s in plan.only.prices.collectives if s.define.operation.operand == "x"]  # type: ignore[union-attr]
    assert len(gathers) == 1


def test_sums_of_partial_sums_are_reduced_once() -> None:
    """As in a parallel block: two products, one reduction."""
    text = """\
dims B=64 E=256 F=1024
mesh x
input  g : BF_x
input  h : BF_x
weight a : F_xE
weight b : F_xE
p : BE? = g * a
q : BE? = h * b
y : BE? = p + q
output y
"""
    plan = solve(program(text), 4, load_machine())
    assert [s.define.operation.kind for s in plan.only.prices.collectives] == ["reduce-scatter"]  # type: ignore[union-attr]


def test_a_shared_weight_is_gathered_before_the_block() -> None:
    """Once, and not once in each repetition."""
    text = """\
dims B=64 E=64 F=64
mesh x=4
input  x : B_xE
weight w : E_xF?
weight u : FE?
repeat 5 {
    h : B_xF = x * w
    y : B_xE = h * u
    next x = y
}
output x
"""
    plan = solve(program(text), 4, load_machine())
    gather = next(s for s in plan.only.prices.collectives if s.define.operation.operand == "w")  # type: ignore[union-attr]
    assert gather.times == 1


@pytest.mark.parametrize(
    ("changes", "chips", "message", "hint"),
    [
        ({"mesh": "x=3 y z"}, 64, "64 chips are not a multiple of x=3", "take 63 or 66"),
        ({"mesh": "x=2 y=2"}, 64, "the mesh x=2 y=2 has 4 chips, not 64", "--chips 4"),
        ({"mesh": "x", "w": "E_xF?"}, 5, "E_xF? cuts E=18432 into 5; 18430 or 18435", "4 or 6"),
        ({}, 7, "w_in : EF! can't be cut into 7 equal parts", "6 or 8 chips would do"),
    ],
)
def test_why_nothing_fits(changes: dict[str, object], chips: int, message: str, hint: str) -> None:
    with pytest.raises(Unsolvable) as caught:
        ffn(chips, **changes)
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_sizes_are_asked_for() -> None:
    text = FFN.format(B=8, E=8, F=8, mesh="x", x="BLE?", w="EF?", u="FE?").replace("B=8", "B")
    with pytest.raises(Unsolvable, match="B has no size"):
        solve(program(text), 1, load_machine())


def test_factorisations() -> None:
    assert sorted(factorisations(12, 2)) == [(1, 12), (2, 6), (3, 4), (4, 3), (6, 2), (12, 1)]
    assert list(factorisations(1, 0)) == [()]
    assert list(factorisations(2, 0)) == []
    assert len(list(factorisations(64, 3))) == 28


def test_meshes_keep_pinned_sizes() -> None:
    axes = program(FFN.format(B=8, E=8, F=8, mesh="x=2 y z", x="BLE?", w="EF?", u="FE?")).axes
    assert all(m["x"] == 2 for m in meshes(axes, 8))
    assert len(list(meshes(axes, 8))) == 3


def test_axes_that_nobody_names_are_interchangeable() -> None:
    holes = program(FFN.format(B=8, E=8, F=8, mesh="x y z=2 w", x="B_xLE?", w="EF?", u="FE?"))
    assert interchangeable(holes) == ("y", "w")
