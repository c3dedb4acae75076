"""Predicted is what runs: of the feedforward examples, of many meshes, of random programs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from random_programs import random_program
from shipped import FEEDFORWARD
from texts import read
from verified import faults, verdict

from layoutc import pipeline
from layoutc.cli import main
from layoutc.codegen.emit import emit
from layoutc.codegen.verify.verdict import verify
from layoutc.dsl.program import Program
from layoutc.solver.hardware.catalogue import load_machine
from layoutc.solver.hardware.machine import DEFAULT
from layoutc.solver.plan import Plan
from layoutc.solver.solve import solve
from layoutc.verify import differences_of

ROOT = Path(__file__).parent.parent
ODD = ["--set", "B=2520", "--set", "E=5040", "--set", "F=10080"]

LONG = bool(os.environ.get("LAYOUTC_LONG"))
SEEDS = 200 if LONG else 24
GROUP = 4


def elements(document: dict[str, Any]) -> list[tuple[int, int]]:
    found = [c for phase in document["phases"].values() for c in phase["collectives"]]
    return [(c["predicted_elements"], c["compiled_elements"]) for c in found]


# Examples.


@pytest.mark.parametrize("path", FEEDFORWARD, ids=lambda path: path.stem)
def test_every_example_is_what_was_predicted(path: Path, answered: Any) -> None:
    found = answered("verify", path, "--chips", "64")
    assert found["equal"]
    assert found["differences"] == []
    assert found["max_error"] < 1e-5
    assert elements(found)
    assert all(predicted == compiled for predicted, compiled in elements(found))


@pytest.mark.parametrize("path", FEEDFORWARD, ids=lambda path: path.stem)
def test_memory_is_what_was_predicted(path: Path, answered: Any) -> None:
    """Weights to the byte, the peak within a quarter, above and below."""
    for phase in answered("verify", path, "--chips", "64", "--no-run")["phases"].values():
        assert phase["compiled_weight_memory"] == phase["predicted_weight_memory"]
        assert 0.75 < phase["compiled_peak_memory"] / phase["predicted_peak_memory"] < 1.25


@pytest.mark.parametrize("chips", [1, 3, 5, 6, 7, 12])
@pytest.mark.parametrize("example", ["ffn", "ffn_2d_weight_stationary", "stack"])
def test_numbers_of_chips_that_are_no_powers_of_two(
    example: str, chips: int, answered: Any
) -> None:
    path = ROOT / "examples" / f"{example}.layout"
    repeat = ["--set", "repeat=3"] if example == "stack" else []
    found = answered("verify", path, "--chips", str(chips), *ODD, *repeat)
    assert found["equal"]
    assert all(predicted == compiled for predicted, compiled in elements(found))
    assert bool(elements(found)) == (chips > 1)


# Meshes of one to five axes.

AXES = "vwxyz"
SIZES = [(5,), (7, 3), (2, 5, 3), (2, 3, 2, 2), (2, 1, 3, 2, 2)]


def feedforward(axes: str) -> Program:
    return read(
        f"""
        dims   B=8 L=3 E=2520 F=5040
        mesh   {" ".join(axes)}
        dtype  f32
        input  x     : BLE_{axes}
        weight w_in  : E_{axes[0]}{f"F_{axes[1:]}" if axes[1:] else "F"}
        weight w_out : F{f"_{axes[1:]}" if axes[1:] else ""}E_{axes[0]}
        x1 : BLE_{axes[0]} = {f"all-gather({axes[1:]}) x" if axes[1:] else "x"}
        h  : BLF{f"_{axes[1:]}" if axes[1:] else ""}(partialsum-{axes[0]}) = x1 * w_in
        h1 : BLF_{axes[1:]}{axes[0]} = reduce-scatter({axes[0]}) h
        g  = silu(h1)
        g1 : BLF{f"_{axes[1:]}" if axes[1:] else ""} = all-gather({axes[0]}) g
        y  : BLE_{axes[0]}{f"(partialsum-{axes[1:]})" if axes[1:] else ""} = g1 * w_out
        z  : BLE{f"_{axes}" if axes[1:] else f"_{axes[0]}"} = {
            f"reduce-scatter({axes[1:]}) y" if axes[1:] else "y"
        }
        output z
        """
    )


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_explicit_on_one_to_five_axes(sizes: tuple[int, ...]) -> None:
    axes = AXES[: len(sizes)]
    program, mesh = feedforward(axes), dict(zip(axes, sizes, strict=True))
    found = verdict(program, mesh)
    assert found.agrees, differences_of(found)
    assert all(row.predicted == row.compiled for row in found.matched.rows)
    assert len(found.matched.rows) >= 2


@pytest.mark.parametrize("count", range(1, 6))
def test_what_the_solver_fills_on_one_to_five_axes(count: int) -> None:
    program = read(
        f"""
        dims   B=6 L=4 E=720 F=1440
        mesh   {" ".join(AXES[:count])}
        dtype  f32
        input  x     : BLE?
        weight w_in  : EF!
        weight w_out : FE!
        h : BLF?     = x * w_in
        g            = gelu(h)
        y : BLE?     = g * w_out
        output y -> x
        """
    )
    plan = solve(program, 24, load_machine(DEFAULT), "communication")
    found = verify(plan.only, emit(plan.only.program, plan.mesh))
    assert found.agrees, differences_of(found)
    assert all(row.predicted == row.compiled for row in found.matched.rows)


# Random programs.


@pytest.mark.parametrize("first", range(0, SEEDS, GROUP))
def test_random_programs_are_what_was_predicted(first: int) -> None:
    for seed in range(first, first + GROUP):
        program, mesh = random_program(seed)
        found = verdict(program, mesh)
        rows = found.matched.rows
        assert found.stated.equal, (seed, differences_of(found))
        assert found.matched.equal, (seed, differences_of(found))
        assert found.memory.exact
        assert not found.mistyped
        assert all(row.compiled in (row.predicted, None) for row in rows), seed


# What XLA may do.


def test_what_reaches_no_output_and_what_is_said_twice_is_recognised() -> None:
    program = read(
        """
        dims B=24 E=24
        mesh x y
        dtype f32
        input x : B_xE_y
        a  : BE_y = all-gather(x) x
        b  : BE_y = all-gather(x) x
        c  : B_xE = all-gather(y) x
        s  : BE_y = a + b
        output s
        """
    )
    found = verdict(program, {"x": 3, "y": 2})
    assert found.agrees
    said = {str(note) for note in found.matched.recognised}
    assert said == {"b: the same as a, and done once", "c: left out, since it reaches no output"}
    assert [row.compiled for row in found.matched.rows] == [192, None, None]


def test_what_a_loop_repeats_alike_is_recognised() -> None:
    program = read(
        """
        dims B=24 E=24
        mesh x
        dtype f32
        input  x : B_xE
        weight w : E_x
        repeat 7 {
        w1 : E    = all-gather(x) w
        y  : B_xE = x * w1
        next x = y
        }
        output x
        """
    )
    found = verdict(program, {"x": 3})
    assert found.agrees
    (note,) = found.matched.recognised
    assert note.what.startswith("done once, before the loop")
    assert [(row.predicted, row.compiled) for row in found.matched.rows] == [(7 * 16, 16)]


def test_bf16_is_carried_as_f32_on_the_cpu_and_counted_in_elements(answered: Any) -> None:
    found = answered("verify", ROOT / "examples" / "ffn.layout", "--chips", "8", "--no-run")
    rows = found["phases"]["main"]["collectives"]
    assert {row["compiled_dtype"] for row in rows} == {"f32"}
    assert found["phases"]["main"]["recognised"] == [
        f"{row['statement'].split()[0]}: bf16 carried as f32" for row in rows
    ]
    assert found["max_error"] is None


# The command.

SLIP = ('lax.all_gather(x, ("y", "z"), axis=2', 'lax.all_gather(x, ("z", "y"), axis=2')


@pytest.fixture
def slipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A back end that loses an order, which JAX takes without a word."""
    real = pipeline.emitted

    def emitted(plan: Plan) -> str:
        text = real(plan)
        assert SLIP[0] in text
        return text.replace(*SLIP)

    monkeypatch.setattr(pipeline, "emitted", emitted)


