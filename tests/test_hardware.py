"""What `hardware` says: the catalogue, one machine, and a machine's file that is wrong."""

import json
import re
from pathlib import Path

import pytest

from layoutc import hardware, table
from layoutc.cli import main
from layoutc.solver.hardware.catalogue import catalogue, load_machine
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.hardware.reading import read_machine

HEAD = """\
name = "mine"
peak_flops = { bf16 = 200e12, source = "sheet 1" }
memory_bytes = { value = 16e9, unit = "bytes: of HBM", source = "sheet 2" }
memory_bandwidth = { value = 1e12, source = "sheet 3" }
"""
TORUS = (
    HEAD
    + """\
title = "My chips"
matmul_efficiency = { value = 0.5, source = "measured", fitted = "on 9 points: median error 4 %" }
price = { value = 1.2, source = "list" }
[[network]]
name = "links"
topology = "torus"
axes = 2
bandwidth = { value = 50e9, unit = "bytes/s, one link", source = "sheet 4" }
hop = { value = 1e-6, source = "sheet 5" }
start = { value = 3e-6, source = "sheet 6" }
wraparound = { multiple = 16, source = "sheet 7" }
[network.shapes]
listed = ["1x1", "2x2"]
multiple = 4
chips = 256
longest = "16x16"
source = "sheet 8"
"""
)
NODES = (
    HEAD
    + """\
[[network]]
name = "node"
topology = "switch"
bandwidth = { value = 400e9, source = "sheet 4" }
shapes = { chips = 72, source = "sheet 5" }
[[network]]
name = "fabric"
topology = "switch"
bandwidth = { value = 50e9, source = "sheet 6" }
"""
)


def machine(text: str) -> Machine:
    found = read_machine(text)
    assert isinstance(found, Machine), found
    return found


def chapter(text: str, name: str) -> list[str]:
    """The lines under a head, spaces made one."""
    body = text.split(f"\n{name}\n\n")[1]
    lines = re.split(r"\n\n(?=\S)", body)[0].splitlines()
    return [" ".join(line.split()) for line in lines if line]


def test_the_catalogue_has_a_line_for_each_machine() -> None:
    head, *lines = hardware.listed([machine(TORUS), machine(NODES), load_machine()]).splitlines()
    assert head.split() == [
        "name",
        "bf16",
        "memory",
        "read",
        "at",
        "network",
        "chips",
        "a",
        "chip-hour",
    ]
    torus, nodes, flat = (re.split(r"  +", line.strip()) for line in lines)
    # Half of 200 TFLOP/s is reached.
    assert torus == [
        "mine", "100 TFLOP/s", "16 GB", "1 TB/s", "torus of 2 axes, 50 GB/s a link each way",
        "up to 256", "$1.20", "My chips",
    ]  # fmt: skip
    assert nodes[4:] == ["node 400 GB/s in 72, fabric 50 GB/s", "any number"]
    assert flat[4:6] == ["270 GB/s, whichever axes take part", "any number"]


def test_figures_have_units_sources_and_fits() -> None:
    text = hardware.report(machine(TORUS))
    assert text.startswith("mine: My chips\n\na chip\n\n")
    assert chapter(text, "a chip") == [
        "bf16 matmuls 200 TFLOP/s sheet 1",
        "memory 16 GB: of HBM sheet 2",
        "memory bandwidth 1 TB/s sheet 3",
        "matmul efficiency 0.5 of the peak measured",
        "fitted on 9 points: median error 4 %",
        "price $1.20 a chip-hour list",
    ]
    assert chapter(text, "links, between chips") == [
        "topology torus of 2 axes",
        "wraparound an axis is a ring where its size is a multiple of 16",
        "(sheet 7)",
        "mesh axes each takes whole axes",
        "shapes 1x1, 2x2, and any shape whose sizes are multiples of 4, up to 256 chips, within "
        "16x16",
        "(sheet 8)",
        "bandwidth 50 GB/s, one link sheet 4",
        "hop 1 µs a hop sheet 5",
        "start 3 µs a collective sheet 6",
    ]


def test_slices_and_which_of_their_axes_are_rings() -> None:
    assert chapter(hardware.report(machine(TORUS)), "slices") == [
        "chips slice rings also",
        "1 1x1",
        "4 2x2 none",
        "16 4x4 none",
        "32 4x8 none",
        "64 8x8 none 4x16",
        "128 8x16 axis 1",
        "256 16x16 all axes",
    ]


def test_slices_of_nodes() -> None:
    """Every number within a node, of which powers of two are shown, and nodes that are full."""
    lines = chapter(hardware.report(machine(NODES)), "slices")
    assert lines[:2] == ["chips node·fabric", "1 1"]
    assert "64 64" in lines
    assert "72 72" in lines
    assert "144 72·2" in lines
    assert not [line for line in lines if line.startswith("128 ")]


