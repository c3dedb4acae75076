"""The two functions of an emitted module: what one chip does, and the reference.

Both are walks over the same statements. The chip's function has every statement; the reference
has no mesh, so that a change of layout there is nothing and its name stands for the operand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from layoutc.codegen import moves
from layoutc.codegen.layouts import AxisNames
from layoutc.codegen.names import respelled
from layoutc.codegen.operations import Spelling, Value, computed, masked
from layoutc.codegen.padding import Masks, masks, padded
from layoutc.codegen.scales import Scales, said, scaled_steps
from layoutc.codegen.tree import (
    Assign,
    Call,
    Expr,
    Function,
    Literal,
    Method,
    Name,
    Return,
    Statement,
    Tuple,
)
from layoutc.dsl.operation import (
    Apply,
    Arithmetic,
    Cast,
    Hold,
    Move,
    Number,
    Operand,
    Product,
    Reduce,
)
from layoutc.dsl.operation import operands as names_of
from layoutc.dsl.program import Declare, Define, Program, Repeat, Type
from layoutc.dsl.shape import Shape, whole


@dataclass(frozen=True, slots=True)
class Scope:
    """What a walk knows: the types and spellings of all names, and on which side it is."""

    types: Mapping[str, Type]
    spelled: Mapping[str, str]
    how: Spelling
    sharded: bool
    carried: frozenset[str]
    scales: Scales
    masks: Masks = field(default_factory=Masks)
    aliases: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, program: Program, axes: AxisNames, sharded: bool) -> Scope:
        types = program.types if sharded else unsharded(program)
        carried = frozenset(
            n.carried for item in program.items if isinstance(item, Repeat) for n in item.nexts
        )
        spelled = respelled(types)
        scales = Scales.of(program, spelled)
        if not sharded:
            how = Spelling(axes, program.dtype)
            return cls(types, spelled, how, sharded, carried, scales)
        how = Spelling(axes, program.dtype, frozenset(padded(program)))
        return cls(types, spelled, how, sharded, carried, scales, masks(program))

    def name(self, name: str) -> Name:
        return Name(self.spelled[self.aliases.get(name, name)])

    def operand(self, operand: Operand) -> Value | Number:
        if isinstance(operand, Number):
            return operand
        return Value(self.name(operand), self.types[operand])

    def notation(self, type_: Type, shape: Shape | None = None) -> str:
        """A line's comment; a dtype is said where it is not the default."""
        dtype = "" if type_.dtype == self.how.default else f" {type_.dtype}"
        return f"{shape or type_.shape}{dtype}"


def unsharded(program: Program) -> dict[str, Type]:
    """Every name's type with nothing split."""
    return {n: replace(t, shape=whole(t.shape.names)) for n, t in program.types.items()}


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
    pairs = _pairs((n for n in names if n not in stacks(program)), scope)
    body = [*_dtype(program, scope, body), *pairs, *body]
    parameters = tuple(scope.spelled[n] for n in names)
    return Function(name, parameters, tuple(body), doc, decorators)


def arguments(program: Program) -> list[Declare]:
    """The declarations in the order of the function's arguments: inputs, weights, caches."""
    declared = [item for item, _ in program.walk() if isinstance(item, Declare)]
    return [d for kind in ("input", "weight", "cache") for d in declared if d.kind == kind]


def returned(program: Program) -> tuple[str, ...]:
    """The names of what the function returns: the outputs, then the caches."""
    caches = (d.name for d in arguments(program) if d.kind == "cache")
    return (*(o.name for o in program.outputs), *caches)


def stacks(program: Program) -> dict[str, int]:
    """The names that are stacks, declared inside a block, and the block's count."""
    blocks = [item for item in program.items if isinstance(item, Repeat)]
    return {i.name: b.count for b in blocks for i in b.body if isinstance(i, Declare)}


def results(program: Program, scope: Scope) -> Expr:
    """The outputs, then the caches; one alone is not in a tuple."""
    values = tuple(_result(n, stacks(program), scope) for n in returned(program))
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


def _pairs(names: Iterable[str], scope: Scope) -> Iterator[Statement]:
    """`w, w_scales = w` for each int8 weight among the names."""
    for name in names:
        if name in scope.scales.dims:
            target = Tuple((scope.name(name), Name(scope.scales.spelled[name])))
            note = f"{scope.notation(scope.types[name])}, {said(scope.scales.dims[name])}"
            yield Assign(target, scope.name(name), note)


def _mentions(tree: object, name: str) -> bool:
    """True if a part of the target tree is the variable `name`."""
    if isinstance(tree, Name):
        return tree.text == name
    if isinstance(tree, tuple | list):
        return any(_mentions(part, name) for part in tree)
    slots = getattr(type(tree), "__slots__", ())
    return any(_mentions(getattr(tree, slot), name) for slot in slots)


