"""Use from Python: the plan is the command line's, its errors are too, what the text shows runs."""

from __future__ import annotations

import doctest
import os
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from regenerate import FENCE, PAGES

import layoutc
from layoutc.cli import main

ROOT = Path(__file__).parent.parent
FFN = ROOT / "examples" / "ffn.layout"
SMALL = {"B": 16, "E": 64, "F": 256}
WRONG = "dims B=8 E=16\nmesh x\ninput x : BE?\ny = gelu(v)\nz = x * w\noutput y\n"


@pytest.fixture(scope="module")
def plan() -> layoutc.Compiled:
    return layoutc.compile(FFN, 16, dtype="f32", **SMALL)


# The package.


def test_importing_loads_nothing() -> None:
    script = """if True:
        import sys
        import layoutc
        assert "compile" in dir(layoutc)
        loaded = {"sympy", "jax", "numpy", "lark"} & set(sys.modules)
        loaded |= {name for name in sys.modules if name.startswith("layoutc.")}
        plan = layoutc.compile(sys.argv[1], 4)
        print(plan, plan.text, plan.costs, plan.logical_axis_rules(), plan._repr_html_())
        sys.exit(f"loaded {loaded}" if loaded or "jax" in sys.modules else 0)
    """
    command = [sys.executable, "-c", script, str(FFN)]
    found = subprocess.run(command, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr


def test_public_names_are_there_and_no_others() -> None:
    assert all(hasattr(layoutc, name) for name in layoutc.__all__)
    assert set(layoutc.__all__) <= set(dir(layoutc))
    with pytest.raises(AttributeError, match="no attribute 'complie'"):
        _ = layoutc.complie  # type: ignore[attr-defined]


# The plan is the command line's.


@pytest.mark.parametrize("minimize", ["time", "communication"])
def test_the_plan_is_the_command_lines(
    minimize: Any, compiled: Callable[..., dict[str, Any]]
) -> None:
    document = compiled(FFN, "--chips", "16", "--minimize", minimize, "--set", "B=64")
    phase = document["phases"]["main"]
    plan = layoutc.compile(FFN, 16, minimize=minimize, B=64)
    assert plan.mesh == document["mesh"]
    assert plan.layouts == phase["layouts"]
    assert plan.text == phase["text"]
    assert (plan.name, plan.chips, plan.hardware) == ("ffn", 16, document["hardware"])
    costs = plan.costs
    assert costs.elements == phase["communication"]["elements"]
    assert costs.bytes == phase["communication"]["bytes"]
    assert costs.communication_seconds == phase["communication"]["seconds"]
    compute = (costs.flops, costs.useful_flops, costs.compute_seconds)
    assert compute == tuple(phase["compute"].values())
    memory = (costs.memory, costs.traffic, costs.memory_seconds)
    assert memory == tuple(phase["memory"].values())
    assert costs.seconds == document["seconds"]


def test_the_module_and_the_report_are_the_command_lines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    plan = layoutc.compile(FFN, 16, B=64)
    assert main(["compile", str(FFN), "--chips", "16", "--set", "B=64", "-o", "-"]) == 0
    assert plan.source == capsys.readouterr().out
    assert main(["compile", str(FFN), "--chips", "16", "--set", "B=64"]) == 0
    report = capsys.readouterr().out.splitlines()
    report = [line for line in report if not line.startswith("  against ")]
    assert str(plan).splitlines()[:-1] == report[:-1]
    assert report[-1].startswith(str(plan).splitlines()[-1])


def test_formulas_are_those_of_derive(answered: Callable[..., dict[str, Any]]) -> None:
    path = ROOT / "examples" / "ffn_2d_weight_stationary.layout"
    document = answered("derive", path)
    costs = layoutc.compile(path, chips=64).costs
    assert (costs.formula, costs.exact) == (document["communication"], document["exact"])


def test_text_is_compiled_as_a_file_is() -> None:
    assert layoutc.compile_text(FFN.read_text(), 8, name="ffn") == layoutc.compile(FFN, 8)
    assert layoutc.compile_text(FFN.read_text(), 8, name="ffn.layout").name == "ffn"


def test_every_size_can_be_given() -> None:
    path = ROOT / "examples" / "stack.layout"
    plan = layoutc.compile(path, mesh={"x": 2, "y": 2, "z": 1}, dtype="f32", repeat=3, **SMALL)
    assert plan.chips == 4
    assert "dtype  f32" in plan.text
    assert "repeat 3 {" in plan.text
    assert "B=16  L=1  E=64  F=256" in plan.text
    assert layoutc.compile(FFN, np.int64(4), B=np.int64(8)).chips == 4  # type: ignore[arg-type]


def test_it_is_short_as_text() -> None:
    plan = layoutc.compile(FFN, 64)
    assert repr(plan) == "<plan of ffn: 64 chips (tpu-v4-flat), mesh x=4 y=4 z=4, 217 µs a pass>"


# What is wrong.


def test_a_wrong_file_says_what_the_command_line_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "wrong.layout"
    path.write_text(WRONG)
    assert main(["compile", str(path), "--chips", "4"]) == 1
    with pytest.raises(layoutc.WrongFile) as caught:
        layoutc.compile(path, 4)
    assert f"{caught.value}\n" == capsys.readouterr().err
    assert [error.span.line for error in caught.value.errors] == [4, 5]
    assert str(caught.value).endswith("2 errors")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("dims B=3\nmesh x\ninput x : B!\noutput x\n", "program:"),
        ("\0", "it has NUL characters"),
        ("\udc80", "is not UTF-8"),
        ("", "program:1:1: error:"),
    ],
)
def test_text_that_is_no_program_for_four_chips(text: str, says: str) -> None:
    with pytest.raises(layoutc.WrongFile, match=says) as caught:
        layoutc.compile_text(text, 4)
    assert len(caught.value.errors) == 1


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(layoutc.WrongFile, match=r"nowhere\.layout:1:1: error: can't be read"):
        layoutc.compile(Path("nowhere.layout"), 4)


