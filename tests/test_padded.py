"""Padded dims: how they are read, printed and counted."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import padded
import pytest
from texts import read

from layoutc.cli import main
from layoutc.dsl.check import Settings, check
from layoutc.dsl.formatter import format_file
from layoutc.dsl.parse import parse
from layoutc.dsl.printer import print_program
from layoutc.dsl.program import Program
from layoutc.solver.hardware.catalogue import load_machine
from layoutc.solver.hardware.fabric import uniform
from layoutc.solver.hardware.machine import DEFAULT
from layoutc.solver.price import price

# What is refused, and what is read.


def wrong(text: str, **settings: Any) -> list[tuple[int, int, str, str]]:
    found = check(parse(text, "p.layout"), Settings(**settings))
    assert not isinstance(found, Program)
    return [(e.span.line, e.span.start, e.message, e.hint) for e in found]


BODY = "\nmesh x\ninput a : BH_x\noutput a\n"


@pytest.mark.parametrize(
    ("dims", "column", "message", "hint"),
    [
        (
            "dims B=2 H=48 padded 40",
            10,
            "H=48 is padded to 40, which is less",
            "pad it to at least 48, or leave the padding out",
        ),
        (
            "dims B H padded 64",
            8,
            "H is padded and has no size",
            "say how much of it is used:  H=... padded 64",
        ),
        ("dims B H=1 padded 0", 19, "H padded to 0 is zero; a size is at least 1", ""),
        ("dims B H=1 padded 2.5", 19, "H padded to 2.5 is not a whole number", ""),
        ("dims B H=1 padded -4", 19, "H padded to -4 is negative; a size is at least 1", ""),
        ("dims B H=0 padded 4", 10, "H = 0 is zero; a size is at least 1", ""),
    ],
)
def test_what_is_refused(dims: str, column: int, message: str, hint: str) -> None:
    assert wrong(dims + BODY) == [(1, column, message, hint)]


def test_what_is_given_is_what_is_used() -> None:
    text = "dims B=2 H=48 padded 64" + BODY
    found = check(parse(text, "p.layout"), Settings(dims={"H": 24}))
    assert isinstance(found, Program)
    assert found.dims == {"B": 2, "H": 64}
    assert found.useful == {"H": 24}
    ((*_, message, _),) = wrong(text, dims={"H": 65})
    assert message == "H=65 is padded to 64, which is less"
    sized = check(parse(text.replace("=48", ""), "p.layout"), Settings(dims={"H": 24}))
    assert isinstance(sized, Program)
    assert sized.useful == {"H": 24}


def test_the_padding_is_what_axes_divide() -> None:
    text = "dims B=2 H=28 padded 32" + BODY.replace("mesh x", "mesh x=8")
    assert isinstance(check(parse(text, "p.layout")), Program)
    (error,) = wrong(text.replace("32", "30"))
    assert error == (3, 12, "H=28 padded 30 is not divided by x=8", "padded 32 would do")
    ((*_, hint),) = wrong(text.replace(" padded 32", ""))
    assert hint.endswith("would do, or 4 more places as padding:  dims H=28 padded 32")


def test_padding_that_no_mesh_divides(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.layout"
    path.write_text("dims B=2 H=28 padded 30" + BODY)
    assert main(["compile", str(path), "--chips", "8"]) == 1
    said = "a : BH_x cuts H=28 padded 30 into 8; padded 32 would do"
    assert said in capsys.readouterr().err


def test_a_phase_has_no_padding_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "dims B=2 H=48 padded 64\nphase p : B=1\nphase q : H=24" + BODY
    message = "H is padded, to the same size in all phases"
    assert wrong(text) == [(3, 11, message, "")]
    path = tmp_path / "p.layout"
    path.write_text(text.replace("H=24", "B=4"))
    assert main(["check", str(path), "--set", "q.H=24"]) == 2
    assert message in capsys.readouterr().err
    program = read(text.replace("H=24", "B=4"))
    assert [one.useful for one in program.passes] == [{"H": 48}, {"H": 48}]


def test_what_grows_is_not_padded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.layout"
    path.write_text("dims B=2 H=48 padded 64" + BODY)
    assert main(["regimes", str(path), "--chips", "4", "--over", "H=1..128"]) == 2
    assert "--over H: H is padded" in capsys.readouterr().err


def test_it_is_printed_as_it_is_read() -> None:
    program = read("dims B=2 F H=48 padded 64 D=8 padded 8" + BODY)
    text = print_program(program)
    assert text.splitlines()[0] == "dims   B=2  F  H=48 padded 64  D=8 padded 8"
    assert read(text) == program
    assert format_file(parse(text, "p.layout")) == text


# What is counted.


def test_prices_count_the_padding_and_useful_work_does_not() -> None:
    split = "dims B=4 E=8 H={}\nmesh x y\ninput x : BE\nweight w : EH_x\nh = x * w\noutput h\n"
    split = split.replace("h = x", "h : BH_x = x")
    machine, mesh = load_machine(DEFAULT), {"x": 4, "y": 2}
    with_padding = price(read(split.format("48 padded 64")), uniform(mesh, machine))
    without = price(read(split.format("64")), uniform(mesh, machine))
    assert with_padding.memory == without.memory
    assert with_padding.compute.flops == without.compute.flops == 2 * 4 * 8 * 64 // 4
    # The chips along y all do the same.
    assert without.compute.useful_flops == 2 * 4 * 8 * 64 // 8
    assert with_padding.compute.useful_flops == 2 * 4 * 8 * 48 // 8


def test_compile_says_how_much_is_useful(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], compiled: Any
) -> None:
    path = tmp_path / "heads.layout"
    path.write_text(padded.HEADS)
    found = compiled(path, "--chips", "8")["phases"]["main"]
    assert "H=28 padded 32" in found["text"]
    assert found["compute"]["useful_flops"] / found["compute"]["flops"] == 28 / 32
    assert main(["compile", str(path), "--chips", "8"]) == 0
    said = "87.5% of the matmul work, with H=28 padded 32"
    assert re.search(rf"^  useful +{said}$", capsys.readouterr().out, re.MULTILINE)
    path.write_text(padded.HEADS.replace("28 padded", ""))
    assert main(["compile", str(path), "--chips", "8"]) == 0
    assert "useful" not in capsys.readouterr().out
