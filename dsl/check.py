"""From the syntax tree to a checked program, or every error in it.

Lines are gone through in order, each against what the lines before it have made known. A name
whose definition was refused stays known, so that one mistake is reported once.
"""

from __future__ import annotations

from layoutc.dsl import header as headers
from layoutc.dsl import scope as scopes
from layoutc.dsl import syntax
from layoutc.dsl.blocks import Block, check_next, check_open, check_output, close_block
from layoutc.dsl.errors import Diagnostic, Span, in_order
from layoutc.dsl.filling import has_holes
from layoutc.dsl.header import Settings
from layoutc.dsl.operation import Hold
from layoutc.dsl.phases import check_phase, phases
from layoutc.dsl.program import Declare, Define, Item, Output, Program
from layoutc.dsl.scope import Definition
from layoutc.dsl.statements import check_declare, check_define

__all__ = ["Settings", "check"]


def check(file: syntax.File, settings: Settings | None = None) -> Program | list[Diagnostic]:
    """The program that a file holds, or all its errors in the order of the file."""
    if not file.lines:
        return list(file.errors)
    checker = _Checker(file, settings or Settings(), explicit=not has_holes(file))
    program = checker.run()
    if checker.moved:
        # A `y : SHAPE = a` changes the layout: after all this is a program with holes.
        checker = _Checker(file, settings or Settings(), explicit=False)
        program = checker.run()
    errors = [*file.errors, *checker.header.errors]
    return in_order(errors) if errors else program


class _Checker:
    """One pass over a file. `explicit` says that every statement means itself."""

    def __init__(self, file: syntax.File, settings: Settings, explicit: bool) -> None:
        self.file, self.explicit = file, explicit
        self.header = headers.start(file, settings)
        self.scope = scopes.start(file, self.header)
        self.items: list[Item] = []
        self.outputs: dict[str, Output] = {}
        self.leaving: dict[str, Span] = {}
        self.last: list[syntax.Word] = []
        self.block: Block | None = None
        self.moved = False

    def run(self) -> Program:
        """The program; it is whole only if the header has no errors afterwards."""
        for statement in self.file.statements:
            self._statement(statement)
        for word in self.last:
            # What leaves does so when all is done: a cache by the name that it has then.
            self.scope.find(word)
        self._has_outputs()
        return Program(
            self.file.name,
            self.header.program_dims(),
            self.header.program_axes(),
            self.header.dtype,
            tuple(self.items),
            tuple(self.outputs.values()),
            phases(self.file, self.header),
            self.header.program_useful(),
        )

    def _statement(self, statement: syntax.Statement) -> None:
        match statement:
            case syntax.DeclareLine():
                self._add(check_declare(statement, self.scope))
            case syntax.DefineLine():
                self._define(statement)
            case syntax.NextLine():
                check_next(statement, self.scope, self.block, self.explicit)
            case syntax.OpenLine() | syntax.CloseLine():
                self._brace(statement)
            case syntax.BrokenLine():
                self._broken(statement)
            case _:
                self._outside(statement)

    def _outside(self, statement: syntax.Statement) -> None:
        """The lines that stand outside of any block."""
        used = next((known.span for known in self.scope.names.values()), None)
        match statement:
            case syntax.OutputLine():
                self._output(statement)
            case syntax.DimsLine():
                headers.check_dims(statement, self.header)
            case syntax.MeshLine():
                headers.check_mesh(statement, self.header)
            case syntax.DtypeLine():
                headers.check_dtype(statement, self.header, used)
            case syntax.OrderLine():
                headers.check_order(statement, self.header, used)
            case syntax.PhaseLine():
                check_phase(statement, self.header)
            case _:
                raise AssertionError(statement)
        if self.block:
            word = type(statement).__name__.removesuffix("Line").lower()
            message = f"a line with {word} stands outside of a repeat"
            self.header.refuse(message, statement.span, "", (self.block.span, "this block is open"))

    def _add(self, item: Declare | Define | None) -> None:
        if item is None:
            return
        if self.block:
            self.block.body.append(item)
        else:
            self.items.append(item)

    def _define(self, line: syntax.DefineLine) -> None:
        item = check_define(line, self.scope, self.explicit)
        self._add(item)
        if self.explicit and item and isinstance(item.operation, Hold):
            source = self.scope.names[item.operation.operand].type
            self.moved = self.moved or source is None or source.shape != item.type.shape

    def _brace(self, line: syntax.OpenLine | syntax.CloseLine) -> None:
        if isinstance(line, syntax.OpenLine):
            # A block in a block was refused when the file was read.
            self.block = self.block or check_open(line, self.scope)
        elif self.block:
            self.items += close_block(self.block, self.scope)
            self.block = None

    def _broken(self, line: syntax.BrokenLine) -> None:
        if line.head == "repeat":
            self.block = self.block or Block(line.span, 1, broken=True)
            self.scope.block = line.span.line
        elif line.name and line.name not in self.scope.names:
            unknown = Definition(line.name, None, None, line.span, None, self.scope.block)
            self.scope.names[line.name] = unknown

    # What leaves.

    def _output(self, line: syntax.OutputLine) -> None:
        for leaving in line.leaving:
            name = leaving.name.text
            first = self.leaving.setdefault(name, leaving.name.span)
            if first != leaving.name.span:
                message = f"{name} is an output already"
                self.header.refuse(message, leaving.name.span, "", (first, "first here"))
            check_output(leaving, self.scope, self.explicit)
            self.last += [word for word in leaving if word]
            like = leaving.like.text if leaving.like else None
            self.outputs.setdefault(name, Output(name, like))

    def _has_outputs(self) -> None:
        broken = any(
            isinstance(s, syntax.BrokenLine) and s.head == "output" for s in self.file.statements
        )
        if self.outputs or broken:
            return
        names = [name for name, known in self.scope.names.items() if known.kind is None]
        hint = f"add at the end:  output {names[-1]}" if names else ""
        last = self.file.statements[-1].span
        self.header.refuse("the program has no output", last, hint)