def test_what_a_machine_comes_to() -> None:
    """16 GB at 1 TB/s; half of 200 TFLOP/s over 1 TB/s, and over 2 axes · 2 ways · 50 GB/s; and
    (3 + 1) µs of that."""
    assert chapter(hardware.report(machine(TORUS)), "what it comes to") == [
        "reached 100 TFLOP/s in bf16 and 1 TB/s of memory",
        "memory 16 ms to read all of it once",
        "100 bf16 FLOPs for each byte read: fewer tokens than that wait for bf16 weights",
        "links 200 GB/s received by a chip over all its links",
        "500 bf16 FLOPs for each byte received",
        "a collective that brings less than 800 kB is mostly start-up",
    ]


def test_reports_are_not_wide() -> None:
    for name in catalogue():
        assert max(map(len, hardware.report(load_machine(name)).splitlines())) <= table.WIDTH


def test_a_machine_as_a_document() -> None:
    found = hardware.document(machine(TORUS))
    assert found["peak_flops"] == {"bf16": 100e12}
    assert (found["matmul_efficiency"], found["memory_efficiency"]) == (0.5, 1.0)
    assert found["figures"][3] == {
        "name": "matmul_efficiency",
        "value": 0.5,
        "unit": "of the peak",
        "source": "measured",
        "fitted": "on 9 points: median error 4 %",
    }
    (tier,) = found["network"]
    assert (tier["topology"], tier["received"], tier["hop"]) == ("torus", 200e9, 1e-6)
    assert tier["wraparound"] == {"multiple": 16, "together": False, "source": "sheet 7"}
    assert {"chips": 128, "slice": "8x16", "rings": [[False, True]]} in found["slices"]
    assert found["most_chips"] == 256


# The command line.


def test_the_command_lists_shows_and_gives_documents(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(TORUS)
    assert main(["hardware"]) == 0
    listed = capsys.readouterr().out
    assert [line.split()[0] for line in listed.splitlines()[1:]] == list(catalogue())
    assert main(["hardware", str(path)]) == 0
    assert capsys.readouterr().out == hardware.report(machine(TORUS))
    assert main(["hardware", "--json"]) == 0
    names = [one["name"] for one in json.loads(capsys.readouterr().out)["machines"]]
    assert names == list(catalogue())
    assert main(["hardware", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(
        json.dumps(hardware.document(machine(TORUS)))
    )


def test_an_unknown_name_is_the_command_lines_fault(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hardware", "tpu-v4-flt"]) == 2
    assert capsys.readouterr().err == (
        "layoutc: error: there is no machine called tpu-v4-flt; did you mean tpu-v4-flat?\n"
    )
    assert main(["hardware", "no/such.toml"]) == 2
    assert capsys.readouterr().err == (
        "layoutc: error: can't read the machine no/such.toml: no such file or directory\n"
    )


def test_a_file_that_is_wrong_is_shown_as_a_program_would_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(HEAD.replace("200e12", "-1").replace("16e9", '"16 GB"'))
    assert main(["hardware", "mine.toml"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        "mine.toml:1:1: error: a machine has no network\n"
        '  1 | name = "mine"\n'
        "    | ^\n"
        "  begin each tier, the innermost first, with  [[network]]\n"
        "mine.toml:2:23: error: peak_flops.bf16 is -1, not a positive number\n"
        '  2 | peak_flops = { bf16 = -1, source = "sheet 1" }\n'
        "    |                       ^^\n"
        "  bf16 = ...  in FLOP/s\n"
        "mine.toml:3:26: error: memory_bytes is '16 GB', not a positive number\n"
        '  3 | memory_bytes = { value = "16 GB", unit = "bytes: of HBM", source = "sheet 2" }\n'
        "    |                          ^^^^^^^\n"
        "  value = ...  in bytes\n"
        "3 errors\n"
    )
    assert main(["hardware", "mine.toml", "--json"]) == 1
    errors = json.loads(capsys.readouterr().out)["errors"]
    assert errors[1] == {
        "file": "mine.toml",
        "line": 2,
        "column": 23,
        "message": "peak_flops.bf16 is -1, not a positive number",
        "hint": "bf16 = ...  in FLOP/s",
    }


def test_so_is_one_that_a_program_is_compiled_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program, path = tmp_path / "right.layout", tmp_path / "mine.toml"
    program.write_text("dims B=8\nmesh x\ninput x : B_x\noutput x\n")
    path.write_text("name = 1\n")
    assert main(["compile", str(program), "--chips", "4", "--hardware", str(path)]) == 1
    assert capsys.readouterr().err.startswith(f"{path}:1:1: error: peak_flops is missing\n")
