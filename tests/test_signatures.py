"""How the operations of a Transformer layer are written, and what is said where they are not so."""

from __future__ import annotations

import pytest
from checking import right
from head_of_layer import last

from layoutc.dsl.operation import LayerKind
from layoutc.dsl.signatures import SIGNATURES, example

KINDS = list(SIGNATURES)


@pytest.mark.parametrize("kind", KINDS)
def test_what_hints_show_is_right(kind: LayerKind) -> None:
    """An example can be typed in as it stands, given the operands that it names."""
    given = """\
dims   B=8 L=4 M=4 E=32 V=128 K=4 G=2 Q=16
input  ids   : BL int32
input  pos   : B int32
input  len   : B int32
weight table : VE
weight g     : E
weight b     : E
input  x     : BLE
input  q     : BLKGQ
input  k     : BLKQ
cache  kc    : BMKQ
input  s     : BLKGM
"""
    right(f"{given}y = {SIGNATURES[kind].example}\noutput y\n")


@pytest.mark.parametrize("kind", KINDS)
def test_too_many_operands_are_answered_with_an_example(kind: LayerKind) -> None:
    assert last(f"y = {kind}[M](s, s, s, s)").hint == example(kind)


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("p1 = softmax(s)", 6, "softmax takes one dim in brackets"),
        ("p1 = softmax[M, L](s)", 14, "softmax takes one dim in brackets, not two"),
        ("p1 = softmax[W](s)", 14, "dim W is not declared"),
        ("p1 = softmax[M](s, s)", 6, "softmax takes one operand, not two"),
        ("p1 = softmax[M, eps=1](s)", 17, "softmax has no eps"),
        ("p1 = softmax[L -> M](s)", 14, "softmax takes one dim in brackets, not two"),
        ("p1 = softmax[M](2)", 6, "at least one operand of an operation is a name"),
        ("r = rope[theta=1](q, pos)", 5, "rope takes one dim in brackets"),
        ("r = rope[Q, theta=0](q, pos)", 19, "theta is a number above zero"),
        ("r = rope[Q, theta=1e999](q, pos)", 19, "this number is larger than any float"),
        ("r = rope[Q, theta=1, theta=2](q, pos)", 22, "theta stands twice"),
        ("r = rope[Q](q)", 5, "rope takes two operands, not one"),
        ("r = rope[Q](2, pos)", 13, "this operand of rope is a name, not a number"),
        ("r = rope[Q](q, 1.5)", 16, "a position is a whole number, zero or more, below 2^31"),
        ("r = rope[Q](q, -1)", 16, "a position is a whole number, zero or more, below 2^31"),
        (
            "s1 = valid[M](s, 2147483648)",
            18,
            "a length is a whole number, zero or more, below 2^31",
        ),
        ("k1 = write[M](kc, 2, pos)", 19, "this operand of write is a name, not a number"),
        ("k1 = write[M](kc, k)", 6, "write takes three operands, not two"),
        ("e = embed[V](table, 3)", 21, "this operand of embed is a name, not a number"),
        ("n = rmsnorm[E, theta=1](a)", 16, "rmsnorm has no theta"),
        ("n = rmsnorm[E, eps=-1](a)", 20, "eps is a number above zero"),
        ("n = rmsnorm[E](a, g, g)", 5, "rmsnorm takes one or two operands, not three"),
        ("n = layernorm[E](a, g, g, g)", 5, "layernorm takes one, two or three operands, not 4"),
        ("s1 = causal[M](s, pos)", 13, "causal takes two dims in brackets, not one"),
        (
            "s1 = causal[L -> M](s, pos)",
            13,
            "an arrow renames a dim; the dims of causal are separated by commas",
        ),
        ("s1 = causal[L, L](s, pos)", 16, "dim L stands twice in causal"),
        ("r = rename(k)", 5, "rename takes two dims in brackets"),
        ("r = rename[L](k)", 12, "rename takes two dims in brackets, not one"),
        ("r = rename[L, M](k)", 12, "rename says with an arrow which dim becomes which"),
        ("r = rename[L -> L](k)", 17, "dim L stands twice in rename"),
        ("r = rename[L -> M, K -> G](k)", 12, "rename takes two dims in brackets, not 4"),
    ],
)
def test_calls_that_are_refused(text: str, column: int, message: str) -> None:
    error = last(text)
    assert (error.span.start, error.message) == (column, message)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("r = rename[L, M](k)", "write rename[L -> M](k)"),
        ("s1 = causal[L -> M](s, pos)", "write causal[L, M](s, pos)"),
        ("r = rope[Q, theta=1, theta=2](q, pos)", ""),
        ("p1 = softmax(s)", "as in softmax[M](s)"),
    ],
)
def test_fixes(text: str, hint: str) -> None:
    assert last(text).hint == hint


