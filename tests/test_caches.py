"""Caches in the order of a file, and sizes that go together in every phase."""

from __future__ import annotations

import pytest
from checking import one, right, wrong
from head_of_layer import last, second, source

from layoutc.dsl.check import Settings


@pytest.mark.parametrize(
    ("text", "column", "message", "hint"),
    [
        (
            "k1 = write[M](kc, k, pos)\nk2 = write[M](kc, k, pos)",
            15,
            "kc was written to: it is k1 from there on",
            "write k1",
        ),
        (
            "k1 = write[M](kc, k, pos)\nr = neg(kc)",
            9,
            "kc was written to: it is k1 from there on",
            "write k1",
        ),
        (
            "k1 = write[M](kc, k, pos)\nk2 = write[M](k1, k, pos)\nr = neg(kc)",
            9,
            "kc was written to: it is k2 from there on",
            "write k2",
        ),
        (
            "output kc\nk1 = write[M](kc, k, pos)",
            8,
            "kc was written to: it is k1 from there on",
            "write k1",
        ),
        ("kc = write[M](kc, k, pos)\nr = neg(kc)", 1, "kc is defined twice", "choose another name"),
        (
            "repeat 2 {\nk1 = write[M](kc, k, pos)\n}",
            15,
            "kc is written in a repeat and stands outside of it",
            "declare it inside, where a cache is a stack: one for each repetition",
        ),
        (
            "k1 = neg(kc)\nk2 = write[M](k1, k, pos)",
            15,
            "k1 is no cache",
            "only what is declared as one is written to:  cache NAME : SHAPE",
        ),
        (
            "input c : BMKQ\nk1 = write[M](c, k, pos)",
            15,
            "c is no cache",
            "declare it as one:  cache c : BMKQ",
        ),
    ],
)
def test_what_is_refused(text: str, column: int, message: str, hint: str) -> None:
    error = last(text)
    assert (error.span.start, error.message, error.hint) == (column, message, hint)
    assert second(text)


def test_a_cache_that_there_is_not_is_reported_once() -> None:
    text = "k1 = write[M](cc, k, pos)\nk2 = write[M](cc, k, pos)"
    assert [error.message for error in wrong(source(text))] == ["cc is not defined"]


STACK = """\
dims B=8 L=4 M=64 K=4
mesh x
input pos : B int32
input k : BLK?
input x : BMK?
repeat 2 {
cache c : BMK?
k1 = write[M](c, k, pos)
k2 = write[M](k1, k, pos)
"""


def test_a_cache_in_a_block_is_a_stack() -> None:
    program = right(STACK + "y = x + k2\nnext x = y\n}\noutput x\n")
    assert program.written == {"c": "k2"}


def test_what_is_carried_is_carried_at_the_end() -> None:
    text = STACK.replace("k2 =", "next x = k1\nk2 =") + "}\noutput x\n"
    assert one(text) == (9, 10, "k1 was written to: it is k2 from there on")


HOLES = """\
dims B=8 L=4 M=64 K=4
mesh x y
input pos : B int32
input k : BLK?
cache c : BM_xK
"""


def test_a_cache_is_held_alike_before_and_after() -> None:
    (error,) = wrong(HOLES + "k1 : BMK_x = write[M](c, k, pos)\noutput k\n")
    assert (error.span.line, error.span.start) == (6, 6)
    assert error.message == "a cache is held alike before and after: c as BM_xK, not BMK_x"
    assert error.hint == "write BM_xK"
    assert error.notes[0][0].line == 5
    for shape in ("BM_xK", "BM_x?", "BMK?"):
        right(HOLES + f"k1 : {shape.replace('BM_x?', 'BM_xK?')} = write[M](c, k, pos)\noutput k\n")


@pytest.mark.parametrize(
    ("annotation", "operation", "message"),
    [
        ("BLK(partialsum-x)", "softmax[K](k)", "softmax does not give a partial sum"),
        ("BLK(partialmax-x)", "scale[K](k)", "scale does not give a partial maximum"),
        ("BMK(partialsum-x)", "write[M](c, k, pos)", "write does not give a partial sum"),
    ],
)
def test_what_no_layout_makes_partial(annotation: str, operation: str, message: str) -> None:
    text = f"{HOLES}y : {annotation} = {operation}\noutput k\n"
    assert one(text) == (6, 5, message)


