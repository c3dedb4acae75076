"""Beside XLA's automatic partitioner layoutc never moves more, and the README's table says so."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import layoutc
from layoutc.cli import main

ROOT = Path(__file__).parent.parent
BENCHMARK = ROOT / "benchmarks" / "partitioner.py"
PAPERS = ("1d_weight", "2d_weight", "x_weight", "xy_weight", "xyz_weight")


@pytest.fixture(scope="module")
def measured() -> dict[str, Any]:
    """The benchmark's document, without times. A process of its own: it reads its command line."""
    command = [sys.executable, str(BENCHMARK), "--json", "--pairs", "0"]
    environment = os.environ | {"JAX_PLATFORMS": "cpu"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert isinstance(document, dict)
    return document


def test_what_is_compiled_is_what_was_predicted(measured: dict[str, Any]) -> None:
    for case in measured["cases"]:
        assert case["elements"]["layoutc"] == case["elements"]["predicted"], case


def test_layoutc_never_moves_more(measured: dict[str, Any]) -> None:
    """Not even than if every all-reduce and slice of the partitioner were a reduce-scatter."""
    for case in measured["cases"]:
        elements = case["elements"]
        assert elements["layoutc"] <= elements["joined"] <= elements["partitioner"], case


def test_the_feedforward_layer_on_64_chips(measured: dict[str, Any]) -> None:
    """The partitioner gathers x, reduces h over x and y over yz, both to the end, and slices y."""
    first = measured["cases"][0]
    assert (first["name"], first["mesh"]) == ("ffn", {"x": 4, "y": 4, "z": 4})
    x, h = 512 * 18_432 // 4 * 15 // 16, 512 * 73_728 // 16 * 3 // 4
    assert first["elements"]["layoutc"] == 2 * x + 2 * h == 7_962_624
    assert first["elements"]["joined"] == x + 2 * h + x
    assert first["elements"]["partitioner"] == x + 2 * h + 2 * x
    assert first["elements"]["partitioner"] >= 1.2 * first["elements"]["layoutc"]


def test_every_phase_of_every_example_is_there(measured: dict[str, Any]) -> None:
    found = {case["name"].replace(", ", " ") for case in measured["cases"]}
    for path in (ROOT / "examples").glob("*.layout"):
        phases = re.findall(r"^phase (\w+)", path.read_text(), re.MULTILINE)
        wanted = {f"{path.stem} {phase}" for phase in phases} or {path.stem}
        assert wanted <= found, path


def test_the_papers_parallel_layer(measured: dict[str, Any]) -> None:
    """Both branches' partial sums are added before they are reduced, so that x is gathered once and
    scattered once, as without attention; the queries go to the batch's chips and back."""
    x, h = 64 * 256 * 15 // 16, 64 * 256 * 3 // 4
    queries = 64 * 4 * 16 * 3 // 4 + 16 * 4 * 16 * 15 // 16
    keys = 64 * 3 // 4 + 16 * 15 // 16  # a sixteenth of Q on each chip; values are as many
    (case,) = (c for c in measured["cases"] if c["name"] == "multiquery")
    assert case["elements"]["layoutc"] == 2 * (x + h + queries + keys) == 63_486
    assert case["elements"]["partitioner"] >= 4 * case["elements"]["layoutc"]


def test_the_papers_layouts_stand_where_they_are_the_best(measured: dict[str, Any]) -> None:
    """On its mesh, with every layout open, none moves less."""
    cases = [c for c in measured["cases"] if c["name"].removeprefix("ffn_").startswith(PAPERS)]
    assert {c["name"].removeprefix("ffn_").rpartition("_")[0] for c in cases} == set(PAPERS)
    for case in cases:
        best = layoutc.compile(
            ROOT / "examples" / "ffn.layout",
            mesh=case["mesh"],
            minimize="communication",
            **case["sizes"],
        )
        assert best.costs.elements == case["elements"]["predicted"], case


def test_programs_are_right_and_in_the_canonical_spelling() -> None:
    programs = sorted(map(str, (ROOT / "benchmarks" / "programs").glob("*.layout")))
    assert programs
    assert main(["check", *programs]) == 0
    assert main(["fmt", "--check", *programs]) == 0


def test_the_readme_shows_what_is_measured(measured: dict[str, Any]) -> None:
    """If this fails and the new counts are right: python benchmarks/partitioner.py --readme

    What the partitioner does may change with JAX, so that its columns are held only to the version
    that the table names; times are those of one run, and held to nothing.
    """
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    marked = re.search(r"<!-- partitioner: begin -->(.*)<!-- partitioner: end -->", text, re.DOTALL)
    assert marked
    version = re.search(r"JAX ([\w.]+),", marked[1])
    assert version
    lines = [line for line in marked[1].splitlines() if line.startswith("| ")][2:]
    assert len(lines) == len(measured["cases"])
    for line, case in zip(lines, measured["cases"], strict=True):
        name, mesh, _, layout, ours, theirs, ratio, joined, _ = line.strip("| ").split(" | ")
        elements = case["elements"]
        assert (name, layout, ours) == (case["name"], case["layout"], f"{elements['layoutc']:,}")
        assert mesh == "×".join(map(str, case["mesh"].values()))
        if version[1] == measured["jax"]:
            assert theirs == f"{elements['partitioner']:,}"
            assert ratio == f"{elements['partitioner'] / elements['layoutc']:.2f}"
            assert joined == f"{elements['joined'] / elements['layoutc']:.2f}"
