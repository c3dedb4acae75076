"""`calibrate`: a small real run, stopped and taken up again, and timings of one's own."""

import json
import os
import subprocess
import sys
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from timings import Known, timings

from layoutc import checking
from layoutc.cli import main
from layoutc.codegen.compiled.build import build
from layoutc.codegen.measure.bench import built
from layoutc.codegen.measure.checking import Checked, Held
from layoutc.codegen.measure.groups import grid
from layoutc.codegen.measure.points import Point
from layoutc.solver.hardware.catalogue import load_machine
from layoutc.solver.hardware.samples import MOVES, MoveTimed, Samples, Seen, group, head, line
from layoutc.solver.hardware.samples_reading import read_samples

SCRIPT = """
import contextlib, io, json, sys
from layoutc.cli import main
from layoutc.codegen.measure import bench, checking, points

points.STEP, points.COMPUTED = 1024, ("bf16",)
bench.LONGEST = 1e9
points.MULTIPLIED[True], points.READ[True] = (64, 256), (256, 1024)
timed, calls = bench.Bench.time, []

def time(self, point):
    calls.append(point.kind)
    if len(calls) == stop:
        raise KeyboardInterrupt
    return timed(self, point)

bench.Bench.time = time
output = sys.argv[1]
samples = output.replace(".toml", ".csv")

def run(*more):
    calls.clear()
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(["calibrate", "-o", output, "--samples", "2", "--most", "1MiB", *more])
    return [status, len(calls), out.getvalue(), err.getvalue()]

stop = 10
found = {"stopped": run()}
with open(samples, "a") as file:
    file.write("all-gather,4,f3")
stop = 0
found["resumed"] = run("--json")
found["again"] = run()
text = open(samples).read()
with open(samples, "w") as file:
    file.write(text.replace("# device: ", "# device: another "))
found["other"] = run()

from layoutc.checking import check, document, report
from layoutc.solver.hardware.catalogue import load_machine
checking.SIZES[True] = (2**12, 2**16)
held = check(load_machine(output))
found["check"] = [report(held), document(held)]
json.dump(found, sys.stdout)
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What each run said, by its name; the folder that they wrote to."""
    folder = tmp_path_factory.mktemp("calibrate")
    environment = {k: v for k, v in os.environ.items() if k != "XLA_FLAGS"}
    simulated = {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "4"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder / "four.toml")],
        env=environment | simulated,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found | {"folder": folder}


def test_what_was_timed_is_kept_when_somebody_stops_it(run: dict[str, Any]) -> None:
    status, calls, out, err = run["stopped"]
    assert (status, calls, out) == (130, 10, "")
    assert "stopped: 9 of 34 points are kept" in err


def test_a_run_goes_on_where_it_was_and_writes_a_machine(run: dict[str, Any]) -> None:
    """The line that was cut off is timed again."""
    status, calls, out, err = run["resumed"]
    assert (status, calls, err) == (0, 25, "")
    found = json.loads(out)
    assert found["not_timed"] == []
    machine = load_machine(str(run["folder"] / "four.toml"))
    assert machine.name == "four"
    (tier,) = machine.tiers
    assert (tier.name, tier.topology, tier.shapes.most) == ("shared memory", "switch", 4)
    assert machine.memory_bandwidth > 1e6
    sources = {figure.source for figure in machine.figures if figure.name != "memory_bytes"}
    assert len(sources) == 1
    assert next(iter(sources)).startswith("measured with layoutc calibrate on 4 × cpu of ")
    assert {sample["kind"] for sample in found["samples"]} == {*MOVES, "matmul", "memory"}


def test_nothing_is_timed_twice(run: dict[str, Any]) -> None:
    status, calls, out, _ = run["again"]
    assert (status, calls) == (0, 0)
    assert "34 samples\n" in out
    assert out.endswith("four.toml\n")
    text = (run["folder"] / "four.csv").read_text()
    assert isinstance(read_samples(text), Samples)
    assert len(text.splitlines()) == 7 + 1 + 34


def test_timings_of_another_machine_are_not_added_to(run: dict[str, Any]) -> None:
    status, calls, _, err = run["other"]
    assert (status, calls) == (2, 0)
    assert "holds timings of another machine: device another cpu" in err


