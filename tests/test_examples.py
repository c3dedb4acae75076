"""Every example: checked and in its canonical spelling; the feedforward ones compiled for 64 chips,
and run on simulated devices."""

import re
from pathlib import Path
from typing import Any

import pytest
from shipped import EXAMPLES, FEEDFORWARD

from layoutc.cli import main
from layoutc.codegen.run import load

SMALL = ["--set", "B=16", "--set", "L=2", "--set", "E=64", "--set", "F=128", "--dtype", "f32"]

every_example = pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
every_feedforward = pytest.mark.parametrize("path", FEEDFORWARD, ids=lambda path: path.stem)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 10


@every_example
def test_it_is_right(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(path)]) == 0
    assert capsys.readouterr() == ("", "")


@every_example
def test_it_is_in_its_canonical_spelling(path: Path) -> None:
    assert main(["fmt", "--check", str(path)]) == 0


@every_example
def test_its_head_teaches(path: Path) -> None:
    head = path.read_text().split("\n\n")[0].splitlines()
    assert all(line.startswith("#") for line in head)
    assert 2 <= len(head) <= 5


@every_feedforward
def test_what_compile_gives_compiles_to_itself(path: Path, compiled: Any, tmp_path: Path) -> None:
    first = compiled(path, "--chips", "64")
    for name, phase in first["phases"].items():
        explicit = tmp_path / path.name
        explicit.write_text(phase["text"])
        assert main(["check", str(explicit)]) == 0
        second = compiled(explicit, "--chips", "64")
        assert second["mesh"] == first["mesh"]
        assert second["phases"] == {name: phase}


@every_feedforward
def test_its_program_computes_the_same_as_one_device(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "emitted.py"
    repeat = ["--set", "repeat=2"] if "repeat" in path.read_text().split() else []
    assert main(["compile", str(path), "--chips", "8", *SMALL, *repeat, "-o", str(out)]) == 0
    module = load(out.read_text(), path.stem)
    assert module.main([]) == 0
    found = re.findall(r"^(?:\w+: )?error (\S+)", capsys.readouterr().out, re.MULTILINE)
    assert len(found) == len(module.PHASES)
    assert all(float(error) < 1e-5 for error in found)


@every_feedforward
def test_minimizing_communication_moves_no_more(path: Path, compiled: Any) -> None:
    """No more work than the fastest program does, and at equal work no more bytes."""
    both = [
        compiled(path, "--chips", "64", *options)["phases"].values()
        for options in (["--minimize", "communication"], [])
    ]
    costs = [
        (
            sum(p["weight"] * p["compute"]["flops"] for p in phases),
            sum(p["weight"] * p["communication"]["bytes"] for p in phases),
        )
        for phases in both
    ]
    assert costs == sorted(costs)
