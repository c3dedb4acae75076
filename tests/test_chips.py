"""The feedforward layer on other numbers of chips, and on meshes of one to five axes.

Sizes are PaLM 540B's but where a program is run; weights are split over every chip.
"""

from __future__ import annotations

from math import prod

import emitted
import pytest
from texts import read

from layoutc.solver.asked import Minimize
from layoutc.solver.hardware.catalogue import load_machine
from layoutc.solver.plan import Plan
from layoutc.solver.solve import solve

E, F = 18_432, 73_728

LAYER = """\
dims   B={B}  L=1  E={E}  F={F}
mesh   {mesh}
dtype  {dtype}

input  x     : BLE?
weight w_in  : EF!
weight w_out : FE!

h : BLF? = x * w_in
g        = gelu(h)
y : BLE? = g * w_out
output y -> x
"""


def layer(
    chips: int, mesh: str = "x y z", minimize: Minimize = "communication", tokens: int = 512
) -> Plan:
    text = LAYER.format(B=tokens, E=E, F=F, mesh=mesh, dtype="bf16")
    return solve(read(text, "ffn"), chips, load_machine(), minimize)


def assert_proven(plan: Plan) -> None:
    """The bound is met, every chip is used, and the work is shared by all."""
    received = plan.only.prices.communication.seconds
    assert plan.bound == pytest.approx(received, rel=1e-9)
    assert prod(plan.mesh.values()) == plan.chips
    assert plan.only.prices.compute.flops * plan.chips == 4 * 512 * E * F
    sizes = {"E": E, "F": F}
    types = plan.only.program.types
    stored = sum(types[w].shape.elements(sizes, plan.mesh) for w in ("w_in", "w_out"))
    assert stored * plan.chips == 2 * E * F


def test_64_chips() -> None:
    """Gathers of x over 16 chips and of g over 4, and as much on the way back."""
    plan = layer(64)
    assert_proven(plan)
    assert plan.only.prices.communication.elements == 7_962_624


def test_with_many_tokens_an_uneven_mesh_is_better() -> None:
    """Weights are gathered over 4 chips on both; the other 16 are 1 times 16, or 2 times 8."""
    even = layer(64, "x=4 y=4 z=4", tokens=32_768).only.prices.communication.elements
    uneven = layer(64, "x=8 y=4 z=2", tokens=32_768).only.prices.communication.elements
    shard, tokens = E * F // 64, 32_768 // 4
    assert even == 2 * (3 * shard + tokens * E * 15 // 16) == 410_517_504
    assert uneven == 2 * (3 * shard + tokens * (E // 2 * 7 // 8 + F // 8 // 2)) == 335_020_032
    assert layer(64, tokens=32_768).only.prices.communication.elements == uneven


# Of each: what goes in and comes out of the two matmuls, 2·512·(E/X·(1-1/YZ) + F/YZ·(1-1/X)).


def flat(x: int, yz: int) -> int:
    return 2 * 512 * (E * (yz - 1) + F * (x - 1)) // (x * yz)


@pytest.mark.parametrize(
    ("chips", "x"), [(8, 1), (12, 2), (24, 2), (48, 3), (96, 4), (16, 2), (128, 4), (512, 8)]
)
def test_any_number_of_chips(chips: int, x: int) -> None:
    """Twelve is as good a number as sixteen; all 2D, in the proportion of E to F."""
    plan = layer(chips)
    assert_proven(plan)
    assert plan.only.prices.communication.elements == flat(x, chips // x)
    best = min(flat(n, chips // n) for n in range(1, chips + 1) if chips % n == 0)
    assert plan.only.prices.communication.elements == best


@pytest.mark.parametrize("minimize", ["time", "communication"])
@pytest.mark.parametrize("chips", [12, 24])
def test_twelve_and_twenty_four_run(chips: int, minimize: Minimize) -> None:
    """Emitted at a small size, with a factor of three, and held against NumPy."""
    text = LAYER.format(B=24, E=48, F=96, mesh="x y z", dtype="f32")
    plan = solve(read(text, "ffn"), chips, load_machine(), minimize)
    assert prod(plan.mesh.values()) == chips
    errors = emitted.errors(plan.only.program, plan.mesh)
    assert errors["sharded"] < 1e-5, errors
    assert errors["simulator"] < 1e-9, errors


@pytest.mark.parametrize(
    ("mesh", "received"),
    [
        ("x", flat(1, 64)),
        ("x y", 7_962_624),
        ("x y z", 7_962_624),
        ("x y z u", 7_962_624),
        ("x y z u v", 7_962_624),
    ],
)
def test_meshes_of_more_axes(mesh: str, received: int) -> None:
    """With two axes all is there that this layer can use; with one, E alone is gathered."""
    plan = layer(64, mesh)
    assert_proven(plan)
    assert plan.only.prices.communication.elements == received
