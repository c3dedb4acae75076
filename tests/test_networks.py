"""Programs on real machines, end to end: what the network decides, and what is said of mistakes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from texts import read

from layoutc.cli import main
from layoutc.solver.hardware.catalogue import load_machine
from layoutc.solver.meshes import pinned
from layoutc.solver.price import price
from layoutc.solver.sites import at
from layoutc.solver.solve import solve

EXAMPLES = Path(__file__).parent.parent / "examples"

Run = Callable[..., dict[str, Any]]

PALM = """\
# PaLM 540B's gated feedforward layer.
dims   B=512  L=1  E=18432  F=73728
mesh   x y z
input  x      : BLE?
weight w_gate : EF!
weight w_in   : EF!
weight w_out  : FE!
gate : BLF? = x * w_gate
up   : BLF? = x * w_in
act         = silu(gate)
h           = act * up
y    : BLE? = h * w_out
output y -> x
"""


@pytest.fixture
def palm(tmp_path: Path) -> Path:
    path = tmp_path / "palm.layout"
    path.write_text(PALM)
    return path


def test_links_of_its_own_for_each_axis_change_the_best_mesh(compiled: Run, palm: Path) -> None:
    """On a flat network E is best split over 8 of 256 chips, on 4x8x8 over the axis of 4."""
    chips = "--chips", "256", "--hardware", "tpu-v4"
    flat = compiled(palm, *chips, "--network", "flat")
    torus = compiled(palm, *chips)
    split = {name: found["phases"]["main"]["layouts"]["w_in"] for name, found in
             (("flat", flat), ("torus", torus))}  # fmt: skip
    assert split == {"flat": "E_xF_yz", "torus": "E_xF_yz"}
    assert flat["mesh"]["x"] == 8
    assert torus["mesh"] == {"x": 4, "y": 8, "z": 8}
    assert torus["placement"]["slice"] == [[4, 8, 8]]
    assert torus["placement"]["axes"] == {"x": "ICI 0", "y": "ICI 1", "z": "ICI 2"}
    assert flat["placement"] is None


def test_explain_says_that_the_network_decided(
    palm: Path, capsys: pytest.CaptureFixture[str], compiled: Run
) -> None:
    asked = "--chips", "256", "--hardware", "tpu-v4", "--slice", "4x8x8", "--explain"
    found = compiled(palm, *asked)["explain"]["network"]
    assert found["decided"]
    assert found["flat"]["mesh"]["x"] == 8
    assert found["flat"]["bandwidth"] == 270e9
    assert {axis["bandwidth"] for axis in found["axes"].values()} == {90e9}
    assert main(["compile", str(palm), *asked]) == 0
    out = capsys.readouterr().out
    assert "on a flat network  of 270 GB/s: x=8" in out
    assert "the network decided: x=4 y=8 z=8, 2D weight-stationary" in out
    assert "x: 90 GB/s over ICI 0" in out


def test_a_flat_machine_has_nothing_to_decide(compiled: Run) -> None:
    found = compiled(EXAMPLES / "ffn.layout", "--chips", "4", "--explain")
    assert found["explain"]["network"] is None


def said(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    status = main(["compile", *arguments])
    return status, capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--chips", "48", "--hardware", "tpu-v4"), "tpu-v4 has no slice of 48 chips"),
        (("--chips", "48", "--hardware", "tpu-v4"), "take 32 or 64"),
        (("--chips", "12", "--hardware", "h100"), "take 8 or 16"),
        (("--chips", "300", "--hardware", "tpu-v5e"), "take 256\n"),
        (("--mesh", "x=2,y=16,z=8", "--hardware", "tpu-v4"),
         "the mesh x=2 y=16 z=8 has no place on tpu-v4: of 256 chips there is 4x8x8, 4x4x16"),
        (("--mesh", "x=2,y=16,z=8", "--hardware", "tpu-v4"),
         "x=4 y=8 z=8 would do, or --network flat takes any mesh"),
    ],
)  # fmt: skip
def test_only_slices_that_exist(
    options: tuple[str, ...], message: str, palm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, error = said(str(palm), *options, capsys=capsys)
    assert status == 1
    assert message in error
    assert "2:1: error:" in error or "3:1: error:" in error  # the mesh is underlined


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--slice", "4x4x15"), "tpu-v4 has no slice 4x4x15: take 192 or 256"),
        (("--slice", "8x32"), "tpu-v4 has no slice 8x32: of 256 chips it has 4x8x8, 4x4x16"),
    ],
)
def test_a_slice_that_is_asked_for_must_exist(
    options: tuple[str, ...], message: str, palm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = (str(palm), "--chips", "256", "--hardware", "tpu-v4", *options)
    status, error = said(*arguments, capsys=capsys)
    assert (status, error) == (2, f"layoutc: error: {message}\n")


def test_a_slice_that_is_asked_for_is_taken(compiled: Run, palm: Path) -> None:
    asked = "--chips", "256", "--hardware", "tpu-v4", "--slice", "16x4x4"
    assert compiled(palm, *asked)["placement"]["slice"] == [[4, 4, 16]]


# Two nodes of 8 H100.


def test_tensor_parallelism_over_two_nodes_is_priced_across_them(compiled: Run) -> None:
    """One axis of 16: an all-reduce of D bytes brings 7/8 of it over NVLink and half of an eighth
    over InfiniBand, twice; and it starts in both."""
    found = compiled(EXAMPLES / "swiglu.layout", "--mesh", "x=16,y=1,z=1", "--hardware", "h100")
    assert found["placement"]["text"] == "x → NVLink and InfiniBand (8·2)"
    (move,) = found["phases"]["main"]["collectives"]
    inner, outer = load_machine("h100").tiers
    size = 256 * 8192 * 2
    within = inner.start + 2 * 3 * inner.hop + 2 * size * 7 / 8 / inner.bandwidth
    across = outer.start + 2 * 1 * outer.hop + 2 * size / 8 / 2 / outer.bandwidth
    assert move["op"] == "all-reduce"
    assert move["seconds"] == pytest.approx(within + across)
    assert across > 2 * size / 16 / outer.bandwidth


def test_fat_collectives_stay_in_the_node() -> None:
    """A Llama 70B feedforward layer of many tokens: what is moved of F goes over NVLink alone, and
    with the axes exchanged between the tiers the same program takes longer."""
    text = (EXAMPLES / "swiglu.layout").read_text().replace("B=256", "B=4096")
    machine = load_machine("h100")
    plan = solve(read(text), 16, machine)
    tiers = {
        axis: {machine.tiers[part.tier].name for part in parts}
        for axis, parts in plan.fabric.placement.parts.items()
    }
    moves = {p.define.name: p for p in plan.only.prices.collectives}
    of_hidden = [p for p in moves.values() if "F" in p.define.type.shape.names]
    assert len(of_hidden) == 3
    for one in of_hidden:
        assert {t for a in one.define.operation.axes for t in tiers[a]} == {"NVLink"}  # type: ignore[union-attr]
    elsewhere = [
        price(plan.only.program, fabric).seconds
        for fabric in at(pinned(read(text), plan.mesh), plan.mesh, machine)
    ]
    assert len(elsewhere) > 1
    assert min(elsewhere) == pytest.approx(plan.seconds)
    assert max(elsewhere) > 1.2 * plan.seconds


def test_any_machine_can_be_asked_for_a_flat_network(compiled: Run) -> None:
    """InfiniBand's bandwidth for 16 GPUs, NVLink's for 8; nothing starts and nothing hops."""
    for chips, bandwidth in (("16", 50e9), ("8", 450e9)):
        asked = "--chips", chips, "--hardware", "h100", "--network", "flat"
        moving = compiled(EXAMPLES / "swiglu.layout", *asked)["phases"]["main"]["communication"]
        assert moving["latency_seconds"] == 0
        assert moving["seconds"] == pytest.approx(moving["bytes"] / bandwidth)


def test_matmuls_go_at_the_peak_of_their_dtype(compiled: Run) -> None:
    machine = load_machine("h100")
    for dtype in ("f32", "bf16"):
        found = compiled(
            EXAMPLES / "ffn.layout", "--chips", "8", "--hardware", "h100", "--dtype", dtype,
            "--set", "E=512", "--set", "F=2048",
        )  # fmt: skip
        compute = found["phases"]["main"]["compute"]
        assert compute["seconds"] == pytest.approx(compute["flops"] / machine.peak(dtype))
    assert machine.peak("f32") < machine.peak("bf16") == machine.peak("int8", "bf16")


def test_a_machine_of_ones_own(compiled: Run, tmp_path: Path) -> None:
    """A ring of four, written here: an all-gather over it runs both ways round, in two hops."""
    machine = tmp_path / "ring.toml"
    machine.write_text("""\
