"""A `repeat` as a scan.

What `next` names is carried. The block's own weights come in slices. A cache that is written is
carried too, as the stack that it is, and each repetition writes to its own layer in place: were the
layers handed in and out as slices, there would be two stacks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from layoutc.codegen.statements import LAYER, Scope, define, pairs, read_layer, written_caches
from layoutc.codegen.tree import (
    Assign,
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
from layoutc.dsl.program import Declare, Define, Repeat


def repeat(block: Repeat, scope: Scope) -> Iterator[Statement]:
    """The function of one repetition, and the scan over all of them."""
    caches = written_caches(block)
    carry = [Name(scope.spelled[n]) for n in (*(n.carried for n in block.nexts), *caches)]
    own: list[Expr] = [Name(scope.spelled[n]) for n in _slices(block, caches)]
    yield _function(block, caches, scope)
    if caches:
        own.insert(0, Call("jnp.arange", (Extent(Name(scope.spelled[caches[0]]), 0),)))
    keywords = () if own else (("length", Literal(block.count)),)
    args = (Name("block"), _together(carry), *((_together(own),) if own else ()))
    value = Call("lax.scan", args, keywords)
    note = " and ".join(
        f"{n.carried} : {scope.notation(scope.types[n.carried])}" for n in block.nexts
    )
    yield Assign(Tuple((_together(carry) if carry else Name("_"), Name("_"))), value, note)


def _slices(block: Repeat, caches: Sequence[str]) -> list[str]:
    """What a repetition has of its own, written caches aside."""
    return [d.name for d in block.body if isinstance(d, Declare) and d.name not in caches]


def _function(block: Repeat, caches: Sequence[str], scope: Scope) -> Function:
    carried = [Name(scope.spelled[n.carried]) for n in block.nexts]
    stacks = [scope.stacks[c] for c in caches]
    own = [Name(scope.spelled[n]) for n in _slices(block, caches)]
    own = [LAYER, *own] if caches else own
    body: list[Statement] = []
    parameters = []
    for name, values in (("carry", [*carried, *stacks]), ("own" if caches else "weights", own)):
        parameters.append(_parameter(name, values))
        if len(values) > 1:
            body.append(Assign(Tuple(tuple(values)), Name(name)))
    body += pairs(_slices(block, caches), scope)
    body += _body(block, caches, scope)
    ends = [_next(n.carried, n.value, scope) for n in block.nexts]
    body.append(Return(Tuple((_together([*ends, *stacks]), Literal(None)))))
    doc = "One repetition: what the next one starts from."
    return Function("block", tuple(parameters), tuple(body), doc)


def _parameter(name: str, values: Sequence[Name]) -> str:
    """What a parameter is called that has these values, of which there may be one or none."""
    if len(values) == 1:
        return values[0].text
    return name if values else f"_{name}"


def _body(block: Repeat, caches: Sequence[str], scope: Scope) -> Iterator[Statement]:
    outside = len(scope.seen)
    scope.seen.extend(item.name for item in block.body if isinstance(item, Declare))
    for name in caches:
        yield from read_layer(name, scope)
    for item in block.body:
        if isinstance(item, Define):
            yield from define(item, scope, inside=True)
    del scope.seen[outside:]


def _next(carried: str, value: str, scope: Scope) -> Expr:
    """What a repetition hands on, in the dtype that the next one takes."""
    if scope.types[carried].dtype == scope.types[value].dtype:
        return scope.name(value)
    return Method(scope.name(value), "astype", (scope.how.dtype(scope.types[carried].dtype),))


def _together(names: Sequence[Expr]) -> Expr:
    return names[0] if len(names) == 1 else Tuple(tuple(names))