def test_a_number_of_many_digits_is_none() -> None:
    assert last(f"r = rope[Q](q, {'9' * 5000})").message == "this number is larger than any float"


# What does not parse.


@pytest.mark.parametrize(
    ("text", "column", "message", "hint"),
    [
        (
            "softmax[M](s)",
            8,
            "what softmax gives needs a name",
            "give it one:  NAME = softmax[M](s)",
        ),
        (
            "rope[Q, theta=1](q, pos)",
            5,
            "what rope gives needs a name",
            "give it one:  NAME = rope[Q, theta=1](q, pos)",
        ),
        (
            "kc[M] = k",
            3,
            "a name is defined whole, not in part",
            "a cache is written to by an operation:  NAME = write[M](kc, k, pos)",
        ),
        (
            "p1 = 2 * softmax[M](s)",
            17,
            "one operation to a statement",
            "give the second a name of its own:  NAME = softmax[M](s)",
        ),
        (
            "p1 = softmax[M] s",
            17,
            "what an operation takes stands in parentheses",
            "write softmax[M](s)",
        ),
        (
            "p1 = softmax[M]",
            16,
            "what an operation takes stands in parentheses",
            "as in softmax[M](s)",
        ),
        (
            "e = embed[V] table, ids",
            14,
            "what an operation takes stands in parentheses",
            "write embed[V](table, ids)",
        ),
        (
            "p1 = softmax[m](s)",
            15,
            "what stands in brackets are dims, which are capitals",
            "as in softmax[M](s)",
        ),
        (
            "p1 = softmax(s, M)",
            17,
            "M is a dim and no operand; dims stand in brackets",
            "as in softmax[M](s)",
        ),
        (
            "n = rmsnorm[E](a, eps=1e-5)",
            22,
            "eps is no operand; what is named stands in brackets",
            "as in rmsnorm[E, eps=1e-6](x, g)",
        ),
        (
            "n = rmsnorm[E, 1e-5](a)",
            16,
            "1e-5 has no name here",
            "as in rmsnorm[E, eps=1e-6](x, g)",
        ),
        (
            "r = rope[Q, theta](q, pos)",
            18,
            "theta has no value here",
            "as in rope[Q, theta=10000](q, pos)",
        ),
        (
            "r = rope[Q, theta=](q, pos)",
            19,
            "what follows `=` in brackets is a number",
            "as in rope[Q, theta=10000](q, pos)",
        ),
        ("r = rope[Q, theta=10_000](q, pos)", 21, "unexpected `_`: a number has digits alone", ""),
        (
            "r = rope[Q theta=1](q, pos)",
            12,
            "what stands in brackets is separated by commas",
            "as in rope[Q, theta=10000](q, pos)",
        ),
        ("r = rope[Q](q pos)", 15, "operands are separated by commas", ""),
        (
            "s1 = causal[LM](s, pos)",
            14,
            "what stands in brackets is separated by commas",
            "as in causal[L, M](s, pos)",
        ),
        (
            "r = rename[L->](k)",
            15,
            "rename says with an arrow which dim becomes which, and dims are capitals",
            "as in rename[L -> M](k)",
        ),
        (
            "r = rename[L > M](k)",
            14,
            "rename says with an arrow which dim becomes which, and dims are capitals",
            "write rename[L -> M]",
        ),
        (
            "r = rename[L to M](k)",
            14,
            "rename says with an arrow which dim becomes which, and dims are capitals",
            "write rename[L -> M]",
        ),
        (
            "r = rename[l -> m](k)",
            14,
            "rename says with an arrow which dim becomes which, and dims are capitals",
            "as in rename[L -> M](k)",
        ),
        (
            "r = rename[L -> M] k",
            20,
            "what an operation takes stands in parentheses",
            "write rename[L -> M](k)",
        ),
    ],
)
def test_calls_that_do_not_parse(text: str, column: int, message: str, hint: str) -> None:
    error = last(text)
    assert (error.span.start, error.message, error.hint) == (column, message, hint)
