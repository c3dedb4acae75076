"""Statements as assignments, and what a walk over a program knows at each.

The chip's function has every statement; the reference has no mesh, so that a change of layout there
is nothing and its name stands for the operand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from layoutc.codegen import moves
from layoutc.codegen.layers import layered, write
from layoutc.codegen.layouts import AxisNames
from layoutc.codegen.names import beside, respelled
from layoutc.codegen.operations import Computation, Spelling, Value, computed, masked
from layoutc.codegen.padding import Masks, masks, padded
from layoutc.codegen.scales import Scales, applied, exact, said
from layoutc.codegen.tree import Assign, Call, Expr, Literal, Name, Statement, Tuple
from layoutc.dsl.operation import (
    Apply,
    Arithmetic,
    Cast,
    Hold,
    Layer,
    Move,
    Number,
    Operand,
    Product,
    Reduce,
    operands,
)
from layoutc.dsl.program import Declare, Define, Program, Repeat, Type
from layoutc.dsl.shape import Shape, whole

Computed = Computation | Layer

LAYER = Name("layer")
"""The number of the repetition, inside a block."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What a walk knows: the types and spellings of all names, and on which side it is.

    `stacks` is how the stack of a block's written cache is spelled inside the block, by each of the
    names that the cache goes by there, of which those in `read` are read; `seen` are the names that
    a statement may speak of.
    """

    types: Mapping[str, Type]
    spelled: Mapping[str, str]
    how: Spelling
    sharded: bool
    sizes: Mapping[str, int]
    declared: frozenset[str]
    carried: frozenset[str]
    scales: Scales
    masks: Masks = field(default_factory=Masks)
    stacks: Mapping[str, Name] = field(default_factory=dict)
    read: frozenset[str] = frozenset()
    aliases: dict[str, str] = field(default_factory=dict)
    seen: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, program: Program, axes: AxisNames, sharded: bool) -> Scope:
        types = program.types if sharded else unsharded(program)
        dims = frozenset(padded(program)) if sharded else frozenset[str]()
        spelled = respelled(types)
        return cls(
            types,
            spelled,
            Spelling(axes, program.dtype, dims),
            sharded,
            program.sizes,
            frozenset(item.name for item, _ in program.walk() if isinstance(item, Declare)),
            frozenset(
                n.carried for item in program.items if isinstance(item, Repeat) for n in item.nexts
            ),
            Scales.of(program, spelled),
            masks(program) if sharded else Masks(),
            _stacks(program, spelled),
            frozenset(_read(program)),
            seen=[item.name for item in program.items if isinstance(item, Declare)],
        )

    def name(self, name: str) -> Name:
        return Name(self.spelled[self.aliases.get(name, name)])

    def operand(self, operand: Operand) -> Value | Number:
        if isinstance(operand, Number):
            return operand
        return Value(self.name(operand), self.types[operand])

    def sized(self, dim: str) -> Value | Number:
        """What the size of a dim can be read off: a value, else an argument, else a number."""
        has = [name for name in self.seen if dim in self.types[name].shape]
        first = min(has, key=lambda name: name in self.declared, default=None)
        return self.operand(Number(str(self.sizes[dim])) if first is None else first)

    def notation(self, type_: Type, shape: Shape | None = None) -> str:
        """A line's comment; a dtype is said where it is not the default."""
        dtype = "" if type_.dtype == self.how.default else f" {type_.dtype}"
        return f"{shape or type_.shape}{dtype}"


def unsharded(program: Program) -> dict[str, Type]:
    """Every name's type with nothing split."""
    return {n: replace(t, shape=whole(t.shape.names)) for n, t in program.types.items()}


def written_caches(block: Repeat) -> list[str]:
    """The caches of a block that it writes to."""
    operations = [i.operation for i in block.body if isinstance(i, Define)]
    leads = {o.lead for o in operations if isinstance(o, Layer) and o.kind == "write"}
    return [i.name for i in block.body if isinstance(i, Declare) and i.name in leads]


def _read(program: Program) -> Iterator[str]:
    """What is read inside of blocks; of a cache that is written to, nothing is."""
    for block in program.items:
        if isinstance(block, Repeat):
            yield from (n.value for n in block.nexts)
            for item in block.body:
                match item:
                    case Define(operation=Layer("write") as operation):
                        yield from operation.followers
                    case Define(operation=operation):
                        yield from operands(operation)
                    case Declare():
                        pass


def _stacks(program: Program, spelled: Mapping[str, str]) -> dict[str, Name]:
    blocks = [item for item in program.items if isinstance(item, Repeat)]
    stacked = beside(spelled, (n for block in blocks for n in written_caches(block)), "stack")
    found = {name: Name(text) for name, text in stacked.items()}
    for item in (item for block in blocks for item in block.body):
        match item:
            case Define(name, _, Layer("write") as operation):
                found[name] = found[operation.lead]
            case _:
                pass
    return found


