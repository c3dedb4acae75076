"""The syntax tree: what a file says, line by line, before anyone asks whether it is right.

A line is a statement, so the tree is a list of lines; `repeat 118 {` and `}` are lines too.
Every word has its place, for errors to point at, and comments are kept, for `fmt`. Named tuples,
unlike the dataclasses of the later stages: there are many of them, each takes an eighth of a
dataclass's time to make, and `check` is to feel instant.
"""

from __future__ import annotations

from typing import NamedTuple

from layoutc.dsl.errors import Diagnostic, Span


class Word(NamedTuple):
    """A name, a dim, an axis, a sign: anything that is spelled in one piece."""

    text: str
    span: Span


class Numeral(NamedTuple):
    """A number, as it is spelled in the file."""

    text: str
    span: Span


Operand = Word | Numeral


# Shapes.


class DimText(NamedTuple):
    """`E`, `E_xy` or `E_{xy}`; each axis is a word of one letter."""

    name: Word
    axes: tuple[Word, ...]
    braces: bool
    span: Span


class PartialText(NamedTuple):
    """`(partialsum-x)` or `(partialmax-x)`; `reduction` is "sum" or "max"."""

    reduction: str
    axes: tuple[Word, ...]
    span: Span


class ShapeText(NamedTuple):
    """`BLE_yz(partialsum-x)?`"""

    dims: tuple[DimText, ...]
    partial: PartialText | None
    hole: Word | None
    span: Span


class Annotation(NamedTuple):
    """A shape, and the dtype after it if there is one."""

    shape: ShapeText
    dtype: Word | None


# Operations.


class Alias(NamedTuple):
    """`a`, all by itself."""

    operand: Operand
    span: Span


class Binary(NamedTuple):
    """`a * b`, with any of the four signs."""

    sign: Word
    left: Operand
    right: Operand
    span: Span


class Argument(NamedTuple):
    """What stands in brackets: `F`, `L -> M` (`value` is M) or `eps=1e-6`."""

    key: Word
    value: Operand | None
    span: Span


class Call(NamedTuple):
    """`gelu(h)`, `sum[F](a)`. Any name will do here: the checker knows which there are."""

    function: Word
    arguments: tuple[Argument, ...]
    operands: tuple[Operand, ...]
    span: Span

    @property
    def brackets(self) -> Span:
        """Where the dims in brackets stand; the function's name where there are none."""
        dims = [argument.span for argument in self.arguments if argument.key.text.isupper()]
        return dims[0].to(dims[-1]) if dims else self.function.span


class Moving(NamedTuple):
    """`all-gather(yz) x`; `axes_span` is what stands between the parentheses."""

    kind: Word
    axes: tuple[Word, ...]
    operand: Word
    axes_span: Span
    span: Span


OperationText = Alias | Binary | Call | Moving


# Statements.


class DimEntry(NamedTuple):
    """`B`, `B=512` or `H=48 padded 64`."""

    name: Word
    size: Numeral | None
    padded: Numeral | None


class DimsLine(NamedTuple):
    """`dims B=512 L=1`"""

    entries: tuple[DimEntry, ...]
    span: Span


class MeshEntry(NamedTuple):
    """`x`, `x=4`, `d:data` or `t:model=8`."""

    name: Word
    label: Word | None
    size: Numeral | None


class MeshLine(NamedTuple):
    """`mesh x=4 y z`"""

    entries: tuple[MeshEntry, ...]
    span: Span


class DtypeLine(NamedTuple):
    """`dtype bf16`"""

    dtype: Word
    span: Span


class OrderLine(NamedTuple):
    """`order free`"""

    order: Word
    span: Span


class PhaseLine(NamedTuple):
    """`phase decode : B=512 weight=64`"""

    name: Word
    settings: tuple[tuple[Word, Numeral], ...]
    span: Span


class DeclareLine(NamedTuple):
    """`input x : BLE?`; `kind` is input, weight or cache."""

    kind: Word
    name: Word
    annotation: Annotation
    span: Span


class DefineLine(NamedTuple):
    """`h : BLF? = x * w_in`"""

    name: Word
    annotation: Annotation | None
    operation: OperationText
    span: Span


class Leaving(NamedTuple):
    """`y`, or `y -> x`."""

    name: Word
    like: Word | None


class OutputLine(NamedTuple):
    """`output y -> x`, `output a, b`"""

    leaving: tuple[Leaving, ...]
    span: Span


class NextLine(NamedTuple):
    """`next x = y`"""

    carried: Word
    value: Word
    span: Span


class OpenLine(NamedTuple):
    """`repeat 118 {`"""

    repetitions: Numeral
    span: Span


class CloseLine(NamedTuple):
    """`}`"""

    span: Span


class BrokenLine(NamedTuple):
    """A line that could not be read.

    `head` is its first word; `name` is what it seems to define, so that the uses of that name
    are not reported on top.
    """

    head: str
    name: str
    span: Span


Statement = (
    DimsLine
    | MeshLine
    | DtypeLine
    | OrderLine
    | PhaseLine
    | DeclareLine
    | DefineLine
    | OutputLine
    | NextLine
    | OpenLine
    | CloseLine
    | BrokenLine
)


class Line(NamedTuple):
    """One line of a file: a statement, a comment (with its `#`), both, or neither."""

    statement: Statement | None
    comment: str


class File(NamedTuple):
    """A file as it was read. `errors` are those of its lines that could not be."""

    name: str
    lines: tuple[Line, ...]
    errors: tuple[Diagnostic, ...]

    @property
    def statements(self) -> tuple[Statement, ...]:
        return tuple(line.statement for line in self.lines if line.statement is not None)
