"""What the tests of the checker share: a file to add lines to, and how an answer is read."""

from __future__ import annotations

from layoutc.dsl.check import Settings, check
from layoutc.dsl.errors import Diagnostic
from layoutc.dsl.parse import parse
from layoutc.dsl.program import Program

HEAD = """\
dims B=512 L=1 E=18432 F=73728
mesh x y z
input  x     : BLE_xyz
weight w_in  : E_xF_yz
weight w_out : F_yzE_x
weight bias  : F
input  a     : BLE_x
input  h     : BLF_yz
weight zy    : F_zy
"""
"""Nine lines, so that what a test adds starts on line 10."""

MADE = "p : BLF_yz(partialsum-x) = a * w_in\n"
"""Line 10, where a test needs a partial sum."""


def right(text: str, settings: Settings | None = None) -> Program:
    found = check(parse(text, "test.layout"), settings)
    assert isinstance(found, Program), found
    return found


def wrong(text: str, settings: Settings | None = None) -> list[Diagnostic]:
    found = check(parse(text, "test.layout"), settings)
    assert isinstance(found, list), found
    return found


def one(text: str, settings: Settings | None = None) -> tuple[int, int, str]:
    (error,) = wrong(text, settings)
    return error.span.line, error.span.start, error.message
