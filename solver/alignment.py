"""Two explicit programs side by side: which statement of the one answers which of the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from layoutc.dsl.operation import Apply, Arithmetic, Move, Reduce
from layoutc.dsl.program import Define
from layoutc.solver.price import StatementPrice

Pair = tuple[StatementPrice | None, StatementPrice | None]
"""A statement of each; None where the other has none that does the same."""


def aligned(first: Sequence[StatementPrice], second: Sequence[StatementPrice]) -> Iterator[Pair]:
    """Every statement of both, in order. Those are paired that do the same to the same dims,
    whatever they are called and however they are held."""
    one, other = ([_does(p.define) for p in prices] for prices in (first, second))
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    for tag, a, a_end, b, b_end in matcher.get_opcodes():
        if tag == "equal":
            yield from zip(first[a:a_end], second[b:b_end], strict=True)
        else:
            yield from ((price, None) for price in first[a:a_end])
            yield from ((None, price) for price in second[b:b_end])


def _does(define: Define) -> tuple[object, ...]:
    """What a statement does, names and layouts aside."""
    operation = define.operation
    detail: object = None
    match operation:
        case Apply(function, _):
            detail = function
        case Arithmetic(sign, _, _):
            detail = sign
        case Reduce(kind, dims, _):
            detail = kind, dims
        case Move(kind, _, _):
            detail = kind
    return type(operation), detail, frozenset(define.type.shape.names)
