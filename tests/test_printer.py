"""Programs as text: what is printed is read back as the same, and `fmt` changes no meaning."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutc.dsl.check import check
from layoutc.dsl.formatter import format_file
from layoutc.dsl.operation import Move
from layoutc.dsl.parse import parse
from layoutc.dsl.printer import print_program, print_shape, print_statement
from layoutc.dsl.program import Define, Program, Type
from layoutc.dsl.shape import Shape, whole

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.layout"))

STATEMENTS = [
    "{n} = {a} * {b}",
    "{n} = {a} + {b}",
    "{n} = {a} / 3e-5",
    "{n} = -2 * {a}",
    "{n} = gelu({a})",
    "{n} = neg({a})",
    "{n} : BLE_x f32 = cast({a})",
    "{n} : BLE? f16 = {a} - {b}",
    "{n} = sum[E]({a})",
    "{n} = max[B, L]({a})",
    "{n} = {a}",
    "{n} : BLE_{{xy}} = {a}",
    "{n} : BLE_zx = {a}",
    "{n} = all-gather(xz) {a}",
    "{n} : BLE(partialsum-yx) = {a} * {b}",
    "{n} : BLE_y = reduce-scatter(y) {a}",
    "{n} = all-reduce(zyx) {a}",
    "{n} = embed[L]({a}, ids)",
    "{n} = rmsnorm[E, eps=1e-5]({a}, {b})",
    "{n} = layernorm[L]({a})",
    "{n} : BLE f32 = softmax[E]({a})",
    "{n} = rope[E, theta=5e5]({a}, pos)",
    "{n} = write[M](c, {a}, 3)",
    "{n} = scale[M]({a})",
    "{n} = causal[L, E]({a}, pos)",
    "{n} = valid[L]({a}, pos)",
    "{n} = rename[E -> F]({a})",
]


def checked(text: str) -> Program | None:
    found = check(parse(text, "p.layout"))
    return found if isinstance(found, Program) else None


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Right programs, explicit or not: statements that the checker refuses are left out."""
    mesh = draw(st.sampled_from(["x y z", "z=2 x=4 y", "z y:why=2 x"]))
    dtype = draw(st.sampled_from(["f32", "bf16"]))
    text = f"dims B=8 L E=64 M F=64\nmesh {mesh}\ndtype {dtype}\ninput x : BLE_xz\n"
    text += "input pos : B int32\ninput ids : M int32\ncache c : BME_x\n"
    text += draw(st.sampled_from(["input v : BLE? f32\n", "input v : BLE_zx f16\n"]))
    names, last = ["x", "v"], "output x\n"
    for i in range(draw(st.integers(1, 6))):
        pattern = draw(st.sampled_from(STATEMENTS))
        a, b = draw(st.sampled_from(names)), draw(st.sampled_from(names))
        line = pattern.format(n=f"t{i}", a=a, b=b) + "\n"
        if checked(text + line + last):
            text, names = text + line, [*names, f"t{i}"]
    if draw(st.booleans()):
        text += "repeat 3 {\nweight w : E!\nu = x + w\nnext x = u\n}\n"
    program = checked(text + last)
    assert program
    return program


@given(programs())
def test_programs_read_back(program: Program) -> None:
    assert checked(print_program(program)) == program


@given(programs())
def test_what_is_printed_is_canonical(program: Program) -> None:
    text = print_program(program)
    assert format_file(parse(text, "p.layout")) == text


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_read_back(path: Path) -> None:
    file = parse(path.read_text(), path.name)
    program = check(file)
    assert isinstance(program, Program)
    assert check(parse(print_program(program), path.name)) == program
    text = format_file(file)
    assert check(parse(text, path.name)) == program
    assert format_file(parse(text, path.name)) == text


def test_an_explicit_program() -> None:
    text = """\
dims   B=512  L=1  E=18432  F=73728
mesh   x=4 y z
dtype  bf16

input  x    : BLE_xyz
weight w_in : E_xF_yz f32

x1 : BLE_x                = all-gather(yz) x
h  : BLF_yz(partialsum-x) = x1 * w_in
h1 : BLF_yzx              = reduce-scatter(x) h
g  : BLF_yzx f32          = cast(h1)
output g
"""
    program = checked(text)
    assert program
    assert print_program(program) == text


def test_axes_in_parentheses_follow_the_mesh() -> None:
    shape = Shape(whole("BE").dims, ("x", "y", "z"))
    assert print_shape(shape, ("z", "x", "y")) == "BE(partialsum-zxy)"
    gather = Define("x1", Type(whole("BE"), "f32"), Move("all-gather", ("z", "x"), "x"))
    assert print_statement(gather, ("z", "x")) == "x1 : BE = all-gather(zx) x"


MESSY = """\


#   top
dims B=512   L=1
dims E F
mesh   y x=04   d:data

dtype bf16
input x:BLE_{x}? # the input
# among them
weight   w_in :EF!
output   x


repeat 3 { # three
   y=x*2.50
 h1 : BLE(partialsum-xy) f32=cast( y )
   # inside
 h2 = all-gather(dxy)h1
 s = sum[B,L]( h2 )
next x=y
 }  # end
output y->x,s

"""
NEAT = """\
#   top
dims   B=512  L=1
dims   E F
mesh   y x=4 d:data

dtype  bf16
input  x    : BLE_x?  # the input
# among them
weight w_in : EF!
output x

repeat 3 {  # three
  y                           = x * 2.5
  h1 : BLE(partialsum-yx) f32 = cast(y)
  # inside
  h2                          = all-gather(yxd) h1
  s                           = sum[B, L](h2)
  next x = y
}  # end
output y -> x, s
"""


def test_the_canonical_spelling() -> None:
    assert format_file(parse(MESSY, "m.layout")) == NEAT


def test_what_stands_in_brackets_is_spelled_in_one_way() -> None:
    text = "a=rename[L->M](k)\nb = rope[theta=5e5,Q]( q,007 )\nc = rmsnorm[ E,eps=0.0000010 ](x)\n"
    assert format_file(parse(text, "m.layout")) == (
        "a = rename[L -> M](k)\nb = rope[Q, theta=500000](q, 7)\nc = rmsnorm[E, eps=1e-6](x)\n"
    )


def test_formatting_twice_changes_nothing() -> None:
    once = format_file(parse(MESSY, "m.layout"))
    assert format_file(parse(once, "m.layout")) == once


def test_trailing_comments_stand_in_a_column() -> None:
    text = "dims B L # a\nmesh x y z w # b\n\ninput x : B # c\n"
    assert format_file(parse(text, "m.layout")) == (
        "dims   B L      # a\nmesh   x y z w  # b\n\ninput  x : B  # c\n"
    )
