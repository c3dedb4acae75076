"""What attention is sharded over: told from its two products, chosen, and explained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

import pytest
from checking import wrong
from texts import read

from layoutc.cli import main
from layoutc.dsl.operation import Move
from layoutc.dsl.program import Define, Program
from layoutc.solver.attention import attention
from layoutc.solver.contenders import attention_of, called, contenders
from layoutc.solver.describe import describe
from layoutc.solver.hardware.catalogue import load_machine
from layoutc.solver.holds import contexts
from layoutc.solver.plan import Plan
from layoutc.solver.solve import solve
from layoutc.why import why

ROOT = Path(__file__).parent.parent
MACHINE = load_machine()
Run = Callable[..., dict[str, Any]]

PRODUCTS = """\
dims   B=16 L=4 M=32 K=4 G=2 Q=8
mesh   x y
input  q  : {q}
cache  kc : {cache}
cache  vc : {cache}
s : {s} = q * kc
p = softmax[M](s)
o : {q} = p * vc
output o
"""

MULTIQUERY = """\
dims   B=32 L=1 M=4096 E=256 H=16 Q=64
mesh   x
input  pos : B int32
input  x   : BLE?
weight wq  : EHQ!
weight wk  : EQ?
weight wv  : EQ?
weight wo  : HQE!
cache  kc  : BMQ?
cache  vc  : BMQ?
q : BLHQ? = x * wq
k : BLQ?  = x * wk
v : BLQ?  = x * wv
k1 = write[M](kc, k, pos)
v1 = write[M](vc, v, pos)
s : BLHM? = q * k1
s1 = causal[L, M](s, pos)
p = softmax[M](s1)
o : BLHQ? = p * v1
a : BLE?  = o * wo
output a -> x
"""


def phases(stem: str) -> tuple[Program, ...]:
    """An example's phases, each as a program of its own, over two axes."""
    program = read((ROOT / "examples" / f"{stem}.layout").read_text(), stem)
    return tuple(replace(one, phases=(), axes=one.axes[:2]) for one in program.passes)


def sized(program: Program, **dims: int) -> Program:
    return replace(program, dims={**program.dims, **dims})


def solved(program: Program, chips: int = 8) -> Plan:
    return solve(program, chips, MACHINE)


def over(program: Program, chips: int = 8) -> str:
    return attention_of(solved(program, chips))


# Told from the layouts.


@pytest.mark.parametrize(
    ("q", "cache", "s", "said"),
    [
        ("BLK_xG_yQ", "BMK_xQ", "BLK_xG_yM", "heads"),
        ("B_xyLKGQ", "B_xyMKQ", "B_xyLKGM", "batch"),
        ("B_xLK_yGQ", "B_xMK_yQ", "B_xLK_yGM", "batch and heads"),
        ("BL_xyKGQ", "BMKQ", "BL_xyKGM", "context"),
        ("BLKGQ", "BMKQ", "BLKGM", "not sharded"),
    ],
)
def test_what_it_is_sharded_over(q: str, cache: str, s: str, said: str) -> None:
    program = read(PRODUCTS.format(q=q, cache=cache, s=s))
    assert attention(program, {"x": 2, "y": 2}) == said
    assert attention(program, {"x": 1, "y": 1}) == "not sharded"


def test_values_may_be_split_within_a_head() -> None:
    text = PRODUCTS.format(q="BLKGQ", cache="BMKQ_x", s="BLKGM")
    text = text.replace("\ns :", "\nk1 : BMKQ = all-gather(x) kc\ns :").replace("q * kc", "q * k1")
    program = read(text.replace("o : BLKGQ =", "o : BLKGQ_x ="))
    assert attention(program, {"x": 2, "y": 2}) == "head size"


def test_a_program_without_a_context_has_no_attention() -> None:
    program = read((ROOT / "examples" / "ffn_2d_weight_stationary.layout").read_text())
    assert attention(program, {"x": 4, "y": 4, "z": 4}) == ""


