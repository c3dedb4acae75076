"""The lines of an emitted function, as syntax: which name of the program each one defines."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from layoutc.codegen.names import identifier, respelled
from layoutc.dsl.program import Program


class Line(NamedTuple):
    """An assignment to the name `name` of the program, in the list of lines `body`."""

    name: str
    assign: ast.Assign
    body: list[ast.stmt]


def function(tree: ast.Module, program: Program) -> ast.FunctionDef:
    """What one chip does, in the syntax of an emitted module."""
    return next(
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name == identifier(program.name)
    )


def defining(function: ast.FunctionDef, program: Program) -> Iterator[Line]:
    """Every line that assigns to a name of the program; a name may take several."""
    names = {spelled: name for name, spelled in respelled(program.types).items()}
    for inner in ast.walk(function):
        if isinstance(inner, ast.FunctionDef):
            for line in list(inner.body):
                match line:
                    case ast.Assign(targets=[ast.Name(id=target)]) if target in names:
                        yield Line(names[target], line, inner.body)


def statement_lines(source: str, program: Program) -> dict[int, str]:
    """The name that each line of the emitted text assigns to, by the line's number."""
    return {
        number: name
        for name, line, _ in defining(function(ast.parse(source), program), program)
        for number in range(line.lineno, (line.end_lineno or line.lineno) + 1)
    }
