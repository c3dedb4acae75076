"""The two functions of an emitted module: what one chip does, and the reference.

Both are walks over the same statements. The chip's function has every statement; the reference
has no mesh, so that a change of layout there is nothing and its name stands for the operand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from layoutc.codegen.blocks import repeat
from layoutc.codegen.layouts import AxisNames
from layoutc.codegen.operations import masked
from layoutc.codegen.statements import Scope, define, masked_before, pairs
from layoutc.codegen.tree import Assign, Expr, Function, Name, Return, Statement, Tuple
from layoutc.dsl.program import Declare, Define, Program, Repeat


def function(
    program: Program,
    name: str,
    doc: str,
    axes: AxisNames,
    sharded: bool,
    decorators: tuple[Expr, ...],
) -> Function:
    """The program as a function of its arguments that returns its outputs."""
    scope = Scope.of(program, axes, sharded)
    body = [line for item in program.items for line in _item(item, scope)]
    body.append(Return(results(program, scope)))
    names = [d.name for d in arguments(program)]
    apart = pairs((n for n in names if n not in stacks(program)), scope)
    body = [*_dtype(program, scope, body), *apart, *body]
    parameters = tuple(scope.spelled[n] for n in names)
    return Function(name, parameters, tuple(body), doc, decorators)


def arguments(program: Program) -> list[Declare]:
    """The declarations in the order of the function's arguments: inputs, weights, caches."""
    declared = [item for item, _ in program.walk() if isinstance(item, Declare)]
    return [d for kind in ("input", "weight", "cache") for d in declared if d.kind == kind]


def returned(program: Program) -> tuple[str, ...]:
    """The names of what the function returns: the outputs, then the caches, as they are then."""
    return (*(o.name for o in program.outputs), *caches(program))


def caches(program: Program) -> tuple[str, ...]:
    """The caches, in the order of the function's arguments, of which they are the last."""
    return tuple(d.name for d in arguments(program) if d.kind == "cache")


def stacks(program: Program) -> dict[str, int]:
    """The names that are stacks, declared inside a block, and the block's count."""
    blocks = [item for item in program.items if isinstance(item, Repeat)]
    return {i.name: b.count for b in blocks for i in b.body if isinstance(i, Declare)}


def results(program: Program, scope: Scope) -> Expr:
    """The outputs, then the caches; one alone is not in a tuple."""
    stacked, written = stacks(program), program.written
    names = [o.name for o in program.outputs]
    names += [name if name in stacked else written[name] for name in caches(program)]
    values = tuple(_result(name, stacked, scope) for name in names)
    return values[0] if len(values) == 1 else Tuple(values)


def _result(name: str, stacks: Mapping[str, int], scope: Scope) -> Expr:
    """A value as it leaves: there are zeros in its padding."""
    expr: Expr = scope.name(name)
    for dim in scope.masks.unclean.get(name, ()):
        expr = masked(expr, scope.types[name].shape, dim, scope.how.axes, stacked=name in stacks)
    return expr


def _dtype(program: Program, scope: Scope, body: Iterable[Statement]) -> list[Statement]:
    """`dtype = x.dtype`, where the body speaks of the default dtype."""
    if not _mentions(body, "dtype"):
        return []
    plain = [d for d in arguments(program) if d.name not in scope.scales.dims]
    held = [d for d in plain if d.type.dtype == program.dtype]
    value = f"{scope.spelled[held[0].name]}.dtype" if held else "DTYPE"
    return [Assign(Name("dtype"), Name(value))]


def _mentions(tree: object, name: str) -> bool:
    """True if a part of the target tree is the variable `name`."""
    if isinstance(tree, Name):
        return tree.text == name
    if isinstance(tree, tuple | list):
        return any(_mentions(part, name) for part in tree)
    slots = getattr(type(tree), "__slots__", ())
    return any(_mentions(getattr(tree, slot), name) for slot in slots)


def _item(item: Declare | Define | Repeat, scope: Scope) -> Iterator[Statement]:
    match item:
        case Define():
            yield from define(item, scope, inside=False)
        case Repeat():
            yield from masked_before(item, scope)
            yield from repeat(item, scope)
        case Declare():
            pass
