"""From text to the syntax tree. The only file that imports Lark.

Each line is parsed by itself: a line that can't be read becomes a `BrokenLine` and an error,
and the next one is read as if nothing had been.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any

from lark import Lark, Token, Tree, UnexpectedInput
from lark.tree import Meta

from layoutc.dsl import syntax
from layoutc.dsl.complain import complain
from layoutc.dsl.errors import START, Diagnostic, Span, source_lines
from layoutc.dsl.shape import Dim, Hole, Reduction, Shape
from layoutc.dsl.stumble import Stumble

MOST_STATEMENTS = 2_000
"""What happens many times is a `repeat`, so no program that a person reads has so many."""
LONGEST_LINE = 10_000
MOST_TEXT = 80_000
"""In characters, comments not counted: what is read in well under a second."""

GUESS = re.compile(r"\s*(?:(input|weight|cache)\s+)?([a-z][a-z0-9_]*)\s*[:=]")


def parse(text: str, filename: str) -> syntax.File:
    """The syntax tree of a file; what could not be read of it is in its `errors`."""
    name = os.path.splitext(os.path.basename(filename))[0]
    raw = source_lines(text)
    refused = _refuse(raw)
    if refused:
        return syntax.File(name, (), (refused,))
    lines, errors = [], []
    for number, content in enumerate(raw, start=1):
        line, error = _read_line(content, number)
        lines.append(line)
        errors += [error] if error else []
    errors += _unbalanced(lines)
    return syntax.File(name, tuple(lines), tuple(errors))


def parse_shape(text: str) -> Shape:
    """A shape from its notation: `parse_shape(str(shape)) == shape`.

    Raises:
        ValueError: if the text is not a shape.
    """
    tree, stumble = _attempt(text, "shape")
    wrong = complain(text, stumble, 1) if stumble else None
    if tree is not None:
        wrong = next(_gaps(tree, text, 1), None)
    if tree is None or wrong:
        raise ValueError(f"{text!r} is not a shape: {wrong.message if wrong else ''}")
    shape: syntax.ShapeText = _Builder(1).build(tree)
    return bare_shape(shape)


def bare_shape(shape: syntax.ShapeText) -> Shape:
    """The value that a shape's text means, by itself: nothing is looked up.

    Raises:
        ValueError: if a dim or an axis stands twice.
    """
    dims = tuple(Dim(d.name.text, tuple(a.text for a in d.axes), d.braces) for d in shape.dims)
    hole: Hole = "" if shape.hole is None else "?" if shape.hole.text == "?" else "!"
    if shape.partial is None:
        return Shape(dims, hole=hole)
    reduction: Reduction = "sum" if shape.partial.reduction == "sum" else "max"
    return Shape(dims, tuple(a.text for a in shape.partial.axes), reduction, hole)


# Lines.


def _refuse(lines: list[str]) -> Diagnostic | None:
    """What is wrong with a file as a whole."""
    texts = [line.partition("#")[0].strip() for line in lines]
    statements, size = sum(map(bool, texts)), sum(map(len, texts))
    longest = max(lines, key=len)
    if len(longest) > LONGEST_LINE:
        message = f"this line has {len(longest)} characters; a line has at most {LONGEST_LINE}"
        return Diagnostic(message, Span(lines.index(longest) + 1, 1, 2))
    if not statements:
        return Diagnostic("the file is empty: it has no statement", START)
    if statements > MOST_STATEMENTS:
        message = f"the file has {statements} statements; a program has at most {MOST_STATEMENTS}"
        return Diagnostic(message, START, "repeat N { ... } says what happens N times")
    if size > MOST_TEXT:
        message = f"the program has {size} characters; a program has at most {MOST_TEXT}"
        return Diagnostic(message, START)
    return None


def _read_line(content: str, number: int) -> tuple[syntax.Line, Diagnostic | None]:
    text, mark, comment = content.partition("#")
    remark = (mark + comment).rstrip()
    if not text.strip():
        return syntax.Line(None, remark), None
    tree, stumble = _attempt(text, "line")
    if tree is not None:
        statement: syntax.Statement = _Builder(number).build(tree)
        gap = next(_gaps(tree, text, number), None)
        return syntax.Line(statement, remark), gap
    assert stumble is not None
    return syntax.Line(_broken(text, number), remark), complain(text, stumble, number)


def _broken(text: str, number: int) -> syntax.BrokenLine:
    guess = GUESS.match(text)
    words = text.split()
    return syntax.BrokenLine(words[0], guess[2] if guess else "", Span(number, 1, len(text) + 1))


def _gaps(tree: Tree[Token], text: str, number: int) -> Iterator[Diagnostic]:
    """Spaces within a shape, which the lexer skips."""
    for shape in tree.find_data("shape"):
        start, end = shape.meta.column, shape.meta.end_column
        written = text[start - 1 : end - 1]
        if any(c.isspace() for c in written):
            joined = "".join(written.split())
            message = "a shape is written without spaces"
            yield Diagnostic(message, Span(number, start, end), f"write {joined}")


def _unbalanced(lines: list[syntax.Line]) -> Iterator[Diagnostic]:
    """`repeat` and `}` that have no other half, or stand inside one another."""
    opened: Span | None = None
    for line in lines:
        match line.statement:
            case syntax.OpenLine(_, span) | syntax.BrokenLine("repeat", _, span):
                if opened:
                    note = ((opened, "this block is still open"),)
                    yield Diagnostic("a repeat does not stand inside a repeat", span, notes=note)
                opened = opened or span
            case syntax.CloseLine(span):
                if opened is None:
                    yield Diagnostic("`}` closes nothing: no repeat is open", span)
                opened = None
            case _:
                pass
    if opened:
        yield Diagnostic("this block is not closed", opened, "add a line with `}`")


# Lark.


@cache
def _grammar() -> Lark:
    path = os.path.join(os.path.dirname(__file__), "layout.lark")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return Lark(text, parser="lalr", start=["line", "shape"], propagate_positions=True)


@lru_cache(maxsize=1024)
def _attempt(text: str, start: str) -> tuple[Tree[Token] | None, Stumble | None]:
    """The tree of a text, or where and why there is none.

    Lines come again: what is printed is read back, and an edited file keeps most of its lines.
    """
    try:
        return _grammar().parse(text, start=start), None
    except UnexpectedInput as error:
        token = getattr(error, "token", None)
        expected = getattr(error, "accepts", None) or getattr(error, "allowed", None)
        at_end = token is not None and token.type == "$END"
        column = len(text.rstrip()) + 1 if at_end else error.column
        found = "" if at_end else str(token) if token else text[column - 1]
        return None, Stumble(column, found, frozenset(expected or ()))


class _Builder:
    """Syntax nodes out of Lark's tree; a method for each rule of the grammar.

    Lark's own Transformer takes twice the time of this, most of it to look up its methods.
    """

    def __init__(self, number: int) -> None:
        self.number = number

    def build(self, tree: Tree[Token]) -> Any:
        """The node of a tree, its children's first."""
        children = [self.build(c) if isinstance(c, Tree) else c for c in tree.children]
        return getattr(self, tree.data)(tree.meta, children)

    def _span(self, place: Meta | Token) -> Span:
        assert place.column is not None
        assert place.end_column is not None
        return Span(self.number, place.column, place.end_column)

    def _word(self, token: Token) -> syntax.Word:
        return syntax.Word(str(token), self._span(token))

    def _numeral(self, token: Token) -> syntax.Numeral:
        return syntax.Numeral(str(token), self._span(token))

    def _value(self, token: Token) -> syntax.Operand:
        return self._numeral(token) if token.type == "NUMBER" else self._word(token)

    def _axes(self, token: Token) -> tuple[syntax.Word, ...]:
        """A word for each letter of `xyz`."""
        span = self._span(token)
        places = range(span.start, span.end)
        return tuple(
            syntax.Word(letter, Span(span.line, place, place + 1))
            for letter, place in zip(token, places, strict=True)
        )

    def line(self, _: Meta, children: list[Any]) -> Any:
        return children[0]

    # Shapes.

    def dim(self, meta: Meta, children: list[Token]) -> syntax.DimText:
        axes = self._axes(children[1]) if len(children) > 1 else ()
        return syntax.DimText(self._word(children[0]), axes, False, self._span(meta))

    def loose(self, meta: Meta, children: list[Token]) -> syntax.DimText:
        name, axes = self._word(children[0]), self._axes(children[1])
        return syntax.DimText(name, axes, True, self._span(meta))

    def partial(self, meta: Meta, children: list[Token]) -> syntax.PartialText:
        reduction = "max" if "max" in children[0] else "sum"
        return syntax.PartialText(reduction, self._axes(children[1]), self._span(meta))

    def shape(self, meta: Meta, children: list[Any]) -> syntax.ShapeText:
        dims = tuple(c for c in children if isinstance(c, syntax.DimText))
        partial = next((c for c in children if isinstance(c, syntax.PartialText)), None)
        hole = next((self._word(c) for c in children if isinstance(c, Token)), None)
        return syntax.ShapeText(dims, partial, hole, self._span(meta))

    def annotation(self, _: Meta, children: list[Any]) -> syntax.Annotation:
        dtype = self._word(children[1]) if len(children) > 1 else None
        return syntax.Annotation(children[0], dtype)

    # Operations.

    def alias(self, meta: Meta, children: list[Token]) -> syntax.Alias:
        return syntax.Alias(self._value(children[0]), self._span(meta))

    def binary(self, meta: Meta, children: list[Token]) -> syntax.Binary:
        left, sign, right = children
        parts = self._word(sign), self._value(left), self._value(right)
        return syntax.Binary(*parts, self._span(meta))

    def move(self, meta: Meta, children: list[Token]) -> syntax.Moving:
        kind, axes, operand = children
        return syntax.Moving(
            self._word(kind),
            self._axes(axes),
            self._word(operand),
            self._span(axes),
            self._span(meta),
        )

    def call(self, meta: Meta, children: list[Any]) -> syntax.Call:
        function, *rest = children
        arguments = rest.pop(0) if rest and isinstance(rest[0], tuple) else ()
        operands = tuple(self._value(token) for token in rest)
        return syntax.Call(self._word(function), arguments, operands, self._span(meta))

    def bracket(self, _: Meta, children: list[syntax.Argument]) -> tuple[syntax.Argument, ...]:
        return tuple(children)

    def argument(self, meta: Meta, children: list[Token]) -> syntax.Argument:
        value = self._value(children[1]) if len(children) > 1 else None
        return syntax.Argument(self._word(children[0]), value, self._span(meta))

    # Statements.

    def size(self, _: Meta, children: list[Token]) -> tuple[str, syntax.Numeral]:
        return "size", self._numeral(children[0])

    def padded(self, _: Meta, children: list[Token]) -> tuple[str, syntax.Numeral]:
        return "padded", self._numeral(children[0])

    def label(self, _: Meta, children: list[Token]) -> tuple[str, syntax.Word]:
        return "label", self._word(children[0])

    def dim_entry(self, _: Meta, children: list[Any]) -> syntax.DimEntry:
        more = dict(children[1:])
        return syntax.DimEntry(self._word(children[0]), more.get("size"), more.get("padded"))

    def dims(self, meta: Meta, children: list[syntax.DimEntry]) -> syntax.DimsLine:
        return syntax.DimsLine(tuple(children), self._span(meta))

    def mesh_entry(self, _: Meta, children: list[Any]) -> syntax.MeshEntry:
        more = dict(children[1:])
        return syntax.MeshEntry(self._word(children[0]), more.get("label"), more.get("size"))

    def mesh(self, meta: Meta, children: list[syntax.MeshEntry]) -> syntax.MeshLine:
        return syntax.MeshLine(tuple(children), self._span(meta))

    def dtype(self, meta: Meta, children: list[Token]) -> syntax.DtypeLine:
        return syntax.DtypeLine(self._word(children[0]), self._span(meta))

    def order(self, meta: Meta, children: list[Token]) -> syntax.OrderLine:
        return syntax.OrderLine(self._word(children[0]), self._span(meta))

    def setting(self, _: Meta, children: list[Token]) -> tuple[syntax.Word, syntax.Numeral]:
        return self._word(children[0]), self._numeral(children[1])

    def phase(self, meta: Meta, children: list[Any]) -> syntax.PhaseLine:
        name, *settings = children
        return syntax.PhaseLine(self._word(name), tuple(settings), self._span(meta))

    def declare(self, meta: Meta, children: list[Any]) -> syntax.DeclareLine:
        kind, name, annotation = children
        return syntax.DeclareLine(self._word(kind), self._word(name), annotation, self._span(meta))

    def define(self, meta: Meta, children: list[Any]) -> syntax.DefineLine:
        name, *annotation, operation = children
        written = annotation[0] if annotation else None
        return syntax.DefineLine(self._word(name), written, operation, self._span(meta))

    def leaving(self, _: Meta, children: list[Token]) -> syntax.Leaving:
        like = self._word(children[1]) if len(children) > 1 else None
        return syntax.Leaving(self._word(children[0]), like)

    def output(self, meta: Meta, children: list[syntax.Leaving]) -> syntax.OutputLine:
        return syntax.OutputLine(tuple(children), self._span(meta))

    def next(self, meta: Meta, children: list[Token]) -> syntax.NextLine:
        carried, value = map(self._word, children)
        return syntax.NextLine(carried, value, self._span(meta))

    def repeat(self, meta: Meta, children: list[Token]) -> syntax.OpenLine:
        return syntax.OpenLine(self._numeral(children[0]), self._span(meta))

    def close(self, meta: Meta, _: list[Token]) -> syntax.CloseLine:
        return syntax.CloseLine(self._span(meta))
