"""What the checker accepts and refuses, operation by operation: line, column and words."""

from __future__ import annotations

import pytest
from helpers.checking import HEAD, MADE, one, right, wrong


def layout(text: str) -> str:
    """How the last name of a program is held."""
    return str(list(right(HEAD + text + "\noutput x\n").types.values())[-1].shape)


def refusal(text: str) -> tuple[int, int, str]:
    return one(HEAD + text + "\noutput x\n")


# What is accepted.


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("q : BLE_xyzF = x * bias", "BLE_xyzF"),
        (MADE, "BLF_yz(partialsum-x)"),
        ("q : BLF_yz(partialsum-x) = w_in * a", "BLF_yz(partialsum-x)"),
        ("q = h * 2", "BLF_yz"),
        ("q = 1 + h", "BLF_yz"),
        ("q = h + bias", "BLF_yz"),
        ("q = bias + h", "F_yzBL"),
        ("q : BLF_yz = bias + h", "BLF_yz"),
        ("q = gelu(h)", "BLF_yz"),
        ("q : BLF_yz f32 = cast(h)", "BLF_yz"),
        ("q = sum[F](h)", "BL(partialsum-yz)"),
        ("q = mean[F](h)", "BL(partialsum-yz)"),
        ("q = max[F](h)", "BL(partialmax-yz)"),
        ("q = sum[B, L](h)", "F_yz"),
        ("q = all-gather(yz) x", "BLE_x"),
        ("q = all-gather(zyx) x", "BLE"),
        ("q = all-gather(xz) w_in", "EF_y"),
        ("q : B_zLF_y = all-to-all(z) h", "B_zLF_y"),
        ("q : B_xLF_yz = slice(x) h", "B_xLF_yz"),
        ("q : BLF_zy = permute(yz) h", "BLF_zy"),
        ("q = h", "BLF_yz"),
        # one operand split over a dim, the other whole: the other's own part is used
        ("q = h * bias", "BLF_yz"),
        ("q : BL(partialsum-yz) = h * bias", "BL(partialsum-yz)"),
        # a dim of one operand only is summed: whole on each chip, then split
        ("u = all-gather(x) a\nq : BLF = u * bias", "BLF"),
        ("q : BLF(partialsum-x) = a * bias", "BLF(partialsum-x)"),
        # partial sums: linear maps, and sums of two over the same axes
        (MADE + "q = p + p", "BLF_yz(partialsum-x)"),
        (MADE + "q = p - p", "BLF_yz(partialsum-x)"),
        (MADE + "q = neg(p)", "BLF_yz(partialsum-x)"),
        (MADE + "q = p * 2", "BLF_yz(partialsum-x)"),
        (MADE + "q = p / 2", "BLF_yz(partialsum-x)"),
        (MADE + "q = p * bias", "BLF_yz(partialsum-x)"),
        (MADE + "q = p / bias", "BLF_yz(partialsum-x)"),
        (MADE + "q = sum[B](p)", "LF_yz(partialsum-x)"),
        (MADE + "q : BLF_yz(partialsum-x) f32 = cast(p)", "BLF_yz(partialsum-x)"),
        (MADE + "q = all-reduce(x) p", "BLF_yz"),
        (MADE + "q : BLF_yzx = reduce-scatter(x) p", "BLF_yzx"),
        (MADE + "q : B_xLF_yz = reduce-scatter(x) p", "B_xLF_yz"),
        (MADE + "q = all-gather(z) p", "BLF_y(partialsum-x)"),
        ("m = max[F](h)\nq = max[B](m)", "L(partialmax-yz)"),
        ("m = max[F](h)\nq = all-reduce(yz) m", "BL"),
    ],
)
def test_layouts_that_follow(text: str, shape: str) -> None:
    assert layout(text) == shape


