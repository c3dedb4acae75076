"""`hardware --fit`: from a file of timings to a machine's file, and what is said of wrong ones."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from timed import HEAD, MODEL, ROWS, measured, program, timings

from layoutc.cli import main
from layoutc.solver.hardware.catalogue import load_machine, reached_of
from layoutc.solver.hardware.reached import Reached
from layoutc.solver.serving.prepared import prepared
from layoutc.solver.serving.runs import on

KNOWN = Reached(0.6, 0.3, 0.7, 0.5, 30e-6, 3e-6)
NOISE = 0.03
CHOSEN = [row for row in ROWS if ",4," in row[:20]]

Said = Callable[..., tuple[int, str, str]]


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    """`hardware` as a function of its arguments: the status, the output, the errors."""

    def run(*arguments: str) -> tuple[int, str, str]:
        status = main(["hardware", *arguments])
        return status, *capsys.readouterr()

    return run


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What one fit says, to a person and in its files: timings of a `.layout` file on a switch."""
    folder = tmp_path_factory.mktemp("fit")
    model, path, output = (folder / name for name in ("small.layout", "own.csv", "mine.toml"))
    model.write_text(MODEL)
    runs = prepared(timings(CHOSEN), program, load_machine("h100"), KNOWN)
    lines = [
        f"{row.replace('small', str(model)).removesuffix(',1')},{one.timing.seconds!r}"
        for row, one in zip(CHOSEN, measured(on(runs, KNOWN), KNOWN, NOISE), strict=True)
    ]
    path.write_text("\n".join([HEAD, *lines]) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        texts: list[str] = []
        patch.setattr("sys.stdout", type("Out", (), {"write": texts.append, "flush": print})())
        arguments = ["hardware", "h100", "--fit", str(path), "-o", str(output)]
        assert main(arguments) == 0
        report, texts = "".join(texts), []
        patch.setattr("sys.stdout", type("Out", (), {"write": texts.append, "flush": print})())
        assert main([*arguments, "--json"]) == 0
    return {
        "folder": folder, "report": report, "document": json.loads("".join(texts)),
        "output": output, "path": path, "model": model,
    }  # fmt: skip


def test_the_document_holds_all_of_it(found: dict[str, Any]) -> None:
    made = found["document"]
    assert (made["hardware"], made["models"]) == ("h100", ["small"])
    assert (made["timings_file"], made["output"]) == (str(found["path"]), str(found["output"]))
    for one in made["constants"]:
        known = KNOWN.constants[one["name"]]
        # On one switch starts, hops and launches come together.
        assert one["told"] or one["name"] in ("latency", "launch")
        if one["told"]:
            assert one["low"] <= one["value"] <= one["high"]
        if one["name"] == "matmul":
            assert one["value"] == pytest.approx(known, rel=0.15)
    assert 0.005 < made["mean_error"] <= made["mean_error_left_out"] < 0.1
    assert made["low"] <= 1 <= made["high"]
    assert [one["at_once"] for one in made["tried"]] == [0]
    rows = made["timings"]
    assert [row["line"] for row in rows] == list(range(2, 2 + len(CHOSEN)))
    for row in rows:
        off = row["predicted_seconds"] / row["measured_seconds"] - 1
        assert row["error"] == pytest.approx(off)
        assert {one["phase"] for one in row["passes"]} == {row["phase"]}
    assert made["worst"] in rows
    assert abs(made["worst"]["error"]) == pytest.approx(max(abs(row["error"]) for row in rows))


def test_the_report_says_the_same(found: dict[str, Any]) -> None:
    report, made = found["report"], found["document"]
    assert report.startswith(f"h100: {len(CHOSEN)} timings of small, {found['path']}\n")
    for one in made["constants"]:
        assert re.search(rf"^ +{one['name']} +\S+", report, re.MULTILINE)
    errors = (made["mean_error"], made["mean_error_left_out"])
    said = "mean error   {:.1f} %; {:.1f} % with each timing left out"
    assert said.format(*(100 * error for error in errors)) in report
    worst = made["worst"]
    assert f"worst        {100 * worst['error']:+.1f} %: line {worst['line']}, " in report
    assert f"measured {made['low']:.3g} to {made['high']:.3g} times" in report
    table = report[report.index("  line  timing") :]
    assert len(re.findall(r"^ +\d+ +\S+, 4 chips, ", table, re.MULTILINE)) == len(CHOSEN)
    assert report.endswith(f"\nwrote {found['output']}; use it: --hardware {found['output']}\n")


def test_the_file_is_a_machine_that_plan_prices_with(
    found: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing but its constants is another than before."""
    machine, before = load_machine(str(found["output"])), load_machine("h100")
    reached, whose = reached_of(machine)
    assert whose == "as fitted on h100"
    made = found["document"]
    for one in made["constants"]:
        assert reached.constants[one["name"]] == pytest.approx(one["value"], rel=1e-3)
    assert (reached.low, reached.high) == pytest.approx((made["low"], made["high"]), rel=1e-3)
    assert (machine.tiers, machine.peaks, machine.price) == (
        before.tiers, before.peaks, before.price,
    )  # fmt: skip
    own = [figure for figure in machine.figures if figure.name.startswith("reached.")]
    assert {f.source for f in own} == {f"fitted: layoutc hardware h100 --fit {found['path']}"}
    errors = [100 * made[name] for name in ("mean_error", "mean_error_left_out")]
    said = f"{len(CHOSEN)} timings of small, mean error {{:.1f}} %, {{:.1f}} % with each left out"
    assert all(figure.fitted.startswith(said.format(*errors)) for figure in own)
    asked = ["--hardware", str(found["output"]), "--chips", "4", "--batch", "32", "--context"]
    asked += ["1024", "--prompt", "1", "--generate", "8"]
    asked += ["--layout", "decode=1d", "--attention", "decode=batch"]
    assert main(["plan", str(found["model"]), *asked, "--json"]) == 0
    planned = json.loads(capsys.readouterr().out)
    assert planned["reached"]["launch"] == reached.launch
    step = planned["points"][0]["decode"]["step_seconds"]
    (row,) = (r for r in made["timings"] if (r["batch"], r["context"]) == (32, 1024))
    # For another range of batches another layout may be found that is as good within 5 %.
    assert 8 * step == pytest.approx(row["predicted_seconds"], rel=0.05)


# What is wrong.


def test_all_errors_of_a_file_are_shown(said: Said, tmp_path: Path) -> None:
    path, output = tmp_path / "own.csv", tmp_path / "mine.toml"
    path.write_text(
        "model,phase,chips,batch,prompt,seconds\ngpt2,prefil,1,1,8,1\ngpt2,prefill,1,1,8,x\n"
    )
    status, out, err = said("h100", "--fit", str(path), "-o", str(output))
    assert (status, out) == (1, "")
    assert f"{path}:2:6: error: there is no phase 'prefil'" in err
    assert f"{path}:3:20: error: seconds is 'x', not a positive number" in err
    assert err.endswith("2 errors\n")
    status, out, _ = said("h100", "--fit", str(path), "--json")
    assert status == 1
    assert [(e["line"], e["column"]) for e in json.loads(out)["errors"]] == [(2, 6), (3, 20)]
    assert not output.exists()


def test_models_that_can_t_be_had(said: Said, tmp_path: Path) -> None:
    """Each at its cell: an unknown name, a file that isn't there, one that is wrong."""
    broken, alone = tmp_path / "broken.layout", tmp_path / "alone.layout"
    broken.write_text("dims B=1\nx : B? = y\n")
    alone.write_text("dims E=4\nmesh x\ninput x : E?\ny : E? = gelu(x)\noutput y\n")
    path = tmp_path / "own.csv"
    names = ["gpt3", "none.layout", str(broken), str(alone), "-", "gpt2"]
    rows = [f"prefill,{name},1,1,8,1" for name in names]
    path.write_text("\n".join(["phase,model,chips,batch,prompt,seconds", *rows]) + "\n")
    status, _, err = said("h100", "--fit", str(path))
    assert status == 1
    heads = re.findall(rf"^{re.escape(str(path))}:(\d):9: error: (.*)$", err, re.MULTILINE)
    assert [line for line, _ in heads] == ["2", "3", "4", "5", "6"]
    messages = [message for _, message in heads]
    assert messages[0].startswith("there is no model called gpt3")
    assert messages[1] == "none.layout:1: can't be read: no such file or directory"
    assert messages[2].startswith(f"{broken}:2: ")
    assert messages[3].startswith(f"{alone}:1: alone has no dim B, which counts sequences, and 1")
    assert messages[4] == "- is no model here"


def test_layouts_that_can_t_be_had(said: Said, tmp_path: Path) -> None:
    """At their rows, all of them."""
    model, path = tmp_path / "small.layout", tmp_path / "own.csv"
    model.write_text(MODEL)
    rows = [f"{model},prefill,{chips},1,8,{name},1" for chips, name in ((4, "5D"), (3, ""))]
    path.write_text("\n".join(["model,phase,chips,batch,prompt,layout,seconds", *rows]) + "\n")
    status, _, err = said("tpu-v4", "--fit", str(path), "--at-once", "1")
    assert status == 1
    assert f"{path}:2:1: error: on 4 chips there is no layout that is 5D\n" in err
    assert "  leave the layout away: the planner finds one\n" in err
    assert f"{path}:3:1: error: tpu-v4 has no slice of 3 chips\n" in err


def test_one_timing_is_not_enough(said: Said, tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("model,phase,chips,batch,prompt,seconds\ngpt2,prefill,1,1,8,1\n")
    status, _, err = said("h100", "--fit", str(path))
    assert status == 1
    assert f"{path}:2:1: error: there is one timing only\n" in err


def test_a_file_that_isn_t_there(said: Said, tmp_path: Path) -> None:
    status, _, err = said("h100", "--fit", str(tmp_path / "own.csv"))
    assert status == 1
    assert "own.csv:1:1: error: can't be read: no such file or directory" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--fit", "own.csv"], "--fit: of which machine? layoutc hardware NAME --fit FILE.csv"),
        (["h100", "-o", "mine.toml"], "-o goes with  --fit FILE.csv"),
        (["h100", "--at-once", "0"], "--at-once goes with  --fit FILE.csv"),
        (["h100", "--fit", "own.csv", "--check"], "--check and --fit are two commands: one at a"),
        (["h100", "--fit", "own.csv", "-o", "h.csv"], "-o h.csv: a machine's file ends in .toml"),
        (["h900", "--fit", "own.csv"], "there is no machine called h900"),
        (["h100", "--fit", "own.csv", "--at-once", "1"],
         "--at-once 1: the network of h100 is no torus"),
        (["tpu-v4", "--fit", "own.csv", "--at-once", "4"],
         "--at-once 4: the network of tpu-v4 has 3 axes"),
    ],
)  # fmt: skip
def test_a_wrong_call(said: Said, arguments: list[str], message: str) -> None:
    status, out, err = said(*arguments)
    assert (status, out) == (2, "")
    assert f"layoutc: error: {message}" in err