def test_heads_and_what_is_in_them_are_one_side_of_a_weight() -> None:
    """E over x, heads over y, what is in a head over z: two sides, as E_xF_yz has."""
    text = (
        "dims B=8 E=64 H=8 Q=8\nmesh x y z\ninput x : BE_x\nweight w : E_xH_yQ_z\n"
        "q : BH_yQ_z(partialsum-x) = x * w\nr : BH_yxQ_z = reduce-scatter(x) q\noutput r\n"
    )
    assert describe(read(text), {"x": 2, "y": 2, "z": 2}) == "2D weight-stationary"


# Chosen: the paper's section 3.3.


def test_a_long_context_is_split_by_batch() -> None:
    """Figure 5(b): queries and what is made of them go from heads to sequences and back by
    all-to-all, so that each chip reads its part of the caches alone."""
    _, decode = phases("palm_layer")
    plan = solved(sized(decode, M=65_536))
    assert attention_of(plan) == "batch"
    assert not plan.only.program.types["kc"].shape.split("M")
    moved = {origin(plan.only.program, m.operand) for _, m in moves(plan) if m.kind == "all-to-all"}
    assert {"q", "o"} <= moved


def test_a_short_context_is_split_by_heads() -> None:
    _, decode = phases("palm_layer")
    assert over(sized(decode, M=128)) == "heads"


def test_fewer_sequences_than_chips_are_not_split_by_batch_alone() -> None:
    _, decode = phases("palm_layer")
    assert over(sized(decode, B=2)) != "batch"
    assert over(sized(decode, B=1, M=64)).startswith("heads")


def test_a_prefill_is_split_by_heads() -> None:
    prefill, _ = phases("palm_layer")
    assert over(prefill) == "heads"


def test_heads_of_keys_are_never_split_further_than_they_go() -> None:
    """8 of them, on 16 chips: K takes a part of the axes, and the batch or G the rest."""
    _, decode = phases("llama_layer")
    plan = solved(decode, 16)
    program = plan.only.program
    parts = [prod(plan.mesh[a] for a in t.shape.split("K")) for t in program.types.values()
             if "K" in t.shape]  # fmt: skip
    assert all(8 % n == 0 for n in parts)
    assert max(parts) > 1


def test_heads_of_keys_that_chips_do_not_divide_are_refused() -> None:
    text = (ROOT / "examples" / "llama_layer.layout").read_text()
    text = text.replace("cache  kc      : BMKQ?", "cache  kc      : BMK_xyzQ")
    text = text.replace("mesh   x y z", "mesh   x=4 y=2 z=2")
    said = "K=8 is not divided by xyz, which make 16 parts"
    assert all(error.message == said for error in wrong(text))


def test_the_multiquery_block_moves_no_more_than_a_careful_person() -> None:
    """Written by hand it moves 259,584 bytes; keys and values need not go the queries' way."""
    program = read((ROOT / "benchmarks" / "programs" / "multiquery.layout").read_text())
    plan = solve(program, 64, MACHINE, "communication")
    assert plan.only.prices.communication.bytes <= 259_584
    assert called(plan) == "2D weight-stationary, attention over batch"


# Parallel and serial: section 3.4.


def test_a_parallel_layer_gathers_and_scatters_once_for_both_branches() -> None:
    """One all-gather of what the norm makes, which all five products read or take their part of,
    and one reduce-scatter, of the sum of attention and feedforward layer."""
    _, decode = phases("palm_layer")
    program = solved(decode).only.program
    made = [(origin(program, move.operand), move.kind) for _, move in moves_of(program)]
    assert made.count(("n", "all-gather")) == 1
    assert [kind for name, kind in made if name in {"a", "f", "af"}] == ["reduce-scatter"]
    assert ("af", "reduce-scatter") in made


def test_a_serial_layer_moves_more() -> None:
    _, decode = phases("palm_layer")
    serial = read((ROOT / "benchmarks" / "programs" / "palm_serial.layout").read_text())
    serial = replace(serial, axes=serial.axes[:2])
    mine, its = solved(decode), solved(serial)
    assert its.only.prices.communication.bytes > 1.3 * mine.only.prices.communication.bytes
    assert its.seconds > mine.seconds
    made = [(origin(its.only.program, m.operand), m.kind) for _, m in moves(its)]
    assert ("a", "reduce-scatter") in made
    assert ("f", "reduce-scatter") in made