# What is refused: section 5 of the language, item by item.


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        # names, dims, axes
        ("q = gelu(hh)", 10, "hh is not defined"),
        ("q : BLK = gelu(h)", 7, "dim K is not declared"),
        ("q : BLF_w = gelu(h)", 9, "axis w is not declared"),
        ("h = gelu(x)", 1, "h is defined twice"),
        ("dims B", 6, "dim B is declared twice"),
        ("mesh w", 1, "a file has one mesh line"),
        ("input q : BB", 12, "dim B stands twice in a shape"),
        ("input q : B_xL_x", 16, "axis x stands twice in a shape"),
        ("q : BL_x(partialsum-x) = sum[F](h)", 21, "axis x stands twice in a shape"),
        ("gelu = neg(h)", 1, "gelu is a word of the language, not a name"),
        ("q = gelu(q)", 10, "q is defined by itself"),
        # operations
        ("q = gelo(h)", 5, "there is no operation gelo"),
        ("q = gelu(h, a)", 5, "gelu takes one operand, not 2"),
        ("q = gelu[F](h)", 10, "gelu takes nothing in brackets"),
        ("q = sum(h)", 5, "sum says over which dims, in brackets"),
        ("q = sum[E](h)", 9, "h has no dim E; its dims are BLF"),
        ("q = sum[B, B](h)", 12, "dim B stands twice in sum"),
        ("q = sum[B, L](w_in)", 9, "w_in has no dims B and L; its dims are EF"),
        ("q = sum[B, L, F](h)", 9, "sum[B, L, F](h) leaves no dim; at least one remains"),
        ("q = 1 + 2", 5, "at least one operand of an operation is a name"),
        ("q = gelu(2)", 5, "at least one operand of an operation is a name"),
        ("q = h * 1e999", 9, "this number is larger than any float"),
        # products
        ("q : BE_x = h * bias", 5, "E is a dim of neither h nor bias"),
        (
            "q = a * w_in",
            5,
            "which dims a * w_in sums does not follow: BLE and EF each have a dim that the other "
            "lacks",
        ),
        ("q : BLEF = x * h", 12, "x is split over y on E and h on F: no chip holds E and F of the"),
        ("q = h * zy", 5, "F is split over yz in h and over zy in zy: one order has to begin"),
        (
            "q : BLF_yz = a * w_in",
            5,
            "this gives BLF_yz(partialsum-x), not BLF_yz: it follows",
        ),
        ("q : BLE_y = gelu(a)", 5, "this gives BLE_x, not BLE_y: it follows from a : BLE_x"),
        ("q : BLF = gelu(a)", 5, "gelu(a) has the dims BLE, not BLF"),
        # collectives
        (
            "q = all-gather(y) a",
            16,
            "a : BLE_x is not split over y; all-gather has no part to",
        ),
        ("q = all-gather(x) x", 16, "all-gather(x) of BLE_xyz: x is not at the end of E_xyz"),
        ("q = all-gather(yy) x", 17, "axis y stands twice in all-gather"),
        ("q = all-gather(w) x", 16, "axis w is not declared"),
        ("q = all-reduce(x) a", 16, "a : BLE_x is not partial over x; it is split over x"),
        ("q : BLF_yzx = slice(y) h", 21, "h : BLF_yz is not whole over y; slice keeps"),
        ("q : BLF_yz = permute(xy) h", 22, "permute(xy) reorders the axes of one dim; no dim of h"),
        ("q : BLF_y = all-to-all(z) h", 5, "all-to-all(z) puts its axes on the end of one dim"),
        # dtypes
        ("q : BLF_yz f31 = cast(h)", 12, "f31 is not a dtype"),
        ("q : BLF_yz f32 = gelu(h)", 12, "gelu(h) is bf16, as h is, not f32"),
        ("q : BLF_yz f32 = h", 12, "h is bf16, as h is, not f32"),
        ("q = cast(h)", 5, "what a cast is to is not said"),
        ("dtype f32", 1, "the dtype line stands before what it speaks of"),
        ("order free", 1, "the order line stands before what it speaks of"),
        # declarations and outputs
        ("input q : BE(partialsum-x)", 13, "an input is never partial: q comes whole"),
        ("weight q : BE(partialsum-x)", 14, "a weight is never partial: q comes whole"),
        ("cache q : BE(partialmax-x)", 13, "a cache is never partial: q comes whole"),
        ("weight q : BE(partialsum-x)!", 14, "a weight is never partial: q comes whole"),
        ("output h -> a", 8, "h is to be held like a, but it has the dims BLF, not BLE"),
        ("output a -> x", 8, "a is to be held like x, but it is held as BLE_x, not BLE_xyz"),
        ("output a, a", 11, "a is an output already"),
        ("next x = a", 1, "next stands inside of a repeat"),
    ],
)
def test_what_is_refused(text: str, column: int, message: str) -> None:
    found = [(e.span.line, e.span.start, e.message) for e in wrong(HEAD + text + "\noutput x\n")]
    assert any(at[:2] == (10, column) and at[2].startswith(message) for at in found), found


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("q = gelu(p)", 5, "p is a partial sum over x; gelu needs the sum itself"),
        ("q = p * p", 5, "p is a partial sum over x; its square needs the sum itself"),
        (
            "q = p + bias",
            5,
            "p is a partial sum over x and bias is not: bias would be added once on each chip "
            "along x",
        ),
        ("q = p + 1", 5, "p is a partial sum over x; a number beside it needs the sum itself"),
        ("q = 1 / p", 5, "p is a partial sum over x; dividing by it needs the sum itself"),
        ("q = h / p", 5, "p is a partial sum over x; dividing by it needs the sum itself"),
        ("q = max[B](p)", 5, "p is a partial sum over x; max needs the sum itself"),
        (
            "q : BLF_yz(partialsum-x) f16 = cast(p)",
            32,
            "p is a partial sum over x; a cast from bf16 to f16 needs the sum itself",
        ),
        (
            "q : BLFE_x = p * a",
            14,
            "p is a partial sum over x and a is split over x: the product would miss the terms of "
            "the other chips",
        ),
        ("q : BLF_xyz = reduce-scatter(x) p", 5, "reduce-scatter(x) of BLF_yz(partialsum-x) gives"),
        (
            "q = all-gather(x) p",
            16,
            "p : BLF_yz(partialsum-x) is not split over x but partial",
        ),
        ("q = all-reduce(y) p", 16, "p : BLF_yz(partialsum-x) is not partial over y; it is split"),
        ("output p", 8, "p is a partial sum over x; an output is never partial"),
    ],
)
def test_partial_sums_that_are_not_summed(text: str, column: int, message: str) -> None:
    (error,) = wrong(HEAD + MADE + text + "\noutput x\n")
    assert (error.span.line, error.span.start) == (11, column)
    assert error.message.startswith(message)
    assert not error.notes or error.notes[0][0].line == 10