@pytest.mark.parametrize(
    ("given", "options"),
    [
        ({"chips": 4, "Q": 2}, ["--chips", "4", "--set", "Q=2"]),
        ({"chips": 4, "B": "x"}, ["--chips", "4", "--set", "B=x"]),
        ({"chips": 4, "B": 0}, ["--chips", "4", "--set", "B=0"]),
        ({"chips": 4, "B": True}, ["--chips", "4", "--set", "B=True"]),
        ({"chips": 4, "repeat": 1.5}, ["--chips", "4", "--set", "repeat=1.5"]),
        ({"mesh": {"q": 2}}, ["--mesh", "q=2"]),
        ({}, []),
        ({"mesh": {"x": 2}}, ["--mesh", "x=2"]),
        ({"chips": 4, "hardware": "tpu-v4-flt"}, ["--chips", "4", "--hardware", "tpu-v4-flt"]),
    ],
)
def test_a_wrong_call_says_what_the_command_line_says(
    given: dict[str, Any], options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compile", str(FFN), *options]) == 2
    with pytest.raises(layoutc.WrongCall) as caught:
        layoutc.compile(FFN, **given)
    assert f"layoutc: error: {caught.value}\n" == capsys.readouterr().err
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"chips": 0}, "--chips 0 is not a whole number from 1 to 1,048,576"),
        ({"chips": 2**21}, "is not a whole number from 1"),
        ({"chips": 1.5}, "--chips 1.5 is not a whole number"),
        ({"chips": "64"}, "--chips '64' is not a whole number"),
        ({"chips": 4, "minimize": "memory"}, "--minimize memory: it is time or communication"),
        ({"chips": 4, "dtype": "f64"}, "--dtype f64: it is one of f32, bf16"),
    ],
)
def test_what_argparse_refuses(given: dict[str, Any], says: str) -> None:
    with pytest.raises(layoutc.WrongCall, match=says):
        layoutc.compile(FFN, **given)


def test_a_slip_in_a_keyword_is_pythons_error() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'minimise'"):
        layoutc.compile(FFN, 4, minimise="time")  # type: ignore[arg-type]


def test_without_a_mesh_there_is_nothing_to_run_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "flat.layout"
    path.write_text("dims B=8\ninput x : B\noutput x\n")
    with pytest.raises(layoutc.WrongCall, match="flat has no mesh to run on") as caught:
        layoutc.compile(path, 1)
    assert main(["compile", str(path), "--chips", "1", "-o", "-"]) == 2
    assert capsys.readouterr().err == f"layoutc: error: {caught.value}\n"


# Files.


def test_saving(plan: layoutc.Compiled, tmp_path: Path) -> None:
    plan.save(tmp_path / "ffn.py")
    assert (tmp_path / "ffn.py").read_text() == plan.source
    plan.save(str(tmp_path / "ffn.layout"))
    again = layoutc.compile(tmp_path / "ffn.layout", 16)
    assert (again.text, again.costs) == (plan.text, plan.costs)


def test_saving_that_fails_loses_nothing(
    plan: layoutc.Compiled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "ffn.py"
    target.write_text("old")

    def fail(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no space left"):
        plan.save(target)
    assert target.read_text() == "old"


# What the text shows.


MODULES = ["", ".calls", ".compiled", ".costs", ".loaded", ".logical", ".notebook"]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings_are_right(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert doctest.testmod(import_module(f"layoutc{name}")).failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_are_right(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    blocks = [fence["body"] for fence in FENCE.finditer(text) if fence["head"] == "python"]
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page.name, str(page), 0)
    assert len(test.examples) > 2 or page.name not in {"README.md", "python.md"}
    assert doctest.DocTestRunner().run(test).failed == 0
