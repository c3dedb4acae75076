"""The syntax tree: what a file says, line by line, before anyone asks whether it is right.

A line is a statement, so the tree is a list of lines; `repeat 118 {` and `}` are lines too.
Every word has its place, for errors to point at, and comments are kept, for `fmt`.
"""

from __future__ import annotations

from dataclasses import dataclass

from layoutc.dsl.errors import Diagnostic, Span


@dataclass(frozen=True, slots=True)
class Word:
    """A name, a dim, an axis, a sign: anything that is spelled in one piece."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Numeral:
    """A number, as it is spelled in the file."""

    text: str
    span: Span


Operand = Word | Numeral


# Shapes.


@dataclass(frozen=True, slots=True)
class DimText:
    """`E`, `E_xy` or `E_{xy}`; each axis is a word of one letter."""

    name: Word
    axes: tuple[Word, ...]
    braces: bool
    span: Span


@dataclass(frozen=True, slots=True)
class PartialText:
    """`(partialsum-x)` or `(partialmax-x)`; `reduction` is "sum" or "max"."""

    reduction: str
    axes: tuple[Word, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class ShapeText:
    """`BLE_yz(partialsum-x)?`"""

    dims: tuple[DimText, ...]
    partial: PartialText | None
    hole: Word | None
    span: Span


@dataclass(frozen=True, slots=True)
class Annotation:
    """A shape, and the dtype after it if there is one."""

    shape: ShapeText
    dtype: Word | None


# Operations.


@dataclass(frozen=True, slots=True)
class Alias:
    """`a`, all by itself."""

    operand: Operand
    span: Span


@dataclass(frozen=True, slots=True)
class Binary:
    """`a * b`, with any of the four signs."""

    sign: Word
    left: Operand
    right: Operand
    span: Span


@dataclass(frozen=True, slots=True)
class Argument:
    """What stands in brackets: `F`, `L -> M` (`value` is M) or `eps=1e-6`."""

    key: Word
    value: Operand | None
    span: Span


@dataclass(frozen=True, slots=True)
class Call:
    """`gelu(h)`, `sum[F](a)`. Any name will do here: the checker knows which there are."""

    function: Word
    arguments: tuple[Argument, ...]
    operands: tuple[Operand, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Moving:
    """`all-gather(yz) x`; `axes_span` is what stands between the parentheses."""

    kind: Word
    axes: tuple[Word, ...]
    operand: Word
    axes_span: Span
    span: Span


OperationText = Alias | Binary | Call | Moving


# Statements.


@dataclass(frozen=True, slots=True)
class DimEntry:
    """`B`, `B=512` or `H=48 padded 64`."""

    name: Word
    size: Numeral | None
    padded: Numeral | None


@dataclass(frozen=True, slots=True)
class DimsLine:
    """`dims B=512 L=1`"""

    entries: tuple[DimEntry, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class MeshEntry:
    """`x`, `x=4`, `d:data` or `t:model=8`."""

    name: Word
    label: Word | None
    size: Numeral | None


@dataclass(frozen=True, slots=True)
class MeshLine:
    """`mesh x=4 y z`"""

    entries: tuple[MeshEntry, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class DtypeLine:
    """`dtype bf16`"""

    dtype: Word
    span: Span


@dataclass(frozen=True, slots=True)
class OrderLine:
    """`order free`"""

    order: Word
    span: Span


@dataclass(frozen=True, slots=True)
class PhaseLine:
    """`phase decode : B=512 weight=64`"""

    name: Word
    settings: tuple[tuple[Word, Numeral], ...]
    span: Span


@dataclass(frozen=True, slots=True)
class DeclareLine:
    """`input x : BLE?`; `kind` is input, weight or cache."""

    kind: Word
    name: Word
    annotation: Annotation
    span: Span


@dataclass(frozen=True, slots=True)
class DefineLine:
    """`h : BLF? = x * w_in`"""

    name: Word
    annotation: Annotation | None
    operation: OperationText
    span: Span


@dataclass(frozen=True, slots=True)
class Leaving:
    """`y`, or `y -> x`."""

    name: Word
    like: Word | None


@dataclass(frozen=True, slots=True)
class OutputLine:
    """`output y -> x`, `output a, b`"""

    leaving: tuple[Leaving, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class NextLine:
    """`next x = y`"""

    carried: Word
    value: Word
    span: Span


@dataclass(frozen=True, slots=True)
class OpenLine:
    """`repeat 118 {`"""

    count: Numeral
    span: Span


@dataclass(frozen=True, slots=True)
class CloseLine:
    """`}`"""

    span: Span


@dataclass(frozen=True, slots=True)
class BrokenLine:
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


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a file: a statement, a comment (with its `#`), both, or neither."""

    statement: Statement | None
    comment: str


@dataclass(frozen=True, slots=True)
class File:
    """A file as it was read. `errors` are those of its lines that could not be."""

    name: str
    lines: tuple[Line, ...]
    errors: tuple[Diagnostic, ...]

    @property
    def statements(self) -> tuple[Statement, ...]:
        return tuple(line.statement for line in self.lines if line.statement is not None)
