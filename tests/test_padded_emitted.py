"""Padded dims: what is emitted, no mask more than it takes, and how it is verified."""

from __future__ import annotations

import json
from pathlib import Path

import emitted
import numpy as np
import padded
import pytest
from padded import hold
from texts import read
from verified import faults, verdict

from layoutc.cli import main
from layoutc.codegen.emit import emit
from layoutc.codegen.run import load
from layoutc.codegen.sizes import small

FFN = """
dims   B=4  E=24  F=13 padded 24
mesh   x
dtype  f32
input  x     : BE
weight w_in  : EF_x
weight w_out : F_xE
h : BF_x             = x * w_in
g : BF_x             = gelu(h)
y : BE(partialsum-x) = g * w_out
z : BE               = all-reduce(x) y
output z
"""


@pytest.mark.parametrize(
    ("change", "count"),
    [
        (("", ""), 2),  # both sides of the sum, and nothing before
        (("= gelu(h)", "= exp(h)"), 2),
        (("output z", "output z, g"), 2),  # g is clean when it leaves
        (("output z", "output z, h"), 3),
        (("y : BE(partialsum-x) = g * w_out", "y : B(partialsum-x) = max[F](g)"), 1),
        (("dims   B=4  E=24", "dims   B=3 padded 4  E=24"), 3),
        (("dims   B=4  E=24", "dims   B=4  E=20 padded 24"), 5),
        (("F=13 padded 24", "F=24"), 0),
    ],
    ids=str,
)
def test_nothing_is_masked_without_need(change: tuple[str, str], count: int) -> None:
    text = FFN.replace(*change) if change[0] else FFN
    if "max" in text:
        text = text.replace("partialsum", "partialmax").replace("z : BE ", "z : B ")
    program = read(text, "ffn")
    source = emit(program, {"x": 4})
    assert source.partition("def ffn(")[2].count("masked(") == count
    assert source.partition("def reference(")[2].count("masked(") == 0
    assert ("USEFUL" in source) == (count > 0)
    hold(program, {"x": 4})


def test_zeros_that_stay_zeros_are_not_masked_again() -> None:
    text = FFN.replace("y : BE(", "s : B(partialsum-x) = sum[F](g)\nu = s\nk = neg(g)\ny : BE(")
    source = emit(read(text.replace("= g *", "= k *"), "ffn"), {"x": 4})
    assert source.count("= masked(") == 2


def test_the_table_and_the_inputs() -> None:
    module, _ = emitted.module_of(read(FFN), {"x": 4})
    assert module.USEFUL == {"F": (13, 24)}
    assert module.DIMS["F"] == 24
    assert module.SMALL["F"] == 8
    x, w_in, w_out = map(np.asarray, module.make_inputs(module.make_mesh()))
    assert w_in.shape == (24, 24)
    assert w_in[:, :13].all()
    assert not w_in[:, 13:].any()
    assert w_out[:13].all()
    assert not w_out[13:].any()
    assert x.all()
    assert module.main([]) == 0
    assert module.main(["--set", "F=16"]) == 0


def test_phases(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "heads.layout"
    phases = "phase prefill : L=8\nphase decode : B=32  L=1  weight=8\n"
    path.write_text(padded.HEADS.replace("dtype  f32\n", f"dtype  f32\n{phases}"))
    assert main(["compile", str(path), "--chips", "8", "-o", "-"]) == 0
    module = load(capsys.readouterr().out, "phases")
    assert module.USEFUL == {"H": (28, 32)}
    assert module.main([]) == 0
    assert main(["verify", str(path), "--chips", "8"]) == 0


def test_padding_shows_at_small_sizes() -> None:
    program = read(FFN.replace("13 padded 24", "120 padded 128"))
    (sizes,) = small([program], {"x": 4})
    assert sizes["F"] == 16
    program = read(FFN.replace("13 padded 24", "12 padded 24"))
    assert small([program], {"x": 4})[0]["F"] == 8


def test_all_is_used_of_a_dim_that_is_padded_to_its_own_size() -> None:
    text = padded.HEADS.replace("?", "").replace("!", "")
    mesh = {"x": 1, "y": 1, "z": 1}
    source = emit(read(text.replace("=28", "=32")), mesh)
    assert source == emit(read(text.replace("28 padded ", "")), mesh)
    assert "USEFUL" not in source


# Held against XLA.


def test_heads_that_chips_do_not_divide(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "heads.layout"
    path.write_text(
        padded.HEADS.replace("B=16  L=2  E=32", "B=64  L=8  E=512").replace("D=4", "D=64")
    )
    assert main(["verify", str(path), "--chips", "8", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["equal"]
    assert found["differences"] == []


def test_masked_weights_are_counted_in_memory() -> None:
    text = FFN.replace("B=4  E=24  F=13 padded 24", "B=64  E=2000 padded 2048  F=3900 padded 4096")
    found = verdict(read(text, "ffn"), {"x": 4})
    assert found.agrees
    assert 0.75 < found.memory.peak / found.memory.predicted_peak < 1.25


@pytest.mark.parametrize("line", ["g = masked(g, 1, ", "w_out = masked(w_out, 0, "])
def test_a_mask_that_is_missing_is_found(line: str) -> None:
    program = read(FFN, "ffn")
    source = emit(program, {"x": 4})
    (whole,) = [one for one in source.splitlines() if one.strip().startswith(line)]
    assert faults(program, {"x": 4}, source) == []
    (said, *_) = faults(program, {"x": 4}, source.replace(whole + "\n", ""))
    assert "error nan" in said