# Statements.


def _item(item: Declare | Define | Repeat, scope: Scope) -> Iterator[Statement]:
    match item:
        case Define():
            yield from _define(item, scope, inside=False)
        case Repeat():
            yield from _masked(item, scope)
            yield from _repeat(item, scope)
        case Declare():
            pass


def _masked(item: Define | Repeat, scope: Scope) -> Iterator[Statement]:
    """What has to have zeros in its padding before a statement gets them, once and for all."""
    for name, dim in scope.masks.before.get(item, ()):
        held, target = scope.types[name], scope.name(name)
        value = masked(target, held.shape, dim, scope.how.axes)
        yield Assign(target, value, scope.notation(held))


def _define(define: Define, scope: Scope, inside: bool) -> Iterator[Statement]:
    operation, result = define.operation, scope.types[define.name]
    yield from _masked(define, scope)
    if isinstance(operation, Move | Hold):
        yield from _held(define.name, operation, scope, inside)
        return
    target, operands = scope.name(define.name), [scope.operand(o) for o in _operands(operation)]
    factors = scope.scales.factors(names_of(operation), result.shape, scope.how.axes)
    if factors:
        exact, value = scaled_steps(operation, operands, factors, target, result, scope.how)
        yield Assign(target, exact)
    else:
        value = computed(operation, operands, result, scope.how)
    yield Assign(target, value, scope.notation(result))


def _held(name: str, operation: Move | Hold, scope: Scope, inside: bool) -> Iterator[Statement]:
    """A change of layout: calls on a chip, another name for the same in the reference."""
    operand, result = operation.operand, scope.types[name]
    if scope.sharded and isinstance(operation, Move):
        target = Name(scope.spelled[name])
        before = scope.types[operand].shape
        calls = moves.steps(
            operation, scope.name(operand), target, before, result.shape, scope.how.axes
        )
        for call, shape in calls:
            yield Assign(target, call, scope.notation(result, shape))
    elif scope.sharded or (not inside and operand in scope.carried):
        # A carried name is another value after its block, so that it can't be stood for.
        yield Assign(scope.name(name), scope.name(operand), scope.notation(result))
    else:
        scope.aliases[name] = scope.aliases.get(operand, operand)


def _operands(operation: Product | Arithmetic | Apply | Cast | Reduce) -> tuple[Operand, ...]:
    match operation:
        case Product(left, right) | Arithmetic(_, left, right):
            return (left, right)
        case Apply(_, operand) | Cast(operand) | Reduce(_, _, operand):
            return (operand,)


# Blocks.


def _repeat(block: Repeat, scope: Scope) -> Iterator[Statement]:
    """A scan: what `next` names is carried, the block's own weights come in slices."""
    carry = _together([Name(scope.spelled[n.carried]) for n in block.nexts])
    own = [d.name for d in block.body if isinstance(d, Declare)]
    weights = _together([Name(scope.spelled[n]) for n in own])
    yield _block(block, scope, own)
    keywords = () if own else (("length", Literal(block.count)),)
    args = (Name("block"), carry, *((weights,) if own else ()))
    value = Call("lax.scan", args, keywords)
    note = " and ".join(
        f"{n.carried} : {scope.notation(scope.types[n.carried])}" for n in block.nexts
    )
    yield Assign(Tuple((carry if block.nexts else Name("_"), Name("_"))), value, note)


def _block(block: Repeat, scope: Scope, own: Sequence[str]) -> Function:
    body: list[Statement] = []
    parameters = []
    for name, names in (("carry", [n.carried for n in block.nexts]), ("weights", own)):
        spelled = [Name(scope.spelled[n]) for n in names]
        parameters.append(spelled[0].text if len(names) == 1 else name if names else f"_{name}")
        if len(names) > 1:
            body.append(Assign(Tuple(tuple(spelled)), Name(name)))
    body += _pairs(own, scope)
    for item in block.body:
        if isinstance(item, Define):
            body += _define(item, scope, inside=True)
    body.append(
        Return(
            Tuple(
                (_together([_next(n.carried, n.value, scope) for n in block.nexts]), Literal(None))
            )
        )
    )
    doc = "One repetition: what the next one starts from."
    return Function("block", tuple(parameters), tuple(body), doc)


def _next(carried: str, value: str, scope: Scope) -> Expr:
    """What a repetition hands on, in the dtype that the next one takes."""
    if scope.types[carried].dtype == scope.types[value].dtype:
        return scope.name(value)
    return Method(scope.name(value), "astype", (scope.how.dtype(scope.types[carried].dtype),))


def _together(names: Sequence[Expr]) -> Expr:
    return names[0] if len(names) == 1 else Tuple(tuple(names))
