"""How an error is shown: the place underlined, the second place, the fix."""

from __future__ import annotations

from layoutc.dsl.check import check
from layoutc.dsl.errors import Diagnostic, Span, count, in_order, render, to_json
from layoutc.dsl.parse import parse

PROGRAM = """\
dims B=512 L=1 E=18432 F=73728
mesh x y z
input  x    : BLE_xyz
weight w_in : E_xF_yz
x1 : BLE_x = all-gather(yz) x
h : BLF_yz(partialsum-x) = x1 * w_in

# the sum is missing
g = gelu(h)
output g
"""


def test_two_places_and_a_fix() -> None:
    errors = check(parse(PROGRAM, "mine.layout"))
    assert isinstance(errors, list)
    assert render(errors, PROGRAM, "mine.layout") == (
        "mine.layout:9:5: error: h is a partial sum over x; gelu needs the sum itself\n"
        "  9 | g = gelu(h)\n"
        "    |     ^^^^^^^\n"
        "  6 | h : BLF_yz(partialsum-x) = x1 * w_in\n"
        "    |           ^^^^^^^^^^^^^^ made here: E is split over x in both operands\n"
        "  add before it:  h1 : BLF_yzx = reduce-scatter(x) h\n"
    )


def shown(source: str, span: Span, note: str = "") -> list[str]:
    notes = ((span, note),) if note else ()
    return render([Diagnostic("m", span, notes=notes)], source, "f").splitlines()[1:]


def test_line_numbers_share_a_gutter() -> None:
    source = "a\n" * 20
    error = Diagnostic("m", Span(12, 1, 2), notes=((Span(3, 1, 2), "here"),))
    assert render([error], source, "f").splitlines()[1:] == [
        "  12 | a", "     | ^", "   3 | a", "     | ^ here",
    ]  # fmt: skip


def test_tabs_count_as_a_column() -> None:
    assert shown("a\t= b\r\n", Span(1, 5, 6)) == ["  1 | a = b", "    |     ^"]


def test_wide_characters_take_two_columns() -> None:
    assert shown("漢字 é = b", Span(1, 4, 5)) == ["  1 | 漢字 é = b", "    |      ^"]
    assert shown("漢字 = b", Span(1, 1, 3)) == ["  1 | 漢字 = b", "    | ^^^^"]


def test_combining_marks_take_none() -> None:
    assert shown("e\u0301 = b", Span(1, 4, 5))[1] == "    |   ^"


def test_long_lines_are_shown_in_part() -> None:
    line, caret = shown("a" * 500 + "!" + "b" * 500, Span(1, 501, 502))
    assert line[caret.index("^")] == "!"
    assert len(line) < 120
    line, caret = shown("a" * 9000, Span(1, 1, 9001))
    assert len(caret) < 120


def test_the_end_of_a_line_can_be_pointed_at() -> None:
    assert shown("y =", Span(1, 4, 5)) == ["  1 | y =", "    |    ^"]
    assert shown("", Span(1, 1, 1)) == []
    assert shown("y", Span(7, 1, 1)) == []


def test_errors_come_in_the_files_order_and_once() -> None:
    late, early = Diagnostic("b", Span(2, 1, 2)), Diagnostic("a", Span(1, 9, 10))
    assert in_order([late, early, late]) == [early, late]


def test_counting() -> None:
    assert (count(1), count(2)) == ("1 error", "2 errors")


def test_json() -> None:
    assert to_json(Diagnostic("m", Span(3, 4, 6), "h"), "a.layout") == {
        "file": "a.layout", "line": 3, "column": 4, "message": "m", "hint": "h",
    }  # fmt: skip
