"""Phases: checked, solved together, emitted as one module, verified one by one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import dense
import jax
import numpy as np
import pytest
from checking import one, right, wrong
from machines import plain

import layoutc
from layoutc.cli import main
from layoutc.codegen.body import arguments
from layoutc.codegen.emit import emit
from layoutc.codegen.run import load, start_script
from layoutc.dsl.check import Settings
from layoutc.dsl.parse import parse, parse_shape
from layoutc.dsl.phases import unknown_phases
from layoutc.dsl.printer import print_program
from layoutc.dsl.program import Declare, Phase, Program
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.plan import Plan
from layoutc.solver.solve import solve
from layoutc.solver.unsolvable import Unsolvable

FFN = """\
dims   B  L  E=96  F=240
mesh   {mesh}
phase prefill : B={B}  L=16
phase decode : B=12  L=1  weight=7
input  x     : BLE?
weight w_in  : EF!
weight w_out : FE!
h : BLF? = x * w_in
g        = gelu(h)
y : BLE? = g * w_out
output y -> x
"""
HEAD = "dims B L=4 E=18\nmesh x=2 y\n"
TAIL = "\ninput x : BLE?\nweight w : E\noutput x\n"
EXAMPLE = Path(__file__).parent.parent / "examples" / "ffn_phases.layout"


def ffn(mesh: str = "x y", batch: int = 24) -> Program:
    return right(FFN.format(mesh=mesh, B=batch))


def slow(bandwidth: float = 2e11) -> Machine:
    """So few operations a second, and so slow a network, that small sizes are worth a thought."""
    return plain("slow", 1e12, 1 << 35, 1200e9, bandwidth)


# The checker.


def test_a_phase_has_its_own_sizes_and_a_weight() -> None:
    program = ffn()
    assert program.phases == (
        Phase("prefill", {"B": 24, "L": 16}),
        Phase("decode", {"B": 12, "L": 1}, 7.0),
    )
    assert [p.dims for p in program.passes] == [
        {"B": 24, "L": 16, "E": 96, "F": 240},
        {"B": 12, "L": 1, "E": 96, "F": 240},
    ]
    assert [p.phase.name for p in program.passes] == ["prefill", "decode"]


def test_without_a_line_there_is_one_phase_called_main() -> None:
    program = right("dims B=4\nmesh x\ninput x : B?\noutput x\n")
    assert program.passes == (program,)
    assert program.phase == Phase("main", {})


def test_what_is_printed_is_read_back() -> None:
    program = ffn()
    assert right(print_program(program)) == replace(program, name="test")
    for alone in program.passes:
        again = right(print_program(alone))
        assert again.passes == (replace(alone, name="test"),)


@pytest.mark.parametrize(
    ("settings", "sizes"),
    [
        (Settings(dims={"B": 48}), [48, 48]),
        (Settings(phases={"decode": {"B": 6}}), [24, 6]),
        (Settings(dims={"B": 48}, phases={"decode": {"B": 6}}), [48, 6]),
    ],
)
def test_settings_win_over_the_file(settings: Settings, sizes: list[int]) -> None:
    program = right(FFN.format(mesh="x", B=24), settings)
    assert [p.dims["B"] for p in program.passes] == sizes


@pytest.mark.parametrize(
    ("line", "column", "message"),
    [
        ("phase p : B=0", 13, "B = 0 is zero; a size is at least 1"),
        ("phase p : Q=3", 11, "dim Q is not declared"),
        ("phase p : B=3 B=4", 15, "B stands twice"),
        ("phase p : b=3", 11, "b is not a dim"),
        ("phase p : weight=0", 18, "a phase's weight is above zero: how often it runs"),
        ("phase p : weight=-1", 18, "a phase's weight is above zero: how often it runs"),
        ("phase p : weight=2 weight=3", 20, "weight stands twice"),
        ("phase gelu : B=3", 7, "gelu is a word of the language, not a name"),
        (
            "phase p : E=36",
            11,
            "E is a dim of the weight w, which all phases share: its size is one",
        ),
    ],
)
def test_what_is_refused(line: str, column: int, message: str) -> None:
    assert one(HEAD + line + TAIL) == (3, column, message)


def test_two_phases_of_a_name() -> None:
    twice = wrong(f"{HEAD}phase p : B=2\nphase p : B=4{TAIL}")
    assert [(e.span.line, e.message) for e in twice] == [(4, "phase p is there twice")]
    near = wrong(f"{HEAD}phase p : B=2\nphase p_ : B=4{TAIL}")
    assert near[0].message == "phases p and p_ differ only by underscores at the end"


def test_a_size_of_one_phase_that_does_not_divide() -> None:
    text = f"{HEAD}phase p : B=2\nphase q : B=3{TAIL}".replace("BLE?", "B_xLE?")
    (error,) = wrong(text)
    assert error.message == "B=3 in q is not divided by x=2"
    assert (error.span.line, error.notes[0][0].line) == (5, 4)


def test_settings_that_a_file_can_not_follow() -> None:
    file = parse(FFN.format(mesh="x", B=24), "ffn.layout")
    said = unknown_phases(file, Settings(phases={"prefil": {"B": 2}, "decode": {"E": 2}}))
    assert said == [
        "ffn has no phase prefil: its phases are prefill, decode",
        "E is a dim of the weight w_in, which all phases share: its size is one",
    ]


# The search.


def test_weights_are_held_alike_and_nothing_else_need_be() -> None:
    """The paper's case: few tokens leave the weights where they are, many have them gathered."""
    plan = layoutc.compile(EXAMPLE, 64)
    prefill, decode = plan.phases["prefill"], plan.phases["decode"]
    for weight in ("w_in", "w_out"):
        assert prefill.layouts[weight] == decode.layouts[weight]
    moved = {
        phase.name: {
            s.define.operation.operand  # type: ignore[union-attr]
            for s in phase.answer.prices.collectives
        }
        for phase in (prefill, decode)
    }
    assert {"w_in", "w_out"} <= moved["prefill"]
    assert not {"w_in", "w_out"} & moved["decode"]
    assert decode.answer.prices.communication.elements == 7962624
    assert plan.seconds == prefill.costs.seconds + 64 * decode.costs.seconds
    assert plan.answer.bound == pytest.approx(plan.seconds, rel=1e-9)


