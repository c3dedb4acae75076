"""Padded dims: the values of an emitted program are those of what is used."""

from __future__ import annotations

import os
import re

import padded
import pytest
from padded import hold
from random_programs import random_program
from texts import read

from layoutc.codegen.emit import emit

LONG = bool(os.environ.get("LAYOUTC_LONG"))
SEEDS = range(30, 230 if LONG else 62)
GROUP = 8

OPERATIONS = {
    "a product that sums": "y : BE = x * w",
    "a bias": "y : BF_xy = x + v",
    "a difference": "y : BF_xy = v - x",
    "a quotient": "s : F_xy = sigmoid(v)\ny : BF_xy = x / s",
    "a product that keeps": "y : BF_xy = x * v",
    "exp, then a sum": "e : BF_xy = exp(x)\ny : B(partialsum-xy) = sum[F](e)",
    "sum": "y : F_xy = sum[B](x)\nz : B(partialsum-xy) = sum[F](x)",
    "mean": "y : F_xy = mean[B](x)\nz : B(partialsum-xy) = mean[F](x)",
    "the mean over two": "y : E(partialsum-xy) = mean[B, F](u)",
    "max": "n : BF_xy = x - 9\ny : B(partialmax-xy) = max[F](n)\nz : F_xy = max[B](n)",
    "the same again": "y : BF_xy = x\nz : B(partialsum-xy) = sum[F](y)\nt : BF_xy = y + x",
    "a square": "y : B(partialsum-xy) = x * x",
    "numbers": "y : BF_xy = x * 2\nz : BF_xy = y - 1\nt : B(partialsum-xy) = sum[F](z)",
    "a cast": "y : BF_xy bf16 = cast(x)\nz : BF_xy f32 = cast(y)",
    "an argument leaves": "y : BF_xy = x",
}


def summed(body: str, split: str) -> str:
    """The program with partial values made whole, and all that it computes as outputs."""
    lines, names = [], []
    for line in body.replace("_xy", split).splitlines():
        name = line.partition(" :")[0]
        axes = split.removeprefix("_")
        line = re.sub(r"\(partial(\w+)-xy\)", rf"(partial\1-{axes})" if axes else "", line)
        lines.append(line)
        if "(partial" in line:
            lines.append(f"{name}0 = all-reduce({axes}) {name}")
            name += "0"
        names.append(name)
    return "\n".join(lines) + f"\noutput {', '.join(names)}\n"


@pytest.mark.parametrize("split", ["_xy", "_yx", "_x", ""], ids=str)
@pytest.mark.parametrize("body", OPERATIONS.values(), ids=list(OPERATIONS))
def test_an_operation(body: str, split: str) -> None:
    body = body.replace("y : BE =", "y : BE(partialsum-xy) =")
    head = f"""
dims   B=4  E=6  F=13 padded 24
mesh   x y
dtype  f32
input  x : BF{split}
input  v : F{split}
input  u : BEF{split}
weight w : F{split}E
"""
    hold(read(head + summed(body, split)), {"x": 3, "y": 2})


MOVING = """
dims   B=12  F=13 padded 24  G=5 padded 12
mesh   x y
dtype  f32
input  a : BF_xG_y
b : BF_xG             = all-gather(y) a
c : BG(partialsum-x)  = sum[F](b)
d : BG_x              = reduce-scatter(x) c
e : B_xG              = all-to-all(x) d
f : BF_xyG            = slice(y) b
g : BF_yxG            = permute(xy) f
h : BF_yG_x           = all-to-all(x) g
s = exp(h)
t : BG_x(partialsum-y) = sum[F](s)
v : BG_xy             = reduce-scatter(y) t
w : BG                = all-gather(xy) v
output d, e, g, w
"""


@pytest.mark.parametrize("mesh", [{"x": 2, "y": 2}, {"x": 3, "y": 4}, {"x": 4, "y": 3}], ids=str)
def test_moves_of_padded_dims(mesh: dict[str, int]) -> None:
    hold(read(MOVING), mesh)


BLOCKS = """
dims   B=4  E=13 padded 24  F=7 padded 12
mesh   x:data y:model
dtype  f32
input  x : BE_xy
input  z : BE_xy
weight s : E_xy
weight t : FE
repeat 3 {
weight w_in  : E_xF_y
weight w_out : F_yE_x
cache  c : E_xy
x1 : BE_x               = all-gather(y) x
h  : BF_y(partialsum-x) = x1 * w_in
h1 : BF_y               = all-reduce(x) h
g  : BF_y               = sigmoid(h1)
u  : BF                 = all-gather(y) g
k  : BE                 = u * t
l  : BE_xy              = slice(xy) k
m  : B(partialsum-xy)   = s * l
n1 : B                  = all-reduce(xy) m
n  : B                  = sigmoid(n1)
p  : BE_x(partialsum-y) = g * w_out
q  : BE_xy              = reduce-scatter(y) p
r  : BE_xy              = q + c
v  : BE_xy              = r / n
y  : BE_xy              = x + v
next x = y
next z = r
}
output x, z
"""


@pytest.mark.parametrize("mesh", [{"x": 2, "y": 3}, {"x": 4, "y": 2}], ids=str)
def test_blocks(mesh: dict[str, int]) -> None:
    """A residual, a weight from outside, a cache, and two values that are carried."""
    hold(read(BLOCKS), mesh)


def test_what_a_block_takes_from_outside_is_masked_once_before_it() -> None:
    text = emit(read(BLOCKS, "blocks"), {"x": 2, "y": 3})
    sharded = text.partition("def blocks(")[2].partition("def reference")[0]
    before, inside = sharded.split("def block(")
    assert re.findall(r"\w+ = masked\(\w+, ", before) == ["t = masked(t, ", "s = masked(s, "]
    assert not re.search(r"\b[st] = masked", inside)


CARRIED = """
dims   B=4  E=13 padded 24
mesh   x
dtype  f32
input  x : BE_x
weight w : E_x
x0 : BE_x = x * 1
s0 : B(partialsum-x) = sum[E](x)
repeat 3 {
s : B(partialsum-x) = sum[E](x)
r : B    = all-reduce(x) s
y : BE_x = x + w
z : BE_x = y / 2
next x = z
}
s1 : B = all-reduce(x) s0
output x, s1
"""


def test_what_is_clean_before_a_block_may_not_be_at_the_next_repetition() -> None:
    program = read(CARRIED, "carried")
    hold(program, {"x": 4})
    text = emit(program, {"x": 4})
    assert "x = masked(x, 1" in text.partition("def block(")[2].partition("return")[0]


@pytest.mark.parametrize("dtype", ["bf16", "f16", "int8", "int32", "f8e4m3", "f8e5m2"])
def test_every_dtype(dtype: str) -> None:
    text = f"""
dims  B=4  F=13 padded 24
mesh  x
dtype {dtype}
input x : BF_x
input w : F_x
m : B(partialmax-x) = max[F](x)
n : B = all-reduce(x) m
p : B(partialsum-x) f32 = x * w
q : B f32 = all-reduce(x) p
output n, q
"""
    program = read(text)
    found = padded.errors(program, {"x": 4})
    assert max(found.values()) < 0.02


@pytest.mark.parametrize("first", range(SEEDS.start, SEEDS.stop, GROUP))
def test_random_programs(first: int) -> None:
    for seed in range(first, first + GROUP):
        program, mesh = random_program(seed)
        hold(padded.padded_at_random(program, seed), mesh, seed)