def masked_before(item: Define | Repeat, scope: Scope) -> Iterator[Statement]:
    """What has to have zeros in its padding before a statement gets them, once and for all."""
    for name, dim in scope.masks.before.get(item, ()):
        held, target = scope.types[name], scope.name(name)
        value = masked(target, held.shape, dim, scope.how.axes)
        yield Assign(target, value, scope.notation(held))


def define(item: Define, scope: Scope, inside: bool) -> Iterator[Statement]:
    """The lines of a definition, which stands `inside` a block or outside."""
    operation, result = item.operation, scope.types[item.name]
    yield from masked_before(item, scope)
    match operation:
        case Move() | Hold() | Layer("rename"):
            yield from _held(item.name, operation, scope, inside)
        case Layer("write") if item.name in scope.stacks:
            yield from _written(item.name, operation, scope)
        case _:
            yield from _computed(item.name, operation, result, scope)
    scope.seen.append(item.name)


def _computed(name: str, operation: Computed, result: Type, scope: Scope) -> Iterator[Statement]:
    """One line; two where an int8 weight's scales are applied to what its whole numbers give."""
    target = scope.name(name)
    factors = scope.scales.factors(operands(operation), result.shape, scope.how.axes)
    if not factors:
        yield Assign(target, _value(operation, result, scope), scope.notation(result))
        return
    if isinstance(operation, Product):
        values = [scope.operand(o) for o in _operands(operation)]
        yield Assign(target, exact(values, result.shape, scope.how))
    else:
        yield Assign(target, _value(operation, replace(result, dtype="f32"), scope))
    yield Assign(target, applied(target, factors, result, scope.how), scope.notation(result))


def _value(operation: Computed, result: Type, scope: Scope) -> Expr:
    values = [scope.operand(o) for o in _operands(operation)]
    if not isinstance(operation, Layer):
        return computed(operation, values, result, scope.how)
    if operation.kind == "scale":
        values.append(scope.sized(operation.dims[0]))
    return layered(operation, values, result, scope.how)


def pairs(names: Iterable[str], scope: Scope) -> Iterator[Statement]:
    """`w, w_scales = w` for each int8 weight among the names."""
    for name in names:
        if name in scope.scales.dims:
            target = Tuple((scope.name(name), Name(scope.scales.spelled[name])))
            note = f"{scope.notation(scope.types[name])}, {said(scope.scales.dims[name])}"
            yield Assign(target, scope.name(name), note)


def _held(
    name: str, operation: Move | Hold | Layer, scope: Scope, inside: bool
) -> Iterator[Statement]:
    """A change of layout: calls on a chip, another name for the same in the reference."""
    operand = operation.lead if isinstance(operation, Layer) else operation.operand
    result = scope.types[name]
    if scope.sharded and isinstance(operation, Move):
        target = Name(scope.spelled[name])
        before = scope.types[operand].shape
        calls = moves.steps(
            operation, scope.name(operand), target, before, result.shape, scope.how.axes
        )
        for call, shape in calls:
            yield Assign(target, call, scope.notation(result, shape))
    elif scope.sharded or name in scope.carried or (not inside and operand in scope.carried):
        # A carried name is another value after its block, so that it can't be stood for, and it
        # stands for none.
        yield Assign(scope.name(name), scope.name(operand), scope.notation(result))
    else:
        scope.aliases[name] = scope.aliases.get(operand, operand)


def _written(name: str, operation: Layer, scope: Scope) -> Iterator[Statement]:
    """Inside a block the stack is written to: of a layer that were a copy, there and back."""
    stack, held = scope.stacks[name], scope.types[name]
    values = [Value(stack, held), *map(scope.operand, operation.operands[1:])]
    yield Assign(stack, write(operation, values, scope.how, LAYER), "in place")
    yield from read_layer(name, scope)


def read_layer(name: str, scope: Scope) -> Iterator[Statement]:
    """What a stack holds for a repetition, where something reads it under this name."""
    if name in scope.read:
        args = (scope.stacks[name], LAYER)
        value = Call("lax.dynamic_index_in_dim", args, (("keepdims", Literal(False)),))
        yield Assign(scope.name(name), value, scope.notation(scope.types[name]))


def _operands(operation: Computed) -> tuple[Operand, ...]:
    match operation:
        case Product(left, right) | Arithmetic(_, left, right):
            return (left, right)
        case Apply(_, operand) | Cast(operand) | Reduce(_, _, operand):
            return (operand,)
        case Layer(operands=several):
            return several
