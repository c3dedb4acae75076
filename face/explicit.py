"""Commands that take explicit programs alone: what they say to one with holes."""

from __future__ import annotations

from layoutc.dsl.errors import Diagnostic
from layoutc.dsl.operation import Hold
from layoutc.dsl.program import Define, Program
from layoutc.pipeline import Source, WrongFile, place


def explicit(source: Source, program: Program, command: str) -> Program:
    """The program itself. Raises `WrongFile` if something of it is left to solve."""
    name = _hole(program)
    if name is None:
        # Formulas are over dims: phases matter to them only where there is but one.
        return program.passes[0] if len(program.phases) == 1 else program
    shape = program.types[name].shape
    what = f"{name} : {shape} is a hole" if not shape.explicit else f"{name} changes its layout"
    message = f"{what}; {command} takes an explicit program, in which every move is a statement"
    hint = (
        f"layoutc compile {source.name} --chips N --json has one as its text; "
        f"layoutc regimes {source.name} compares the layouts that it may have"
    )
    raise WrongFile(source, [Diagnostic(message, place(source.tree, name), hint)])


def _hole(program: Program) -> str | None:
    """The first name whose layout is left to the solver."""
    types = program.types
    for item, _ in program.walk():
        if not item.type.shape.explicit:
            return item.name
        match item:
            case Define(operation=Hold(operand)) if types[operand].shape != item.type.shape:
                return item.name
    return None