# Sizes.

PHASES = """\
dims B=2 L M {dims}
mesh x
phase prefill : {prefill}
phase decode : {decode}
input k : BLQ
cache c : BMQ
input pos : B int32
y = {operation}
output k
"""


@pytest.mark.parametrize(
    ("dims", "prefill", "decode", "operation", "column", "message", "hint", "place"),
    [
        (
            "Q=4",
            "L=8 M=4",
            "L=1 M=4",
            "write[M](c, k, pos)",
            5,
            "L=8 tokens do not fit in M=4 places in prefill",
            "M=8 would do",
            (3, 21),
        ),
        (
            "Q=4 K=8",
            "L=8",
            "L=1",
            "rename[L -> K](k)",
            12,
            "L=1 is not renamed to K=8 in decode: a tensor keeps its size",
            "K=1 would do",
            (1, 18),
        ),
        (
            "Q=4 K=8",
            "L=8",
            "L=1",
            "rename[Q -> K](k)",
            12,
            "Q=4 is not renamed to K=8: a tensor keeps its size",
            "K=4 would do",
            (1, 18),
        ),
        (
            "Q=3 padded 4 K=4",
            "L=8",
            "L=1",
            "rename[Q -> K](k)",
            12,
            "Q=3 padded 4 is not renamed to K=4: a tensor keeps its size",
            "K=3 padded 4 would do",
            (1, 27),
        ),
        (
            "Q",
            "Q=3",
            "Q=4",
            "rope[Q](k, pos)",
            10,
            "rope turns pairs of Q, and Q=3 in prefill is odd",
            "Q=4 would do",
            (3, 17),
        ),
        (
            "Q=3",
            "L=8",
            "L=1",
            "rope[Q, theta=5](k, pos)",
            10,
            "rope turns pairs of Q, and Q=3 is odd",
            "Q=4 would do",
            (1, 14),
        ),
        (
            "Q=3 padded 4",
            "L=8",
            "L=1",
            "rope[Q](k, pos)",
            10,
            "rope turns pairs that lie half of Q apart, so Q can't be padded",
            "",
            (1, 14),
        ),
    ],
)
def test_sizes_that_do_not_go_together(
    dims: str,
    prefill: str,
    decode: str,
    operation: str,
    column: int,
    message: str,
    hint: str,
    place: tuple[int, int],
) -> None:
    text = PHASES.format(dims=dims, prefill=prefill, decode=decode, operation=operation)
    (error,) = wrong(text)
    assert (error.span.line, error.span.start) == (8, column)
    assert (error.message, error.hint) == (message, hint)
    ((noted, _),) = error.notes
    assert (noted.line, noted.start) == place


def test_each_phase_in_which_sizes_clash_is_named() -> None:
    text = PHASES.format(
        dims="Q=4", prefill="L=8 M=4", decode="L=9 M=4", operation="write[M](c, k, pos)"
    )
    assert [error.message.partition("places ")[2] for error in wrong(text)] == [
        "in prefill",
        "in decode",
    ]


@pytest.mark.parametrize(
    ("dims", "prefill", "decode", "operation"),
    [
        ("Q=4", "L=8 M=8", "L=1 M=4", "write[M](c, k, pos)"),
        ("Q=3 padded 4 K=3 padded 4", "L=8", "L=1", "rename[Q -> K](k)"),
        ("Q K=3", "L=8", "L=1", "rename[Q -> K](k)"),
        ("Q=4", "L=8 M=8", "L=1 M=1", "rename[L -> M](k)"),
    ],
)
def test_sizes_that_do(dims: str, prefill: str, decode: str, operation: str) -> None:
    right(PHASES.format(dims=dims, prefill=prefill, decode=decode, operation=operation))


def test_what_the_command_line_sizes_is_looked_at_too() -> None:
    text = PHASES.format(
        dims="Q=4", prefill="L=8 M=8", decode="L=1 M=8", operation="write[M](c, k, pos)"
    )
    settings = Settings(phases={"decode": {"L": 9}})
    (error,) = wrong(text, settings)
    assert error.message == "L=9 tokens do not fit in M=8 places in decode"
