"""The command `plan`: what its document says, and what it says of what can't be had."""

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from layoutc.cli import main

MODEL = "gpt2"
ASKED = ["--hardware", "h100", "--chips", "1,2", "--batch", "2..8", "--prompt", "96",
         "--generate", "32"]  # fmt: skip


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["plan", *words]) == 0
    return capsys.readouterr().out


def found(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(said(capsys, *words, "--json"))
    return made


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    """One study for many questions."""
    from contextlib import redirect_stdout

    out = io.StringIO()
    with redirect_stdout(out):
        assert main(["plan", MODEL, *ASKED, "--json"]) == 0
    made: dict[str, Any] = json.loads(out.getvalue())
    return made


def test_the_document_has_what_it_should(document: dict[str, Any]) -> None:
    assert document["model"] == MODEL
    assert document["hardware"] == "h100"
    assert document["parameters"] == 124_439_808
    assert [(p["chips"], p["batch"]) for p in document["points"]] == [
        (chips, batch) for chips in (1, 2) for batch in (2, 4, 8)
    ]
    for point in document["points"]:
        assert point["weights"] == "bf16"
        assert point["fits"]
        assert point["context"] == 96
        assert point["prefill"]["tokens"] == 96
        assert point["decode"]["tokens"] == 32
        assert point["max_context"] > 96


def test_seconds_are_the_sum_of_their_parts(document: dict[str, Any]) -> None:
    for point in document["points"]:
        for run, key in ((point["prefill"], "seconds"), (point["decode"], "step_seconds")):
            parts = run["parts"]
            busy = max(parts["compute"], parts["memory"], parts["gathered"])
            own = sum(parts[n] for n in ("attention", "communication", "latency", "waiting"))
            assert run[key] == pytest.approx(busy + own)
            assert run["attention_share"] == pytest.approx(
                parts["attention"] / (run[key] - parts["waiting"])
            )
        whole = point["prefill"]["seconds"] + 32 * point["decode"]["step_seconds"]
        assert point["request_seconds"] == pytest.approx(whole)
        assert point["decode"]["seconds"] == pytest.approx(32 * point["decode"]["step_seconds"])


def test_mfu_and_cost_are_by_their_formulas(document: dict[str, Any]) -> None:
    parameters, peak = document["parameters"], 989e12
    assert document["peak_flops"] == pytest.approx(peak, rel=0.01)
    for point in document["points"]:
        chips, batch = point["chips"], point["batch"]
        prefill, decode = point["prefill"], point["decode"]
        work = 2 * parameters * batch
        assert prefill["mfu"] == pytest.approx(
            work * 96 / (chips * document["peak_flops"] * prefill["seconds"])
        )
        assert decode["mfu"] == pytest.approx(
            work / (chips * document["peak_flops"] * decode["step_seconds"])
        )
        spent = chips * point["request_seconds"] / (batch * 32)
        assert point["chip_seconds_per_token"] == pytest.approx(spent)
        hourly = document["dollars_per_chip_hour"]
        assert point["dollars_per_million_tokens"] == pytest.approx(spent * hourly / 3600 * 1e6)
        memory = point["memory"]
        held = sum(memory[n] for n in ("weights", "caches", "activations"))
        assert held == pytest.approx(point["memory_bytes"])


def test_the_front_has_what_nothing_beats(document: dict[str, Any]) -> None:
    points = document["points"]
    for one in points:
        mine = one["request_seconds"], one["chip_seconds_per_token"]
        others = [(o["request_seconds"], o["chip_seconds_per_token"]) for o in points]
        beaten = any(a <= mine[0] and b <= mine[1] and (a, b) != mine for a, b in others)
        assert one["on_front"] != beaten


def test_ranges_hold_the_prediction(document: dict[str, Any]) -> None:
    reached = document["reached"]
    assert reached["low"] < 1 < reached["high"]
    for point in document["points"]:
        low, high = point["request_seconds_range"]
        assert low == pytest.approx(reached["low"] * point["request_seconds"])
        assert high == pytest.approx(reached["high"] * point["request_seconds"])


def test_more_sequences_take_longer_and_cost_less(document: dict[str, Any]) -> None:
    for chips in (1, 2):
        own = [p for p in document["points"] if p["chips"] == chips]
        steps = [p["decode"]["step_seconds"] for p in own]
        costs = [p["chip_seconds_per_token"] for p in own]
        assert steps == sorted(steps)
        assert costs == sorted(costs, reverse=True)


def test_csv_is_the_same_in_lines(
    document: dict[str, Any], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    lines = list(csv.DictReader(io.StringIO(said(capsys, MODEL, *ASKED, "--csv", "-"))))
    assert len(lines) == len(document["points"])
    for line, point in zip(lines, document["points"], strict=True):
        assert int(line["batch"]) == point["batch"]
        assert float(line["decode.step_seconds"]) == pytest.approx(point["decode"]["step_seconds"])
        assert line["prefill.layout"] == point["prefill"]["layout"]
        assert float(line["memory.weights"]) == pytest.approx(point["memory"]["weights"])
    out = tmp_path / "points.csv"
    assert f"wrote {out}" in said(capsys, MODEL, *ASKED, "--csv", str(out))
    assert list(csv.DictReader(out.open())) == lines


def test_the_report_marks_the_front_and_says_what_is_best(
    document: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    text = said(capsys, MODEL, *ASKED)
    assert text.startswith("gpt2 on h100: prompt 96 tokens, then 32 made, context 96")
    stars = [line for line in text.splitlines() if line.startswith("  *")]
    assert len(stars) == sum(p["on_front"] for p in document["points"])
    assert "the fastest that fits: " in text
    assert "the cheapest that fits: 1 chip, batch 8" in text
    assert "as fitted on a100-80gb" in text


ONE = [MODEL, "--hardware", "h100", "--chips", "1", "--prompt", "96", "--generate", "32"]


def test_a_latency_chooses_the_cheapest_within_it(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, *ONE, "--batch", "2,8", "--latency", "1s")
    assert "the cheapest with a step of decode within 1s: 1 chip, batch 8" in text


def test_a_latency_that_can_not_be_met_says_the_best_there_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = said(capsys, *ONE, "--batch", "2,8", "--latency", "prefill=1us")
    assert "a prefill within 1us can't be met: the best there is takes" in text
    assert "1 chip, batch 2" in text


def test_a_budget_chooses_the_fastest_within_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert "the fastest within 1000 dollars a million tokens: 1 chip, batch 2" in said(
        capsys, *ONE, "--batch", "2,8", "--budget", "1000/Mtok"
    )
    text = said(capsys, *ONE, "--batch", "2,8", "--budget", "0.000001/Mtok")
    assert "can't be met: the cheapest there is takes" in text


def test_a_budget_wants_a_price(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["plan", MODEL, "--chips", "1", "--budget", "1/Mtok"]
    assert main([*words, "--hardware", "wafer-mesh"]) == 2
    assert "wafer-mesh has no price; give one:  --price 2.5" in capsys.readouterr().err
    assert main([*words, "--hardware", "h100", "--price", "2", "--batch", "4"]) == 0


def test_every_figure_is_traced(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, *ONE, "--batch", "8", "--explain")
    assert "a step of decode, " in text
    assert "statement by statement" in text
    assert "n * wq" in text
    assert "launches in a row" in text
    assert "memory_bandwidth" in text
    assert "NVIDIA H100" in text


def test_what_does_not_fit_says_what_would(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["plan", "gpt2-xl", "--hardware", "h100", "--chips", "1", "--batch", "64"]
    assert main([*words, "--prompt", "16", "--context", "8192", "--generate", "16"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("gpt2-xl:1:1: error: gpt2-xl does not fit on 1 chip of h100: at batch")
    assert "are weights and" in error
    assert "chips would do, or " in error
    assert re.search(r"a context of [1-7],\d{3} would fit", error)


def test_stages_replicas_and_chips_that_only_prefill(capsys: pytest.CaptureFixture[str]) -> None:
    words = [MODEL, "--hardware", "h100", "--batch", "8", "--prompt", "96", "--generate", "32"]
    (piped,) = found(capsys, *words, "--chips", "2", "--pipeline", "2", "--tensor", "1")["points"]
    assert (piped["tensor"], piped["pipeline"], piped["replicas"]) == (1, 2, 1)
    assert piped["memory"]["weights"] < 249e6
    (alone,) = found(capsys, *words, "--chips", "1", "--batch", "4")["points"]
    (copied,) = found(capsys, *words, "--chips", "2", "--replicas", "2")["points"]
    assert copied["decode"]["step_seconds"] == pytest.approx(alone["decode"]["step_seconds"])
    assert copied["tokens_per_second"] == pytest.approx(2 * alone["tokens_per_second"])
    (apart,) = found(capsys, *words, "--chips", "1", "--prefill-chips", "1",
                     "--prefill-batch", "1")["points"]  # fmt: skip
    assert apart["chips"] == 2
    assert apart["prefill"]["chips"] == apart["decode"]["chips"] == 1
    assert apart["prefill"]["batch"] == 1


def test_chips_that_can_not_be_divided_so_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["plan", MODEL, "--hardware", "h100", "--chips", "4", "--batch", "8"]
    assert main([*words, "--tensor", "2", "--pipeline", "3"]) == 2
    said = capsys.readouterr().err
    assert "4 chips can't be divided into --tensor 2 --pipeline 3; there are 12 layers" in said


def test_of_several_numbers_of_chips_those_that_can_be_had_are_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = found(capsys, MODEL, "--hardware", "tpu-v4", "--chips", "1,3", "--batch", "4")
    assert [p["chips"] for p in made["points"]] == [1]
    (refused,) = made["refused"]
    assert refused["chips"] == 3
    assert refused["message"] == "tpu-v4 has no slice of 3 chips"
    assert main(["plan", MODEL, "--hardware", "tpu-v4", "--chips", "3"]) == 1
    assert "tpu-v4 has no slice of 3 chips" in capsys.readouterr().err


def test_layouts_can_be_said(capsys: pytest.CaptureFixture[str]) -> None:
    words = [MODEL, "--hardware", "h100", "--chips", "2", "--batch", "8", "--prompt", "64"]
    (point,) = found(capsys, *words, "--layout", "1d", "--attention", "decode=heads")["points"]
    assert point["decode"]["layout"] == point["prefill"]["layout"] == "1D weight-stationary"
    assert point["decode"]["attention"] == "heads"
    assert main(["plan", *words, "--layout", "2d"]) == 1
    assert "there is no layout that is 2D weight-stationary" in capsys.readouterr().err


LAYER = """
dims   B=4 L=1 M=64 E=64 F=128 H=4 Q=16
mesh   x y
phase prefill : B=2 L=32 M=32
phase decode  : weight=16

input  pos : B int32
input  x   : BLE?
weight wq  : EHQ?
weight wk  : EQ?
weight wo  : HQE?
weight w1  : EF?
weight w2  : FE?
cache  kc  : BMQ?

q  : BLHQ? = x * wq
k  : BLQ?  = x * wk
k1         = write[M](kc, k, pos)
s  : BLHM? = q * k1
s1         = causal[L, M](s, pos)
p          = softmax[M](s1)
o  : BLHQ? = p * k1
a  : BLE?  = o * wo
h  : BLF?  = a * w1
g          = gelu(h)
y  : BLE?  = g * w2
output y -> x
"""


def test_any_program_with_sequences_and_tokens_can_be_served(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "layer.layout"
    file.write_text(LAYER)
    (point,) = found(capsys, str(file), "--hardware", "h100", "--chips", "2")["points"]
    assert point["batch"] == 4
    assert point["prefill"]["tokens"] == 32
    assert point["decode"]["tokens"] == 16
    file.write_text("dims E=8\nmesh x\ninput a : E\nb = gelu(a)\noutput b\n")
    assert main(["plan", str(file), "--chips", "2"]) == 1
    error = capsys.readouterr().err
    assert "layer has no dim B, which counts sequences" in error
    assert "layer has no dim L, which counts tokens of a pass" in error


def test_a_model_can_come_from_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Input:
        buffer = io.BytesIO(LAYER.encode())

    monkeypatch.setattr("sys.stdin", Input)
    assert found(capsys, "-", "--hardware", "h100", "--chips", "1")["model"] == "stdin"


def test_unknown_models_and_files_of_no_known_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "palm-54b", "--chips", "4"]) == 2
    assert "palm-540b" in capsys.readouterr().err
    for option, path, said in (
        ("--plot", "a.pdf", "a figure's name ends in .svg or .png"),
        ("--html", "a.htm", "it ends in .html"),
    ):
        assert main(["plan", MODEL, "--chips", "1", option, path]) == 2
        assert f"{option} {path}: {said}" in capsys.readouterr().err
