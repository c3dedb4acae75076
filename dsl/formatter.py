"""`fmt`: the canonical spelling of a file as its author wrote it, comments and all.

Nothing is added or left out: an annotation that was not written is not printed. The result
means what the file meant, and formatting it again changes nothing.
"""

from __future__ import annotations

from layoutc.dsl import syntax
from layoutc.dsl.columns import Row, align
from layoutc.dsl.printer import print_output
from layoutc.dsl.words import number


def format_file(file: syntax.File) -> str:
    """The file in its canonical spelling. Its lines must all have been read."""
    mesh = (s for s in file.statements if isinstance(s, syntax.MeshLine))
    order = "".join(entry.name.text for line in mesh for entry in line.entries)
    rows: list[Row] = []
    depth = 0
    for line in file.lines:
        if isinstance(line.statement, syntax.CloseLine):
            depth = 0
        rows.append(_row(line, order, depth))
        if isinstance(line.statement, syntax.OpenLine):
            depth = 1
    return align(rows)


def _row(line: syntax.Line, order: str, depth: int) -> Row:
    comment = line.comment.rstrip()
    match line.statement:
        case None:
            return Row("", (), depth, comment)
        case syntax.DeclareLine(kind, name, annotation):
            cells = (kind.text, name.text, _annotation(annotation, order))
            return Row("declare", cells, depth, comment)
        case syntax.DefineLine(name, annotation, operation):
            held = _annotation(annotation, order) if annotation else ""
            return Row("define", (name.text, held, _operation(operation, order)), depth, comment)
        case syntax.PhaseLine(name, settings):
            pairs = "  ".join(f"{key.text}={_number(value)}" for key, value in settings)
            return Row("phase", (name.text, pairs), depth, comment)
        case statement:
            return Row(type(statement).__name__, (_plain(statement),), depth, comment)


def _plain(statement: syntax.Statement) -> str:
    """A line that stands in no columns."""
    match statement:
        case syntax.DimsLine(entries):
            gap = "  " if any(entry.size or entry.padded for entry in entries) else " "
            return "dims   " + gap.join(map(_dim_entry, entries))
        case syntax.MeshLine(entries):
            return "mesh   " + " ".join(map(_mesh_entry, entries))
        case syntax.DtypeLine(dtype):
            return f"dtype  {dtype.text}"
        case syntax.OrderLine(order):
            return f"order  {order.text}"
        case syntax.OutputLine(leaving):
            return "output " + ", ".join(map(_leaving, leaving))
        case syntax.NextLine(carried, value):
            return f"next {carried.text} = {value.text}"
        case syntax.OpenLine(count):
            return f"repeat {_number(count)} {{"
        case syntax.CloseLine():
            return "}"
        case _:
            raise ValueError("a file with lines that were not read has no canonical spelling")


# Entries.


def _dim_entry(entry: syntax.DimEntry) -> str:
    size = f"={_number(entry.size)}" if entry.size else ""
    padded = f" padded {_number(entry.padded)}" if entry.padded else ""
    return f"{entry.name.text}{size}{padded}"


def _mesh_entry(entry: syntax.MeshEntry) -> str:
    label = f":{entry.label.text}" if entry.label else ""
    size = f"={_number(entry.size)}" if entry.size else ""
    return f"{entry.name.text}{label}{size}"


def _leaving(leaving: syntax.Leaving) -> str:
    like = leaving.like.text if leaving.like else None
    return print_output(leaving.name.text, like).removeprefix("output ")


def _number(numeral: syntax.Numeral) -> str:
    """As the checker spells it; digits alone stay digits, however many."""
    if numeral.text.isdigit():
        return numeral.text.lstrip("0") or "0"
    return number(numeral.text) or numeral.text


# Shapes and operations.


def _annotation(annotation: syntax.Annotation, order: str) -> str:
    dtype = f" {annotation.dtype.text}" if annotation.dtype else ""
    return _shape(annotation.shape, order) + dtype


def _shape(shape: syntax.ShapeText, order: str) -> str:
    text = "".join(map(_dim, shape.dims))
    if shape.partial:
        axes = _axes_set(shape.partial.axes, order)
        text += f"(partial{shape.partial.reduction}-{axes})"
    return text + (shape.hole.text if shape.hole else "")


def _dim(dim: syntax.DimText) -> str:
    axes = "".join(axis.text for axis in dim.axes)
    if dim.braces and len(axes) > 1:
        return f"{dim.name.text}_{{{axes}}}"
    return f"{dim.name.text}_{axes}" if axes else dim.name.text


def _axes_set(axes: tuple[syntax.Word, ...], order: str) -> str:
    """A set of axes in the mesh's order; those that it lacks come last."""
    letters = [axis.text for axis in axes]
    return "".join(sorted(letters, key=lambda a: order.index(a) if a in order else len(order)))


def _operation(operation: syntax.OperationText, order: str) -> str:
    match operation:
        case syntax.Alias(operand):
            return _operand(operand)
        case syntax.Binary(sign, left, right):
            return f"{_operand(left)} {sign.text} {_operand(right)}"
        case syntax.Moving(kind, axes, operand):
            return f"{kind.text}({_axes_set(axes, order)}) {operand.text}"
        case syntax.Call(function, arguments, operands):
            ordered = sorted(arguments, key=lambda argument: not argument.key.text.isupper())
            bracket = f"[{', '.join(map(_argument, ordered))}]" if ordered else ""
            return f"{function.text}{bracket}({', '.join(map(_operand, operands))})"


def _argument(argument: syntax.Argument) -> str:
    if argument.value is None:
        return argument.key.text
    sign = " -> " if isinstance(argument.value, syntax.Word) else "="
    return f"{argument.key.text}{sign}{_operand(argument.value)}"


def _operand(operand: syntax.Operand) -> str:
    return _number(operand) if isinstance(operand, syntax.Numeral) else operand.text