name = "ring"
peak_flops = { bf16 = 1e12, source = "made up" }
memory_bytes = { value = 1e9, source = "made up" }
memory_bandwidth = { value = 1e9, source = "made up" }
[[network]]
name = "ring"
topology = "torus"
bandwidth = { value = 1e3, source = "made up" }
hop = { value = 1.0, source = "made up" }
start = { value = 10.0, source = "made up" }
shapes = { listed = ["4"], source = "made up" }
""")
    program = tmp_path / "gather.layout"
    program.write_text("dims E=4000\nmesh x\ninput x : E_x\ny : E = all-gather(x) x\noutput y\n")
    found = compiled(program, "--chips", "4", "--hardware", str(machine))
    (move,) = found["phases"]["main"]["collectives"]
    assert move["seconds"] == pytest.approx(10.0 + 2 * 1.0 + 6000 / 2000)
    assert move["latency_seconds"] == pytest.approx(12.0)


def test_a_wrong_machine_file_is_shown_like_a_wrong_program(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machine = tmp_path / "mine.toml"
    machine.write_text('name = "mine"\npeak_flops = 3\n')
    asked = str(EXAMPLES / "ffn.layout"), "--chips", "4", "--hardware", str(machine)
    status, error = said(*asked, capsys=capsys)
    assert status == 1
    assert f"{machine}:2:" in error
    assert error.endswith("errors\n")