def moves(plan: Plan) -> list[tuple[str, Move]]:
    return moves_of(plan.only.program)


def moves_of(program: Program) -> list[tuple[str, Move]]:
    """What each move makes."""
    return [
        (item.name, item.operation)
        for item, _ in program.walk()
        if isinstance(item, Define) and isinstance(item.operation, Move)
    ]


def origin(program: Program, name: str) -> str:
    """What a name is a version of."""
    before = {made: move.operand for made, move in moves_of(program)}
    while name in before:
        name = before[name]
    return name


# Explained.


def test_the_best_with_another_attention_is_an_alternative() -> None:
    """Keys and values whole on each of 4 chips: by heads, each reads 4 times the caches."""
    program = read(MULTIQUERY)
    plan = solved(program, 4)
    assert attention_of(plan) == "batch"
    others = {attention_of(p): p for p in contenders(program, plan).plans}
    assert why(plan, others["heads"]).short == "each chip reads 4 times the caches from memory"
    assert all(p.value >= plan.value * (1 - 1e-9) for p in others.values())


def test_the_context_at_which_attention_turns() -> None:
    """The search names one on one side, and the other on the other."""
    program = read(MULTIQUERY)
    plan = solved(program, 4)
    (found,) = contexts(program, plan, contenders(program, plan).plans)
    assert (found.what, found.attention) == ("M", "attention over batch")
    assert found.high is None
    assert found.low is not None
    names = [over(sized(program, M=int(m)), 4) for m in (found.low.before, found.low.beyond)]
    assert f"attention over {names[0]}" == found.attention
    assert f"attention over {names[1]}" == found.low.name != found.attention
    assert found.low.before - found.low.beyond <= max(4, found.low.before / 16)


def test_the_heading_says_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "multiquery.layout"
    path.write_text(MULTIQUERY)
    assert main(["compile", str(path), "--chips", "4"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.endswith("weight-stationary, attention over batch")
    assert any(line.startswith("  against") and "attention over" in line for line in lines)


def test_as_a_document(compiled: Run, tmp_path: Path) -> None:
    path = tmp_path / "multiquery.layout"
    path.write_text(MULTIQUERY.replace("mesh   x\n", "mesh   x\nphase a : M=16\nphase b :\n"))
    found = compiled(path, "--chips", "4")
    assert found["phases"]["b"]["attention"] == "batch"
    assert found["phases"]["b"]["layout"].endswith("weight-stationary")
    assert {"a", "b"} == set(found["alternatives"][0]["attention"])
    ffn = compiled(ROOT / "examples" / "ffn.layout", "--chips", "4")
    assert ffn["phases"]["main"]["attention"] is None


def test_more_equals_than_can_be_looked_at_are_left_as_they_come() -> None:
    """PaLM's layer in prefill of a million tokens, weights stored 2D and room for anything: so many
    layouts are as good that a table of them all would not fit in memory."""
    text = (ROOT / "examples" / "palm_layer.layout").read_text()
    text = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("phase"))
    for old, new in {
        "w_gate  : EF!": "w_gate  : E_xF_yz", "w_up    : EF!": "w_up    : E_xF_yz",
        "w_down  : FE!": "w_down  : F_yzE_x", "kc      : BMQ?": "kc      : B_xyzMQ",
        "vc      : BMQ?": "vc      : B_xyzMQ", "L=1  M": "L=2048  M",
        "g  : BLF?": "g  : BLF_yz?", "u  : BLF?": "u  : BLF_yz?",
    }.items():  # fmt: skip
        assert old in text
        text = text.replace(old, new)
    machine = replace(load_machine("tpu-v4"), memory_bytes=10**13)
    plan = solve(read(text), 64, machine, gap=0.02)
    assert plan.gap <= 0.02 + 1e-9
    assert plan.seconds == pytest.approx(0.601, rel=0.03)
