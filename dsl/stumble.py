"""Where the parser stopped in a line, and how that is said where nothing better is known."""

from __future__ import annotations

from dataclasses import dataclass

from layoutc.dsl.words import HEADS, listed


@dataclass(frozen=True, slots=True)
class Stumble:
    """Where the parser stopped (a column from 1), at what ("" at the end), wanting what."""

    column: int
    found: str
    expected: frozenset[str]


WANTED = {
    "DIM": "a dim (a capital letter)",
    "AXES": "mesh axes (lowercase letters)",
    "NAME": "a name",
    "NUMBER": "a number",
    "SIGN": "one of * + - /",
    "MOVE": "a collective",
    "HOLE": "? or !",
    "PARTIAL": "(partialsum-AXES)",
    "EQUAL": "`=`",
    "COLON": "`:`",
    "LPAR": "`(`",
    "RPAR": "`)`",
    "LSQB": "`[`",
    "RSQB": "`]`",
    "LBRACE": "`{`",
    "RBRACE": "`}`",
    "COMMA": "`,`",
    "PADDED": "padded",
    "$END": "the end of the line",
}
"""What the grammar's terminals are called, in the order in which they are listed."""

BETTER_LEFT_OUT = {"PADDED", "SIGN", "__ANON_0", "__ANON_1"}
"""Terminals that would only lengthen a list of what could have stood there."""


Said = tuple[str, str] | None
"""What is said of a mistake: the message and the fix; None where it is another mistake."""


def shown(found: str) -> str:
    """What the parser stopped at."""
    if not found:
        return "the line ends too early"
    if found.isprintable():
        return f"unexpected `{found[:40]}`"
    return f"unexpected character U+{ord(found[0]):04X}"


def expected(stumble: Stumble) -> str:
    """What could have stood there."""
    if {"RBRACE", "NAME"} <= stumble.expected:
        return f"NAME : SHAPE = OPERATION, or a line that starts with {listed(HEADS)}"
    named = [word for term, word in WANTED.items() if term in stumble.expected]
    short = [
        word
        for term, word in WANTED.items()
        if term in stumble.expected and term not in BETTER_LEFT_OUT
    ]
    return listed(short or named or ["something else"])
