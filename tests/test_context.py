"""What caches take of a chip, and the longest context: the paper's table, and figures by hand."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from texts import read

from layoutc.cli import main
from layoutc.dsl.program import Program
from layoutc.solver.context import Context, context
from layoutc.solver.hardware.catalogue import load_machine
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.plan import Plan
from layoutc.solver.solve import solve
from layoutc.solver.unsolvable import Unsolvable

DATA = Path(__file__).parent / "data"
Run = Callable[..., dict[str, Any]]

ATTENTION = """\
dims   B=16 L=1 M=32768 K=8 G=8 Q=128
mesh   x=8 y=2
input  q   : {q}
input  k   : {k}
input  v   : {k}
input  pos : B int32
repeat 80 {{
  cache kc : {cache}
  cache vc : {cache}
  k1 = write[M](kc, k, pos)
  v1 = write[M](vc, v, pos)
  s : {s} = q * k1
  t = scale[Q](s)
  u = causal[L, M](t, pos)
  p = softmax[M](u)
  a : {q} = p * v1
  next q = a
}}
output q
"""
HEADS = {"q": "BLK_xGQ", "k": "BLK_xQ", "cache": "BMK_xQ", "s": "BLK_xGM"}
BATCH = {"q": "B_xyLKGQ", "k": "B_xyLKQ", "cache": "B_xyMKQ", "s": "B_xyLKGM"}


def published() -> list[dict[str, str]]:
    """Table 1, without its heading."""
    lines = (DATA / "table1.csv").read_text().splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def machine(memory: float) -> Machine:
    return replace(load_machine(), memory_bytes=int(memory))


def solved(program: Program, memory: float = 1e15, chips: int = 16) -> Plan:
    return solve(program, chips, machine(memory))


def cached(plan: Plan, share: str = "") -> Context:
    found = context(plan.only, Fraction(share) if share else None)
    assert found is not None
    return found


# The paper's Table 1.


@pytest.mark.parametrize("entry", published(), ids=lambda e: f"{e['variant']}-{e['batch']}")
def test_table_1(entry: dict[str, str], compiled: Run) -> None:
    """By hand: a chip has 0.3 · 32 GiB for keys and values, 118 layers, two bytes each; of one
    head of 128, of the head of 256 that all share, or of that for a 64th of the batch."""
    path = DATA / f"table1_{entry['variant']}.layout"
    assert f"Q={entry['d_head']}" in path.read_text()
    batch = int(entry["batch"])
    found = compiled(path, "--set", f"B={batch}", "--cache-share", "0.3")["phases"]["main"]["cache"]
    sequences = batch / 64 if entry["variant"] == "multiquery_by_batch" else batch
    assert found["bytes_per_place"] == 118 * 2 * 2 * int(entry["d_head"]) * sequences
    assert found["max_context"] == int(0.3 * 2**35 / found["bytes_per_place"])
    assert found["max_context"] == pytest.approx(int(entry["max_context"]), rel=0.015)
    assert found["share"] == 0.3


# Llama-3.1-70B: 80 layers, 8 heads for keys and values, each of 128, on 16 chips.


@pytest.mark.parametrize(("layout", "on_a_chip"), [(HEADS, 40_960), (BATCH, 20_480)])
def test_bytes_of_a_token(layout: dict[str, str], on_a_chip: int) -> None:
    """80 · 2 · 8 · 128 · 2 bytes in all: an 8th of it is held twice, or a 16th once."""
    found = cached(solved(read(ATTENTION.format(**layout))))
    assert found.growth is not None
    assert found.growth.total_bytes_per_token == 327_680
    assert found.growth.bytes_per_token == on_a_chip
    assert found.growth.bytes_per_place == 16 * on_a_chip
    assert found.bytes == 16 * 32_768 * on_a_chip
    assert found.total_bytes == 16 * 10 * 2**30


def test_ten_gibibytes_of_one_sequence() -> None:
    one = read(ATTENTION.format(**HEADS).replace("B=16", "B=1"))
    found = cached(solved(one))
    assert found.total_bytes == 10_737_418_240
    assert found.bytes == 32_768 * 40_960


# The longest context.


def test_beside_the_rest_it_is_what_still_compiles() -> None:
    """The scores grow with M too: of s, t, u and p two are alive at once, 16 · 8 · 2 bytes a place
    each. So a place takes 655,360 + 512 bytes; q, k and v take less than one."""
    text = ATTENTION.format(**HEADS)
    found = cached(solved(read(text), 30e9)).growth
    assert found is not None
    assert found.longest == int(30e9 / 655_872) == 45_740
    fits = read(text.replace("M=32768", f"M={found.longest}"))
    assert solved(fits, 30e9).only.prices.memory.bytes <= 30e9
    with pytest.raises(Unsolvable):
        solved(read(text.replace("M=32768", f"M={found.longest + 1}")), 30e9)


SPLIT = """\
dims  B=2 M=8 Q=4
mesh  x=4
input q : BQ
cache c : BM_xQ f32
s : BM_x = q * c
output s
"""


def test_where_the_context_is_split_it_is_a_multiple_of_its_parts() -> None:
    """A place takes 2 · 4 · 4 / 4 = 8 bytes of each of 4 chips: 103 bytes are 12.9 of them."""
    found = cached(solved(read(SPLIT), 206, chips=4), "0.5").growth
    assert found is not None
    assert (found.bytes_per_place, found.bytes_per_token) == (Fraction(8), Fraction(4))
    assert (found.dim, found.longest) == ("M", 12)


def test_what_one_place_takes_may_be_a_part_of_a_byte() -> None:
    text = SPLIT.replace("B=2 M=8 Q=4", "B=1 M=8 Q=1").replace(" f32", " int8")
    found = cached(solved(read(text), 99, chips=4), "0.1")
    assert found.growth is not None
    assert found.growth.bytes_per_place == Fraction(1, 4)
    assert (found.bytes, found.total_bytes) == (2, 8)
    assert found.growth.longest == 36  # 9.9 bytes are 39.6 places


def test_a_cache_of_another_dim_does_not_grow() -> None:
    """c takes 16 bytes a place, e 32 bytes whatever the context is."""
    text = """\
        dims  B=2 M=8 S=4 Q=4
        mesh  x
        input q : BQ
        cache c : BMQ
        cache e : BSQ int8
        s : BM = q * c
        t : BS = q * e
        output s, t
        """
    with_both = cached(solved(read(text), 1000, chips=1), "0.1")
    assert (with_both.bytes, with_both.growth and with_both.growth.longest) == (160, 4)
    no_room = cached(solved(read(text), 1000, chips=1), "0.03")
    assert no_room.growth
    assert no_room.growth.longest == 0
    alone = cached(solved(read(text.replace("M", "N")), 1000, chips=1))
    assert (alone.bytes, alone.growth) == (160, None)


def test_the_dim_that_is_written_is_the_contexts() -> None:
    text = ATTENTION.format(**HEADS).replace("32768", "64").replace("M", "T")
    found = cached(solved(read(text))).growth
    assert found is not None
    assert (found.dim, found.size) == ("T", 64)
    assert found.bytes_per_token == 40_960


def test_each_phase_has_its_own() -> None:
    text = ATTENTION.format(**HEADS).replace("B=16 L=1 M=32768", "B L M=64")
    lines = "phase prefill : B=1 L=64\nphase decode : B=16 L=1\ninput  q "
    plan = solved(read(text.replace("input  q ", lines)))
    found = [context(part, Fraction(1, 2)) for part in plan.passes]
    assert [one and one.bytes for one in found] == [64 * 40_960, 16 * 64 * 40_960]
    room = [one.growth.longest for one in found if one and one.growth]
    assert room == [int(0.5e15) // 40_960, int(0.5e15) // (16 * 40_960)]


# What is refused.


def test_the_caches_are_named_where_they_do_not_fit() -> None:
    """16 · 32,768 · 40,960 bytes = 21.5 GB, in two stacks."""
    with pytest.raises(Unsolvable) as refusal:
        solved(read(ATTENTION.format(**HEADS)), 10e9)
    said = refusal.value
    assert said.name == "kc"
    assert said.message.endswith(
        "and there are 10 GB; 21.5 GB of that are caches, the largest kc : BMK_xQ, 10.7 GB"
    )
    longest = int(said.hint.removeprefix("M=").removesuffix(" would fit"))
    text = ATTENTION.format(**HEADS)
    assert solved(read(text.replace("M=32768", f"M={longest}")), 10e9)
    with pytest.raises(Unsolvable):
        solved(read(text.replace("M=32768", f"M={longest + 1}")), 10e9)


def test_no_context_is_offered_without_room_for_the_tokens_of_a_pass() -> None:
    text = ATTENTION.format(**HEADS).replace("L=1 M=32768", "L=4096 M=4096")
    with pytest.raises(Unsolvable) as refusal:
        solved(read(text), 1e9)
    assert refusal.value.hint == ""


def test_more_chips_and_a_shorter_context_may_both_do() -> None:
    text = SPLIT.replace("x=4", "x").replace("M=8", "M=4096")
    with pytest.raises(Unsolvable) as refusal:
        solved(read(text), 20_000, chips=4)
    assert refusal.value.message.endswith("32.8 kB of that is the cache c : BM_xQ")
    # A place is 8 bytes of c and 1 of s on a chip, beside 16 bytes of q: 2,220 of them, in fours.
    assert refusal.value.hint == "M=2220 would fit, or 8 chips would do"


# The command line.


@pytest.mark.parametrize("share", ["0", "0.0", "1.01", "2", "-0.3", "30%", "0,3", "nan", ""])
def test_a_share_is_more_than_none_and_at_most_all(share: str) -> None:
    path = str(DATA / "table1_multihead.layout")
    with pytest.raises(SystemExit) as caught:
        main(["compile", path, "--cache-share", share])
    assert caught.value.code == 2


def test_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    """Weights take 118 · 23,592,960 bytes of 2^35; a place 241,664 of the caches and 2 · 256 of
    two sequences' scores, twice."""
    path = str(DATA / "table1_multiquery_by_batch.layout")
    assert main(["compile", path, "--cache-share", "0.3"]) == 0
    out = capsys.readouterr().out
    assert "kc      B_xyzMQ   118 of [2, 8192, 256]   990 MB" in out
    assert (
        "  cache          1.98 GB on each chip, 1.89 kB per token; each element once, 127 GB and "
        "121 kB\n"
        "  context        M=8,192; up to 42,653 in 30% of memory\n"
    ) in out
    assert main(["compile", path]) == 0
    assert (2**35 - 118 * 23_592_960) // (241_664 + 2 * 256) == 130_383
    assert "M=8,192; up to 130,383 beside weights and activations" in capsys.readouterr().out


def test_without_caches_nothing_is_said(
    tmp_path: Path, compiled: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "plain.layout"
    path.write_text(SPLIT.replace("cache c", "weight c"))
    found = compiled(path, "--cache-share", "0.5")
    assert found["phases"]["main"]["cache"] is None
    assert main(["compile", str(path), "--cache-share", "0.5"]) == 0
    assert "cache" not in capsys.readouterr().out