@pytest.mark.parametrize("batch", [1, 24, 600])
@pytest.mark.parametrize("minimize", ["time", "communication"])
def test_the_best_is_the_best_of_all_layouts_of_the_weights(batch: int, minimize: Any) -> None:
    """Each way to hold both weights is pinned, and each phase solved alone."""
    program, machine = ffn("x=2 y=2", batch), slow()
    plan = solve(program, 4, machine, minimize)
    best = min(
        total
        for pinned in _pinned(program)
        if (total := _alone(pinned, machine, minimize)) is not None
    )
    assert _total(plan) == pytest.approx(best, rel=1e-9)


def _total(plan: Plan) -> tuple[float, float]:
    """Work and communication count apart where communication is minimised."""
    if plan.minimize == "time":
        return plan.seconds, 0.0
    work = sum(p.weight * p.prices.compute.seconds for p in plan.passes)
    return work, plan.value


def _pinned(program: Program) -> Iterator[Program]:
    """The program with each layout of w_in and w_out in which both axes split something."""
    splits = ["_xy", "_yx"]
    both = [("_x", "_y"), ("_y", "_x"), *(("", s) for s in splits), *((s, "") for s in splits)]
    for (e, f), (g, d) in product(both, both):
        shapes = {"w_in": f"E{e}F{f}", "w_out": f"F{g}E{d}"}
        yield replace(
            program,
            items=tuple(
                replace(item, type=replace(item.type, shape=parse_shape(shapes[item.name])))
                if isinstance(item, Declare) and item.name in shapes
                else item
                for item in program.items
            ),
        )


def _alone(program: Program, machine: Machine, minimize: Any) -> tuple[float, float] | None:
    totals = []
    for alone in program.passes:
        try:
            totals.append(_total(solve(alone, 4, machine, minimize)))
        except Unsolvable:
            return None
    return sum(t[0] for t in totals), sum(t[1] for t in totals)


def test_a_phase_that_wants_what_another_does_not(compiled: Callable[..., Any]) -> None:
    """Sharing costs something only together with what it costs apart."""
    found = compiled(EXAMPLE, "--chips", "64")
    weights = {name: phase["weight"] for name, phase in found["phases"].items()}
    apart = sum(weights[name] * one["seconds"] for name, one in found["apart"].items())
    assert weights == {"prefill": 1.0, "decode": 64.0}
    assert found["seconds"] >= apart * (1 - 1e-9)
    assert found["bound"] == pytest.approx(found["seconds"], rel=1e-9)


def test_the_text_of_a_phase_compiles_to_itself(
    tmp_path: Path, compiled: Callable[..., Any]
) -> None:
    found = compiled(EXAMPLE, "--chips", "8")
    for name, phase in found["phases"].items():
        path = tmp_path / "ffn_phases.layout"
        path.write_text(phase["text"])
        again = compiled(path, "--chips", "8")
        assert again["phases"][name]["text"] == phase["text"]
        assert again["phases"][name]["seconds"] == phase["seconds"]


# Emission.


