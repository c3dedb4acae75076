"""Two explicit programs side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from layoutc.cli import main

EXAMPLES = Path(__file__).parent.parent / "examples"
FIRST = EXAMPLES / "ffn_1d_weight_stationary.layout"
SECOND = EXAMPLES / "ffn_2d_weight_stationary.layout"
CUBE = ["--mesh", "x=4,y=4,z=4"]


@pytest.fixture
def differing(capsys: pytest.CaptureFixture[str]) -> Any:
    def run(first: Path, second: Path, *options: str) -> dict[str, Any]:
        assert main(["diff", str(first), str(second), "--json", *options]) == 0
        document = json.loads(capsys.readouterr().out)
        assert isinstance(document, dict)
        return document

    return run


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert main(["diff", *arguments]) == 0
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]


def test_statements_that_do_the_same_stand_together(capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys, str(FIRST), str(SECOND), *CUBE)
    assert lines[0] == "A ffn_1d_weight_stationary 64 chips (tpu-v4-flat), mesh x=4 y=4 z=4"
    at = lines.index("A x1 : BLE = all-gather(xyz) x 18.6 MB 68.8 µs")
    assert lines[at + 1] == "B x1 : BLE_x = all-gather(yz) x 4.42 MB 16.4 µs"
    at = lines.index("B h1 : BLF_yzx = reduce-scatter(x) h 3.54 MB 13.1 µs")
    assert lines[at + 1 : at + 3] == ["A g : BLF_xyz = gelu(h)", "B g : BLF_yzx = gelu(h1)"]


def test_what_both_have_stands_once(capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys, str(SECOND), str(SECOND), *CUBE)
    assert lines.count("x1 : BLE_x = all-gather(yz) x 4.42 MB 16.4 µs") == 1
    assert not any(line.startswith(("A x1", "B x1")) for line in lines)
    assert "elements 7,962,624 7,962,624 1" in lines


def test_totals_are_those_of_compile(differing: Any, compiled: Any) -> None:
    found = differing(FIRST, SECOND, *CUBE)
    for side, path in (("a", FIRST), ("b", SECOND)):
        phase = compiled(path, *CUBE)["phases"]["main"]
        totals = found[side]["totals"]
        assert totals["elements"] == phase["communication"]["elements"]
        assert totals["seconds"] == phase["seconds"]
        assert totals["memory_bytes"] == phase["memory"]["bytes"]
        mine = [s[side] for s in found["statements"] if s[side]]
        assert sum(s["elements"] for s in mine) == totals["elements"]


def test_every_statement_stands_once_and_in_order(differing: Any) -> None:
    found = differing(FIRST, SECOND, *CUBE)
    names = [s["b"]["statement"].split()[0] for s in found["statements"] if s["b"]]
    assert names == ["x1", "h", "h1", "g", "g1", "p", "y"]
    alone = [s["b"]["statement"].split()[0] for s in found["statements"] if not s["a"]]
    assert alone == ["h1", "g1"]


def test_each_on_its_own_best_mesh(differing: Any, compiled: Any) -> None:
    gathered = EXAMPLES / "ffn_x_weight_gathered.layout"
    found = differing(SECOND, gathered, "--chips", "256")
    meshes = [compiled(path, "--chips", "256")["mesh"] for path in (SECOND, gathered)]
    assert [found["a"]["mesh"], found["b"]["mesh"]] == meshes
    assert meshes[0] != meshes[1]


def test_repetitions_are_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "loop.layout"
    path.write_text(
        "dims B=8 E=8\nmesh x=2\n\ninput x : B_xE\n\nrepeat 3 {\n  weight w : E_x\n"
        "  w1 : E    = all-gather(x) w\n  y  : B_xE = x * w1\n  next x = y\n}\noutput x\n"
    )
    lines = said(capsys, str(path), str(path))
    assert "w1 : E = all-gather(x) w (3 times) 24 B 0.09 ns" in lines


def test_a_program_with_holes_is_told_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", str(SECOND), str(EXAMPLES / "ffn.layout"), *CUBE]) == 1
    err = capsys.readouterr().err
    assert "x : BLE? is a hole; diff takes an explicit program" in err
