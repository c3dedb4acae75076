"""Whatever the file, there is an answer: a program, or errors with places, and soon."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

from layoutc.dsl.check import check
from layoutc.dsl.errors import render
from layoutc.dsl.formatter import format_file
from layoutc.dsl.parse import parse
from layoutc.dsl.printer import print_program
from layoutc.dsl.program import Program
from layoutc.dsl.source import decode

HANGS = 30.0
"""Seconds after which something hangs, on the busiest machine."""

SAMPLES = 20_000 if os.environ.get("LAYOUTC_LONG") else 2_000
EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.layout"))
ATTENTION = """\
dims B=8 L=4 T M=64 E=32 V=64 K=4 G=2 Q=16
mesh x y z
phase prefill : B=1 L=64
phase decode : B=8 L=1 M=128 weight=16
input ids : BL int32
input pos : B int32
weight table : V_xE
weight g : E
weight wq : EKGQ!
weight wk : EKQ!
e : BLE? = embed[V](table, ids)
repeat 2 {
cache kc : BMKQ?
n = rmsnorm[E, eps=1e-5](e, g)
m = layernorm[E](n, g, g)
q : BLKGQ? = m * wq
k : BLKQ? = m * wk
q1 = rope[Q, theta=500000](q, pos)
k1 = rope[Q](k, pos)
kc1 = write[M](kc, k1, pos)
r = rename[L -> T](k)
s : BLKGM? = q1 * kc1
s1 = scale[Q](s)
s2 = causal[L, M](s1, pos)
s3 = valid[M](s2, 12)
p = softmax[M](s3)
a : BLKGQ? = p * kc1
o : BLE? = a * wq
next e = o
}
output e
"""
"""Every operation of a Transformer layer, though not as a model has them."""
PIECES = [
    "(partialsum-x)", "(partialmax-yz)", "?", "!", "_", "_{xy}", "_zy", "{", "}", "repeat 2 {",
    "next x = y", "output y", "dims B=0", "mesh x y", "mesh e=3", "order free", "dtype f32", "=",
    ":", "*", "+ 1", "1e999", "all-reduce(x) h", "slice(z) x", "permute(xy) x", "cast(x)", " f32",
    "sum[B](x)", "max[F](h)", "gelu(x)", "\t", "\r", "\0", "é", "漢", "\u2028", "#", "x", "B", "99",
    "cache c : BMKQ", "softmax[M](s)", "rename[L -> M](k)", "write[M](kc, k, pos)", "[L, M]",
    "rope[Q, theta=1](q, 0)", "causal[L, M](s, pos)", " -> ", "eps=1e-6", "int32", "B=4 M=2",
    "phase p : B=1", "-", "(", ")", "[", "9" * 30, "B_xB_x",
]  # fmt: skip


def mutate(text: str, rng: random.Random) -> str:
    """A file with a few of its characters, words or lines replaced, moved or gone."""
    for _ in range(rng.randint(1, 5)):
        at, length = rng.randrange(len(text) + 1), rng.choice([0, 0, 1, 3, 20, 60])
        kind = rng.randrange(4)
        if kind == 0:
            new = rng.choice(PIECES)
        elif kind == 1:
            new = chr(rng.choice([rng.randrange(128), rng.randrange(0x3000)]))
        elif kind == 2:
            start = rng.randrange(len(text) + 1)
            new = text[start : start + rng.randint(1, 40)]
        else:
            new = ""
        text = text[:at] + new + text[at + length :]
    return text


def answer(text: str) -> bool:
    """Whether the file is right; whichever it is, all that is made of it holds together."""
    file = parse(text, "fuzz.layout")
    found = check(file)
    if isinstance(found, Program):
        assert check(parse(print_program(found), "fuzz.layout")) == found
        assert check(parse(format_file(file), "fuzz.layout")) == found
        return True
    assert found
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for error in found:
        assert 1 <= error.span.line <= len(lines)
        assert 1 <= error.span.start <= len(lines[error.span.line - 1]) + 1
        assert error.message
    assert render(found, text, "fuzz.layout").count("error: ") >= len(found)
    return False


def test_mutated_programs() -> None:
    rng = random.Random(1)
    texts = [path.read_text() for path in EXAMPLES]
    texts += [ATTENTION] * 3
    right = 0
    for _ in range(SAMPLES):
        text = mutate(rng.choice(texts), rng)
        start = time.perf_counter()
        right += answer(text)
        assert time.perf_counter() - start < HANGS, text
    assert 0 < right < SAMPLES


def test_random_bytes() -> None:
    rng = random.Random(2)
    for _ in range(SAMPLES // 10):
        text = decode(rng.randbytes(rng.randint(0, 60)))
        if isinstance(text, str):
            answer(text)


def test_random_words() -> None:
    rng = random.Random(3)
    texts = [ATTENTION, *(path.read_text() for path in EXAMPLES)]
    words = [word for text in texts for word in text.split()] + PIECES
    for _ in range(SAMPLES // 4):
        length = rng.randint(1, 60)
        answer("".join(rng.choice(words) + rng.choice(" \n") for _ in range(length)))


HEAD = "dims B=512 L=1 E=18432\nmesh x y z\ninput x : BLE_xyz\n"


def test_long_inputs_are_answered_soon() -> None:
    long = [
        HEAD + "".join(f"a{i} : BLE_x = all-gather(yz) x\n" for i in range(1500)),
        HEAD + "a = gelu(x)\n" * 1900,
        HEAD + "".join(f"a{i} = gel{i}(xx{i})\n" for i in range(1900)),
        HEAD + "a : BLE = b & c\n" * 1900,
        HEAD + "dims " + "B " * 4900,
        HEAD + "a = " + "(" * 9000,
        HEAD + "a = x * " + "9" * 9000,
        HEAD + "input a : BLE_" + "x" * 9000,
        "a=+" * 3000,
        "repeat 2 {\n" * 1900,
        "\n" * 1_000_000,
        "# " * 4000,
    ]
    for text in long:
        start = time.perf_counter()
        answer(text)
        assert time.perf_counter() - start < HANGS, text[:80]
