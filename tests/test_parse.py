"""Reading a file: places of what was read, and what is said of what could not be."""

from __future__ import annotations

import pytest

from layoutc.dsl import syntax
from layoutc.dsl.errors import Diagnostic, Span
from layoutc.dsl.parse import LONGEST_LINE, MOST_STATEMENTS, parse
from layoutc.dsl.source import LARGEST_FILE, decode

PARTIAL = "a partial sum or maximum"
OPERAND = "a name, a number or a collective"


def only(text: str) -> syntax.Statement:
    file = parse(text, "a.layout")
    assert not file.errors
    (statement,) = file.statements
    return statement


def refused(text: str) -> list[tuple[int, int, str, str]]:
    errors = parse(text, "a.layout").errors
    return [(e.span.line, e.span.start, e.message, e.hint) for e in errors]


def test_every_part_of_a_shape_has_its_place() -> None:
    line = only("h : BL_yzE_{xw}(partialsum-v)? bf16 = a * b")
    assert isinstance(line, syntax.DefineLine)
    assert line.annotation
    shape = line.annotation.shape
    assert [(d.name.text, d.span) for d in shape.dims] == [
        ("B", Span(1, 5, 6)),
        ("L", Span(1, 6, 10)),
        ("E", Span(1, 10, 16)),
    ]
    assert shape.dims[2].braces
    assert shape.dims[1].axes[1] == syntax.Word("z", Span(1, 9, 10))
    assert shape.dims[2].axes[1] == syntax.Word("w", Span(1, 14, 15))
    assert shape.partial
    assert shape.partial.span == Span(1, 16, 30)
    assert shape.partial.axes[0].span == Span(1, 28, 29)
    assert shape.hole == syntax.Word("?", Span(1, 30, 31))
    assert line.annotation.dtype == syntax.Word("bf16", Span(1, 32, 36))


def test_a_collective_has_the_place_of_its_axes() -> None:
    line = only("  x1 = all-gather(yz) x")
    assert isinstance(line, syntax.DefineLine)
    move = line.operation
    assert isinstance(move, syntax.Moving)
    assert (move.span, move.axes_span) == (Span(1, 8, 24), Span(1, 19, 21))
    assert [a.span.start for a in move.axes] == [19, 20]


@pytest.mark.parametrize(
    "text",
    [
        "dims B=512 L = 1 E",
        "dims H=48 padded 64",
        "mesh d:data t:model=8 x=4 y",
        "dtype bf16",
        "order free",
        "phase decode : B=512  L=1  weight=64",
        "cache kc : BMKQ?",
        "y : BLE? = a",
        "y = a - -1.5e-3",
        "y=a*b # product",
        "s = sum[B, L](a)",
        "n = rmsnorm[E, eps=1e-6](x, s)",
        "r = rename[L -> M](k)",
        "output a, b",
        "output y -> x",
        "y\t=\ta\r",
        "all = reduce - scatter",
    ],
)
def test_what_is_read(text: str) -> None:
    only(text)


def test_comments_and_blank_lines_are_kept() -> None:
    file = parse("# top\n\nx1 = a # why\n", "dir/ffn.layout")
    assert file.name == "ffn"
    assert [line.comment for line in file.lines] == ["# top", "", "# why", ""]


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("y = a * b * c", 11, "one operation to a statement"),
        ("y = gelu(a * b)", 12, "one operation to a statement; operands are names or numbers"),
        ("y = gelu(a) + b", 13, "one operation to a statement"),
        ("y = a @ b", 7, "unexpected `@`: a product is written a * b"),
        ("y = all-gather x", 16, "all-gather names its axes in parentheses, one letter each"),
        ("y = allgather(x) a", 18, "there is no allgather"),
        ("y =", 4, f"the line ends too early: expected {OPERAND}"),
        ("y : BLE_ = a", 10, "unexpected `=`: after `_` come the axes that split the dim"),
        ("y : ble = a", 5, "unexpected `ble`: a shape starts with a dim, which is a capital"),
        ("y : BL E_x = a", 5, "a shape is written without spaces"),
        (
            "y : BLE(sum-x) = a",
            8,
            "only a partial sum or maximum stands in parentheses after a shape",
        ),
        ("dims B, L", 7, "what dims lists is separated by spaces"),
        ("dims = a", 6, "dims is a word of the language, not a name"),
        ("repeat 3", 9, "the line ends too early: expected `{`"),
        ("repeat 3 { y = a }", 12, "`{` ends its line"),
        ("y = a }", 7, "`}` stands alone on its line"),
        ("s = sum[f](a)", 10, "what stands in brackets are dims, which are capitals"),
        ("output", 7, "the line ends too early: expected a name"),
        (
            "y = \u2003a",
            5,
            "unexpected character U+2003: expected a name, a number or a collective",
        ),
    ],
)
def test_what_is_not_read(text: str, column: int, message: str) -> None:
    assert (1, column, message) in [error[:3] for error in refused(text)]


def test_fixes_are_named() -> None:
    assert refused("y = allgather(x) a")[0][3] == "did you mean all-gather?"
    assert refused("x : BL E_x = a")[0][3] == "write BLE_x"
    assert refused("y = a * b * c")[0][3] == "give the first a name of its own:  NAME = a * b"


def test_one_bad_line_hides_no_other() -> None:
    text = "input x BLE\ninput y : BLE\nz = = y\nrepeat 2 {\nz : = y\n}\n"
    assert [(line, column) for line, column, *_ in refused(text)] == [(1, 9), (3, 5), (5, 5)]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("repeat 2 {\nrepeat 3 {\na = b\n}\n", 2, "a repeat does not stand inside a repeat"),
        ("a = b\n}\n", 2, "`}` closes nothing: no repeat is open"),
        ("repeat 2 {\na = b\n", 1, "this block is not closed"),
    ],
)
def test_blocks_are_balanced(text: str, line: int, message: str) -> None:
    assert (line, 1, message) in [error[:3] for error in refused(text)]


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n", " \t\r\n"])
def test_an_empty_file(text: str) -> None:
    assert refused(text) == [(1, 1, "the file is empty: it has no statement", "")]


def test_files_that_are_too_large() -> None:
    (many,) = refused("a = b\n" * (MOST_STATEMENTS + 1))
    assert many[:2] == (1, 1)
    assert "2001 statements" in many[2]
    (long,) = refused("a = b\n" + "a" * (LONGEST_LINE + 1))
    assert long[:2] == (2, 1)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xff\xfe\x00", "this is not text: byte 1 is not UTF-8"),
        (b"dims \0 B", "this is not text: it has NUL characters"),
        (b" " * (LARGEST_FILE + 1), "the file is too large: at most 1 MiB is read"),
    ],
)
def test_bytes_that_are_no_file(data: bytes, message: str) -> None:
    assert decode(data) == Diagnostic(message, Span(1, 1, 1))


def test_byte_order_marks_and_line_ends() -> None:
    text = decode("\ufeffdims B\r\noutput y\rmesh x".encode())
    assert isinstance(text, str)
    assert len(parse(text, "a").statements) == 3
    assert not parse(text, "a").errors
