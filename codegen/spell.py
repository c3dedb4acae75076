"""The printer of the target tree. It knows spelling and nothing else.

What it cannot say: lambdas, comprehensions, conditions, loops, classes, annotations, default
values, slices other than `:`, f-strings, unary signs (a negative number is a literal), and
docstrings of several lines. Whatever needs those is fixed text (`layoutc.codegen.fixed`).

Lines are at most WIDTH long where brackets let them be broken. Comments of neighbouring lines
start in one column; one that does not fit beside its line stands above it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import assert_never

from layoutc.codegen.tree import (
    Assign,
    Binary,
    Broadcast,
    Call,
    Expr,
    Extent,
    Function,
    Literal,
    Method,
    Name,
    Return,
    Statement,
    Tuple,
)

WIDTH = 99
INDENT = "    "


def expression(expr: Expr) -> str:
    """`expr` on one line."""
    match expr:
        case Name(text):
            return text
        case Literal(value):
            return string(value) if isinstance(value, str) else repr(value)
        case Tuple(items):
            return f"({', '.join(map(expression, items))}{',' if len(items) == 1 else ''})"
        case Call(function, _, _):
            return f"{function}({', '.join(_arguments(expr))})"
        case Method(value, name, args):
            return f"{_tight(value)}.{name}({', '.join(map(expression, args))})"
        case Binary(sign, left, right):
            return f"{_tight(left)} {sign} {_tight(right)}"
        case Extent(value, dim):
            return f"{_tight(value)}.shape[{dim}]"
        case Broadcast(value, kept):
            return f"{_tight(value)}[{', '.join(':' if k else 'None' for k in kept)}]"
        case _:
            assert_never(expr)


def string(text: str) -> str:
    """A string literal in double quotes; what JSON escapes, Python reads back."""
    return json.dumps(text)


def statements(body: Iterable[Statement], depth: int = 0) -> list[str]:
    """The lines of `body`."""
    lines = []
    for assigns, group in groupby(body, lambda s: isinstance(s, Assign)):
        if assigns:
            lines += _assignments([s for s in group if isinstance(s, Assign)], depth)
        else:
            lines += [line for s in group for line in _statement(s, depth)]
    return lines


def _statement(statement: Statement, depth: int) -> list[str]:
    match statement:
        case Assign():
            return _assignments([statement], depth)
        case Return(value):
            flat = f"{INDENT * depth}return {_target(value)}"
            return [flat] if len(flat) <= WIDTH else _broken("return ", value, depth)
        case Function():
            return _function(statement, depth)
        case _:
            assert_never(statement)


def _function(function: Function, depth: int) -> list[str]:
    pad = INDENT * depth
    lines = [line for d in function.decorators for line in _broken("@", d, depth)]
    lines += [f"{pad}def {function.name}({', '.join(function.parameters)}):"]
    if len(lines[-1]) > WIDTH:
        inner = [f"{pad}{INDENT}{p}," for p in function.parameters]
        lines[-1:] = [f"{pad}def {function.name}(", *inner, f"{pad}):"]
    if function.doc:
        lines.append(f'{pad}{INDENT}"""{function.doc}"""')
    nested = depth > 0
    return ([""] if nested else []) + lines + statements(function.body, depth + 1) + [""] * nested


def _assignments(assigns: Sequence[Assign], depth: int) -> list[str]:
    """Neighbouring assignments, their comments in one column."""
    spelled = [_broken(f"{_target(a.target)} = ", a.value, depth) for a in assigns]
    notes = [a.comment for a in assigns]
    beside = [
        len(lines[-1])
        for lines, note in zip(spelled, notes, strict=True)
        if note and len(lines[-1]) + 4 + len(note) <= WIDTH
    ]
    room = WIDTH - 4 - max(map(len, notes), default=0)
    column = max((b for b in beside if b <= room), default=0)
    return [
        line
        for lines, note in zip(spelled, notes, strict=True)
        for line in _commented(lines, note, column, depth)
    ]


def _commented(lines: list[str], note: str, column: int, depth: int) -> list[str]:
    if not note:
        return lines
    last = f"{lines[-1]:<{column}}  # {note}"
    if len(last) > WIDTH:
        last = f"{lines[-1]}  # {note}"
    if len(last) > WIDTH:
        return [f"{INDENT * depth}# {note}", *lines]
    return [*lines[:-1], last]


def _target(target: Expr) -> str:
    """An expression where a tuple needs no parentheses."""
    match target:
        case Tuple(items) if len(items) > 1:
            return ", ".join(map(expression, items))
        case _:
            return expression(target)


def _broken(prefix: str, value: Expr, depth: int) -> list[str]:
    """`prefix value` on one line if it fits, else with one argument to a line, likewise."""
    pad = INDENT * depth
    flat = f"{pad}{prefix}{expression(value)}"
    if len(flat) <= WIDTH:
        return [flat]
    match value:
        case Call(function, args, keywords):
            opening, inner, closing = f"{function}(", _named(args, keywords), ")"
        case Tuple(items):
            opening, inner, closing = "(", _named(items), ")"
        case Method(Call(function, args, keywords), name, rest):
            tail = ", ".join(map(expression, rest))
            opening, inner, closing = f"{function}(", _named(args, keywords), f").{name}({tail})"
        case Method(Binary() as operand, name, args):
            tail = f").{name}({', '.join(map(expression, args))})"
            return [f"{pad}{prefix}(", f"{pad}{INDENT}{expression(operand)}", f"{pad}{tail}"]
        case _:
            return [f"{pad}{prefix}(", f"{pad}{INDENT}{expression(value)}", f"{pad})"]
    lines = [line for key, item in inner for line in _item(key, item, depth + 1)]
    return [f"{pad}{prefix}{opening}", *lines, f"{pad}{closing}"]


def _named(
    args: Sequence[Expr], keywords: Sequence[tuple[str, Expr]] = ()
) -> list[tuple[str, Expr]]:
    """Arguments with what stands before each of them."""
    return [*(("", arg) for arg in args), *((f"{key}=", value) for key, value in keywords)]


def _item(key: str, value: Expr, depth: int) -> list[str]:
    """An argument on a line of its own, or on several where it is a list that is too long."""
    flat = f"{INDENT * depth}{key}{expression(value)},"
    if len(flat) <= WIDTH or not isinstance(value, Call | Tuple):
        return [flat]
    *lines, last = _broken(key, value, depth)
    return [*lines, f"{last},"]


def _arguments(call: Call) -> list[str]:
    return [f"{key}{expression(value)}" for key, value in _named(call.args, call.keywords)]


def _tight(expr: Expr) -> str:
    """`expr` as an operand: in parentheses where Python would read it otherwise."""
    text = expression(expr)
    return f"({text})" if isinstance(expr, Binary) else text