@pytest.mark.parametrize("mesh", [{"x": 2, "y": 2}, {"x": 3, "y": 2}, {"x": 1, "y": 5}])
def test_both_functions_equal_numpy_over_the_same_weights(mesh: dict[str, int]) -> None:
    axes = " ".join(f"{axis}={size}" for axis, size in mesh.items())
    program = right(FFN.format(mesh=axes, B=30).replace("B=12", "B=60") + "\n")
    plan = solve(
        replace(program, dtype="f32", items=_in_f32(program)), mesh["x"] * mesh["y"], slow()
    )
    module = load(emit([p.program for p in plan.passes], plan.mesh), "phases")
    grid = module.make_mesh(jax.devices())
    weights = []
    for part in plan.passes:
        arrays = module.make_inputs(grid, phase=part.phase)
        named = dict(zip([d.name for d in arguments(part.program)], arrays, strict=True))
        (wanted,) = dense.run(part.program, {n: np.asarray(a) for n, a in named.items()})
        got = np.asarray(getattr(module, part.phase)(*arrays))
        assert np.max(np.abs(got - wanted)) <= 1e-5 * np.max(np.abs(wanted))
        weights.append([named["w_in"], named["w_out"]])
    for one_, other in zip(*weights, strict=True):
        assert one_.sharding == other.sharding
        np.testing.assert_array_equal(one_, other)


def _in_f32(program: Program) -> Any:
    return tuple(replace(item, type=replace(item.type, dtype="f32")) for item in program.items)  # type: ignore[union-attr, type-var]


def test_make_inputs_takes_the_first_phase_or_the_one_named() -> None:
    plan = solve(ffn("x=2 y=2"), 4, slow())
    module = load(emit([p.program for p in plan.passes], plan.mesh), "phases")
    mesh = module.make_mesh(jax.devices())
    assert module.make_inputs(mesh)[0].shape == (24, 16, 96)
    assert module.make_inputs(mesh, phase="decode")[0].shape == (12, 1, 96)
    assert module.make_inputs(mesh, phase="decode", B=4)[0].shape == (4, 1, 96)
    with pytest.raises(ValueError, match="there is no phase decoded, only prefill, decode"):
        module.make_inputs(mesh, phase="decoded")


def test_the_script_runs_every_phase(tmp_path: Path) -> None:
    plan = solve(ffn("x=2 y=2"), 4, slow())
    path = tmp_path / "both.py"
    path.write_text(emit([p.program for p in plan.passes], plan.mesh))
    script = start_script(path, ["--dtype", "f32", "--set", "decode.B=8", "--set", "F=48"])
    out, err = script.communicate()
    assert script.returncode == 0, out + err
    said = [line.split(" error ")[0] for line in out.splitlines() if " error " in line]
    assert said == ["prefill:", "decode:"]
    refused = start_script(path, ["--set", "decoded.B=8"])
    assert refused.wait() == 2


# Verification and Python.


def test_every_phase_is_verified(answered: Callable[..., Any]) -> None:
    options = [
        "--set",
        "prefill.B=64",
        "--set",
        "decode.B=64",
        "--set",
        "E=1152",
        "--set",
        "F=2304",
    ]
    found = answered("verify", EXAMPLE, "--chips", "8", *options)
    assert found["equal"]
    assert found["differences"] == []
    assert list(found["phases"]) == ["prefill", "decode"]
    for phase in found["phases"].values():
        assert phase["collectives"]
        for row in phase["collectives"]:
            assert row["predicted_elements"] == row["compiled_elements"]


def test_a_slip_in_one_phase_is_named_with_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from layoutc import pipeline

    real = pipeline.emitted

    def emitted(plan: Plan) -> str:
        text, start = real(plan), real(plan).index("def decode(")
        return text[:start] + text[start:].replace("jax.nn.gelu", "jax.nn.relu", 1)

    monkeypatch.setattr(pipeline, "emitted", emitted)
    options = ["--set", "prefill.B=8", "--set", "decode.B=8", "--set", "E=64", "--set", "F=256"]
    assert main(["verify", str(EXAMPLE), "--mesh", "x=2,y=2,z=2", "--json", *options]) == 1
    found = json.loads(capsys.readouterr().out)
    assert not found["equal"]
    assert all(said.startswith("decode: ") for said in found["differences"])


def test_a_plan_of_several_phases_has_each() -> None:
    sizes = {"E": 96, "F": 240}
    plan = layoutc.compile(EXAMPLE, 8, dtype="f32", **sizes)
    assert list(plan.phases) == ["prefill", "decode"]
    assert plan.phases["decode"].weight == 64
    with pytest.raises(layoutc.WrongCall, match="ffn_phases has the phases prefill, decode"):
        _ = plan.layouts
    decode = plan.phases["decode"].load()
    x, w_in, w_out = decode.make_inputs(B=8)
    assert decode(x, w_in, w_out).shape == (8, 1, 96)
    assert set(decode.functions) == {"prefill", "decode"}
    held = plan.phases["prefill"].in_shardings
    assert w_in.sharding.is_equivalent_to(held["w_in"], 2)
    assert plan.logical_axis_rules() == plan.phases["decode"].logical_axis_rules()
    assert "phases prefill, decode" in repr(plan)