def test_partial_maxima_go_into_maxima_alone() -> None:
    text = "m = max[F](h)\nq = neg(m)\noutput x\n"
    message = "m is a partial maximum over yz; neg needs the maximum itself"
    assert one(HEAD + text) == (11, 5, message)


def test_a_refusal_names_the_statement_that_is_missing() -> None:
    (error,) = wrong(HEAD + MADE + "q = gelu(p)\noutput q\n")
    assert error.hint == "add before it:  p1 : BLF_yzx = reduce-scatter(x) p"
    ((place, note),) = error.notes
    assert (place.line, place.start, place.end) == (10, 11, 25)
    assert note == "made here: E is split over x in both operands"


def test_one_mistake_is_reported_once() -> None:
    text = "q = gelu(hh)\nr = neg(q)\ns = r * hh\ninput t : BK\nu = neg(t)\noutput u -> t, s\n"
    assert [e.span.line for e in wrong(HEAD + text)] == [10, 13]


def test_a_line_that_was_not_read_has_no_echo() -> None:
    text = "q = = h\nr = neg(q)\nd = neg(k)\noutput r\n"
    assert [e.span.line for e in wrong(HEAD + text)] == [10, 12]
    broken = "dims B=512, L\nmesh x\ninput x : BL_x\noutput x\n"
    assert [e.span.line for e in wrong(broken)] == [1]


def test_all_errors_are_reported_in_order() -> None:
    text = "q = gelu(hh)\nr : BLK = neg(h)\ns = t *\noutput v\n"
    found = wrong(HEAD + text)
    assert [(e.span.line, e.span.start) for e in found] == [(10, 10), (11, 7), (12, 8), (13, 8)]


def test_hints_at_what_was_meant() -> None:
    assert wrong(HEAD + "q = gelu(w_inn)\noutput x\n")[0].hint == "did you mean w_in?"
    assert wrong(HEAD + "q = gleu(h)\noutput x\n")[0].hint == "did you mean gelu?"
    assert wrong(HEAD + "q : BLF_yz bf61 = cast(h)\noutput x\n")[0].hint == "did you mean bf16?"


def test_what_comes_too_late() -> None:
    late = "mesh x\ninput x : B\ndims B\noutput x\n"
    assert one(late) == (2, 11, "dim B is declared only further down")
    text = "q = gelu(r)\nr = gelu(h)\noutput x\n"
    assert one(HEAD + text) == (10, 10, "r is defined only further down")


def test_a_dim_is_not_the_size_of_an_axis() -> None:
    (error,) = wrong("dims X B\nmesh x y\ninput a : B_y\noutput a\n")
    assert (error.span.line, error.span.start) == (2, 6)
    assert error.message == "X is both a dim and the size of mesh axis x"
    assert error.notes[0][0].start == 6


def test_a_program_has_an_output() -> None:
    (error,) = wrong(HEAD + "q = gelu(h)\n")
    assert (error.span.line, error.message) == (10, "the program has no output")
    assert error.hint == "add at the end:  output q"
