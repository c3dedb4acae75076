"""Programs with holes: what is one, and which of its statements no filling can make right.

The compiler may move a value before any use and after any result, so that nearly everything
is the solver's business. What is refused here is wrong whatever the operands' layouts become.
"""

from __future__ import annotations

from layoutc.dsl import syntax
from layoutc.dsl.layer import LINEAR as LINEAR_LAYERS
from layoutc.dsl.operation import Apply, Layer, LayerKind, Move, Operation, Reduce
from layoutc.dsl.refusal import Refusal, letters
from layoutc.dsl.rules import LINEAR
from layoutc.dsl.shape import Shape

LANDING = frozenset({"reduce-scatter", "all-to-all", "slice", "permute"})
"""The statements whose result does not follow without an annotation."""


def has_holes(file: syntax.File) -> bool:
    """Whether a file leaves a layout open for all to see.

    A `y : SHAPE = a` that changes the layout does so too; that is seen only once the layout
    of `a` is known.
    """
    free = any(isinstance(statement, syntax.OrderLine) for statement in file.statements)
    return any(_open(statement, free) for statement in file.statements)


def _open(statement: syntax.Statement, free: bool) -> bool:
    match statement:
        case syntax.DeclareLine(annotation=text):
            return _open_shape(text.shape, free)
        case syntax.DefineLine(annotation=None, operation=syntax.Moving(kind=kind)):
            return kind.text in LANDING
        case syntax.DefineLine(annotation=syntax.Annotation(shape)):
            return _open_shape(shape, free)
        case _:
            return False


def _open_shape(shape: syntax.ShapeText, free: bool) -> bool:
    unordered = any(len(dim.axes) > 1 and (free or dim.braces) for dim in shape.dims)
    return shape.hole is not None or unordered


def hopeless(operation: Operation, written: Shape) -> tuple[Refusal, ...]:
    """Why `written` can't be what the operation gives, on operands of any layout."""
    match operation:
        case Move("all-gather" | "all-reduce"):
            return _still_there(operation, written)
        case Move():
            return _not_landed(operation, written)
        case Apply(function) if written.partial and function not in LINEAR:
            message = f"{function} does not give a {_partial(written)}"
            return (Refusal(message, f"write {written.with_partial(())}", at="annotation"),)
        case Reduce(kind) if written.partial and (kind == "max") != (written.reduction == "max"):
            message = f"{kind} does not give a {_partial(written)}"
            return (Refusal(message, at="annotation"),)
        case Layer(kind) if written.partial and not _passes(kind, written):
            message = f"{kind} does not give a {_partial(written)}"
            return (Refusal(message, f"write {written.with_partial(())}", at="annotation"),)
        case _:
            return ()


def _partial(shape: Shape) -> str:
    return "partial sum" if shape.reduction == "sum" else "partial maximum"


def _passes(kind: LayerKind, written: Shape) -> bool:
    """Whether a layer's operation passes such a partial value on, or makes it."""
    if kind == "rename":
        return True
    return written.reduction == "sum" and (kind == "embed" or kind in LINEAR_LAYERS)


def no_sum(operation: Operation, kind: str | None) -> tuple[Refusal, ...]:
    """Why there is nothing to reduce: `kind` is what the operand was declared as, if it was."""
    match operation:
        case Move("all-reduce" | "reduce-scatter", axes, name) if kind:
            article = "an" if kind == "input" else "a"
            what = f"{operation.kind}({letters(axes)})"
            message = f"{what} has nothing to reduce: {name} is {article} {kind}, never partial"
            return (Refusal(message, at="axes", origin=name, note="declared here"),)
        case _:
            return ()


def _still_there(operation: Move, written: Shape) -> tuple[Refusal, ...]:
    left = tuple(a for a in operation.axes if not written.whole_over(a))
    if not left:
        return ()
    message = f"{operation.kind}({letters(operation.axes)}) does not give {written}: it is whole "
    message += f"over {letters(left)} afterwards"
    return (Refusal(message, at="annotation"),)


def _not_landed(operation: Move, written: Shape) -> tuple[Refusal, ...]:
    """Axes land at the end of one dim's list; `permute` reorders within one."""
    axes = set(operation.axes)
    homes = [dim for dim in written if axes & set(dim.axes)]
    if not homes and written.hole:
        return ()
    home = homes[0] if len(homes) == 1 else None
    if home and axes <= set(home.axes):
        at_end = axes == set(home.axes[-len(axes) :])
        if at_end or home.loose or written.hole or operation.kind == "permute":
            return ()
    where = " and ".join(map(str, homes)) or "no dim"
    what = f"{operation.kind}({letters(operation.axes)})"
    verb = "reorders the axes of" if operation.kind == "permute" else "puts its axes on the end of"
    message = f"{what} {verb} one dim; {written} has them on {where}"
    return (Refusal(message, at="annotation"),)