def test_a_file_is_held_against_the_devices(run: dict[str, Any]) -> None:
    said, found = run["check"]
    kinds = [check["kind"] for check in found["checks"]]
    assert kinds == [*["all-gather"] * 2, *["all-reduce"] * 2, *["all-to-all"] * 2,
                     "matmul", "memory"]  # fmt: skip
    for check in found["checks"]:
        assert check["ratio"] == pytest.approx(
            check["measured_seconds"] / check["predicted_seconds"]
        )
    assert found["verdict"] in said
    assert found["not_timed"] == []


# What is timed.


@pytest.mark.parametrize("kind", MOVES)
@pytest.mark.parametrize("spelled", ["4", "2@4"])
def test_a_timed_program_is_so_many_moves_of_that_size_among_those_chips(
    kind: MoveTimed, spelled: str
) -> None:
    """As XLA has it: nothing is joined, left out or added."""
    import jax
    from jax.sharding import Mesh

    where = group(spelled)
    assert where
    run = where[0][0]
    at = grid(where, [Seen("shared memory", "switch", (8,))])
    extent, received = 4096, dict.fromkeys(MOVES, Fraction(4096 * (run.size - 1), run.size))
    mesh = Mesh(np.array(jax.devices()[:8]).reshape(at.shape), at.names)
    function, arrays = built(Point(kind, where, "f32", extent), at, mesh, 3)
    found = build(function, arrays).collectives
    assert [one.kind for one in found] == [kind] * 3
    received |= {"all-reduce": 2 * received["all-reduce"], "permute": Fraction(extent)}
    assert {one.elements for one in found} == {received[kind]}
    groups = {chips for one in found for chips in one.groups}
    apart = {abs(a - b) for chips in groups for a, b in pairwise(chips) if a != b}
    assert apart
    assert all(distance % run.stride == 0 for distance in apart)
    assert max(apart) <= (run.size - 1) * run.stride


# Without devices.


def test_timings_of_ones_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = [Known(Seen("NVLink", "switch", (8,)), 4e11, 2e-6, 9e-6)]
    samples, wrong = timings(known, ["8", "4", "2"], noise=0.03, wrong=1)
    path, output = tmp_path / "own.csv", tmp_path / "mine.toml"
    path.write_text(head(samples.setting) + "".join(map(line, samples.samples)))
    assert main(["calibrate", "-o", str(output), "--from", str(path)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    (kind, *_), *_ = wrong
    assert f"outlier  {kind} of " in out
    assert "left out of the fit" in out
    machine = load_machine(str(output))
    assert machine.tiers[0].bandwidth == pytest.approx(4e11, rel=0.05)


def test_wrong_timings_are_a_wrong_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, output = tmp_path / "own.csv", tmp_path / "mine.toml"
    path.write_text(
        "# memory_bytes: 8\nkind,group,dtype,work,seconds\nmatmul,,bf16,1,0\nx,,f32,1,1\n"
    )
    assert main(["calibrate", "-o", str(output), "--from", str(path)]) == 1
    err = capsys.readouterr().err
    assert f"{path}:3:16: error: seconds is '0', not a positive number" in err
    assert f"{path}:4:1: error: there is no kind 'x'" in err
    assert err.endswith("2 errors\n")
    assert main(["calibrate", "-o", str(output), "--from", str(path), "--json"]) == 1
    assert len(json.loads(capsys.readouterr().out)["errors"]) == 2
    assert not output.exists()


@pytest.mark.parametrize(
    "arguments",
    [["-o", "m.csv"], ["-o", "m.toml", "--most", "1"], ["-o", "m.toml", "--samples", "0"], []],
)
def test_a_wrong_call(arguments: list[str]) -> None:
    try:
        status = main(["calibrate", *arguments])
    except SystemExit as ended:
        status = int(str(ended.code))
    assert status == 2


@pytest.mark.parametrize(
    ("ratios", "said"),
    [
        ((1.0, 1.2, 0.8), "the file holds here: at most 1.2 times"),
        ((1.0, 0.25, 1.1), "the file is off by up to 4.0 times, memory of 4.19 MB in f32"),
    ],
)
def test_the_verdict(ratios: tuple[float, ...], said: str) -> None:
    point = Point("memory", (), "f32", 1024)
    machine, setting = load_machine("tpu-v4"), timings([], [])[0].setting
    held = tuple(Held(point, 1e-3, 1e-3 * ratio) for ratio in ratios)
    assert checking.verdict(Checked(machine, setting, held, ())).startswith(said)
