"""What a program computes, in float64 and without a mesh: the truth that all else is held to.

`run` walks a program's statements and leaves values to a `Machine`; `Dense` is the machine with
whole arrays. The simulator is another, with a block on each chip.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from dense_layers import layer

from layoutc.dsl.operation import (
    Apply,
    Arithmetic,
    Cast,
    Hold,
    Layer,
    Move,
    Number,
    Operation,
    Product,
    Reduce,
)
from layoutc.dsl.operation import operands as names_of
from layoutc.dsl.program import Declare, Define, Program, Repeat
from layoutc.dsl.shape import Shape

Array = np.ndarray[Any, Any]

FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "relu": lambda a: np.maximum(a, 0),
    "gelu": lambda a: a / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (a + 0.044715 * a**3))),
    "gelu_erf": lambda a: a / 2 * (1 + np.vectorize(math.erf)(a / math.sqrt(2))),
    "silu": lambda a: a / (1 + np.exp(-a)),
    "sigmoid": lambda a: 1 / (1 + np.exp(-a)),
    "tanh": np.tanh,
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "sqrt": np.sqrt,
    "rsqrt": lambda a: 1 / np.sqrt(a),
    "square": np.square,
    "neg": np.negative,
    "abs": np.abs,
}


class Machine(Protocol):
    """Where values live. `Any` is a value of the machine's own kind."""

    def declare(self, array: Array, shape: Shape) -> Any: ...

    def compute(
        self,
        operation: Operation,
        values: Mapping[str, Any],
        shapes: Mapping[str, Shape],
        to: Shape,
    ) -> Any: ...

    def result(self, value: Any, shape: Shape) -> Array: ...


@dataclass(frozen=True)
class Dense:
    """Whole arrays; a change of layout is nothing. `sizes` are those of the dims."""

    sizes: Mapping[str, int]

    def declare(self, array: Array, shape: Shape) -> Array:
        return array.astype(np.float64)

    def compute(
        self,
        operation: Operation,
        values: Mapping[str, Array],
        shapes: Mapping[str, Shape],
        to: Shape,
    ) -> Array:
        if isinstance(operation, Move):
            return values[operation.operand]
        if isinstance(operation, Layer):
            return layer(
                operation, values, {n: s.names for n, s in shapes.items()}, to.names, self.sizes
            )
        return block_of(operation, values, {n: s.names for n, s in shapes.items()}, to.names)

    def result(self, value: Array, shape: Shape) -> Array:
        return value


def run(
    program: Program, arrays: Mapping[str, Array], machine: Machine | None = None
) -> list[Array]:
    """The outputs, then the caches, of `program` on whole arrays by name (stacks are stacks)."""
    sizes = _sizes(program, arrays)
    machine = machine or Dense(sizes)
    types, values, stacks = program.types, dict[str, Any](), dict[str, Array]()
    for item in program.items:
        if isinstance(item, Repeat):
            stacks |= _repeat(item, program, arrays, machine, values)
        else:
            _item(item, program, arrays, machine, values)
    written = program.written
    names = [o.name for o in program.outputs] + [n for c, n in written.items() if c not in stacks]
    results = {n: machine.result(values[n], types[n].shape) for n in names} | stacks
    return [results[o.name] for o in program.outputs] + [
        results[cache if cache in stacks else name] for cache, name in written.items()
    ]


def _sizes(program: Program, arrays: Mapping[str, Array]) -> dict[str, int]:
    """The sizes of the dims, where arrays have other ones than the program says theirs."""
    sizes = program.sizes
    for item, _ in program.walk():
        if isinstance(item, Declare):
            names = item.type.shape.names
            sizes |= zip(names, arrays[item.name].shape[-len(names) :], strict=True)
    return sizes


def _repeat(
    block: Repeat,
    program: Program,
    arrays: Mapping[str, Array],
    machine: Machine,
    values: dict[str, Any],
) -> dict[str, Array]:
    """What becomes of the block's caches."""
    own = {d.name for d in block.body if isinstance(d, Declare)}
    count = min([len(arrays[n]) for n in own], default=block.count)
    ends = {c: name for c, name in program.written.items() if c in own}
    layers: dict[str, list[Array]] = {c: [] for c in ends}
    for number in range(count):
        inner = dict(values)
        slices = {n: a[number] if n in own else a for n, a in arrays.items()}
        for item in block.body:
            _item(item, program, slices, machine, inner)
        values.update({n.carried: inner[n.value] for n in block.nexts})
        for cache, name in ends.items():
            layers[cache].append(machine.result(inner[name], program.types[name].shape))
    return {cache: np.stack(found) for cache, found in layers.items()}


def _item(
    item: Declare | Define,
    program: Program,
    arrays: Mapping[str, Array],
    machine: Machine,
    values: dict[str, Any],
) -> None:
    shape = item.type.shape
    if isinstance(item, Declare):
        values[item.name] = machine.declare(arrays[item.name], shape)
        return
    shapes = {n: program.types[n].shape for n in names_of(item.operation)}
    values[item.name] = machine.compute(
        item.operation, {n: values[n] for n in shapes}, shapes, shape
    )


def block_of(
    operation: Operation,
    values: Mapping[str, Array],
    dims: Mapping[str, Sequence[str]],
    to: Sequence[str],
) -> Array:
    """What an operation gives of arrays with the dims `dims`: those of a chip, or whole ones."""
    match operation:
        case Product(left, right):
            args: list[Any] = []
            letters = sorted({d for names in dims.values() for d in names})
            for side in (left, right):
                if isinstance(side, Number):
                    args += [np.float64(side.value), []]
                else:
                    args += [values[side], [letters.index(d) for d in dims[side]]]
            return np.asarray(np.einsum(*args, [letters.index(d) for d in to]))
        case Arithmetic(sign, left, right):
            one, other = (
                np.float64(s.value) if isinstance(s, Number) else _spread(values[s], dims[s], to)
                for s in (left, right)
            )
            return one + other if sign == "+" else one - other if sign == "-" else one / other
        case Apply(function, name):
            return FUNCTIONS[function](values[name])
        case Reduce(kind, gone, name):
            along = tuple(dims[name].index(d) for d in gone)
            return np.asarray(getattr(np, kind)(values[name], axis=along))
        case Cast(name) | Hold(name):
            return values[name]
        case Move() | Layer():
            raise AssertionError("a move is the machine's business, as is a layer's operation")


def _spread(array: Array, dims: Sequence[str], to: Sequence[str]) -> Array:
    """`array` with its dims in the order of `to`, and 1 where it has none."""
    array = np.transpose(array, [dims.index(d) for d in to if d in dims])
    return np.expand_dims(array, tuple(i for i, d in enumerate(to) if d not in dims))