@pytest.mark.usefixtures("slipped")
def test_a_difference_is_named_and_the_status_is_1(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(ROOT / "examples" / "ffn_2d_weight_stationary.layout")
    assert main(["verify", path, "--mesh", "x=4,y=4,z=4"]) == 1
    out, err = capsys.readouterr()
    assert err == ""
    said = " ".join(out.split())
    assert "x1 : BLE_x = all-gather(yz) x 2,211,840 2,211,840 differs h1" in said
    assert (
        "differs x1: all-gather(yz) of 2,211,840 elements was predicted, and it became "
        "all-gather(zy) of 2,211,840 elements" in said
    )
    assert said.endswith("verdict 3 differences")


@pytest.mark.usefixtures("slipped")
def test_a_difference_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(ROOT / "examples" / "ffn_2d_weight_stationary.layout")
    assert main(["verify", path, "--mesh", "x=4,y=2,z=2", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert not found["equal"]
    assert any(said.startswith("x1: ") for said in found["differences"])


def test_what_jax_refuses_is_named() -> None:
    program, mesh = feedforward("xy"), {"x": 2, "y": 3}
    wrong = emit(program, mesh).replace('lax.psum_scatter(h, "x"', 'lax.psum_scatter(h, "y"')
    found = faults(program, mesh, wrong)
    assert any(said.startswith("h1: it should be [8, 3, 840] on a chip") for said in found), found


def test_more_chips_than_can_be_simulated(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(ROOT / "examples" / "ffn.layout")
    assert main(["verify", path, "--chips", "8192"]) == 2
    assert "more than 4,096 can't be simulated" in capsys.readouterr().err
