"""Programs for tests, read from text by the front end."""

from __future__ import annotations

from layoutc.dsl.check import check
from layoutc.dsl.parse import parse
from layoutc.dsl.program import Program


def read(text: str, name: str = "test") -> Program:
    """The checked program; a test's text has no errors."""
    program = check(parse(text, f"{name}.layout"))
    assert isinstance(program, Program), [d.message for d in program]
    return program
