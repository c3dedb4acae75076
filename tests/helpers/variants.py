"""The same program written otherwise: statements in another order, everything called otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from layoutc.dsl.operation import (
    Arithmetic,
    Move,
    Number,
    Operand,
    Operation,
    Product,
    Reduce,
    operands,
)
from layoutc.dsl.program import Declare, Define, Next, Output, Program, Repeat
from layoutc.dsl.shape import Shape

Line = Declare | Define


def reordered(program: Program, random: Random) -> Program:
    """The statements in a random order in which each name still stands before its uses.

    Around a block, where a carried name changes its meaning, statements keep their sides.
    """
    items: list[Line | Repeat] = []
    run: list[Line] = []
    for item in program.items:
        if isinstance(item, Repeat):
            body = tuple(_shuffled(item.body, random))
            items += [*_shuffled(run, random), replace(item, body=body)]
            run = []
        else:
            run.append(item)
    outputs = random.sample(program.outputs, len(program.outputs))
    return replace(program, items=(*items, *_shuffled(run, random)), outputs=tuple(outputs))


def _shuffled(lines: Sequence[Line], random: Random) -> list[Line]:
    """One after the other, any line whose operands are there."""
    waiting, done = list(lines), list[Line]()
    while waiting:
        missing = {line.name for line in waiting}
        ready = [line for line in waiting if not missing.intersection(_read(line))]
        done.append(random.choice(ready))
        waiting.remove(done[-1])
    return done


def _read(line: Line) -> tuple[str, ...]:
    return operands(line.operation) if isinstance(line, Define) else ()


def renamed(program: Program, random: Random) -> Program:
    """Other names for tensors, dims and axes; dims and axes declared in another order."""
    axes = _others([a.name for a in program.axes], "uvwxyz", random)
    letters = [c for c in "BCDEGHKLMNPQRST" if c.lower() not in axes.values()]
    dims = _others(list(program.dims), letters, random)
    names = [item.name for item, _ in program.walk()]
    tensors = _others(names, [f"t{i}" for i in range(len(names))], random)
    return _Renaming(dims, axes, tensors).program(program, random)


def _others(names: Sequence[str], pool: Sequence[str], random: Random) -> dict[str, str]:
    return dict(zip(names, random.sample(pool, len(names)), strict=True))


@dataclass(frozen=True, slots=True)
class _Renaming:
    dims: Mapping[str, str]
    axes: Mapping[str, str]
    tensors: Mapping[str, str]

    def program(self, old: Program, random: Random) -> Program:
        dims = random.sample([(self.dims[d], size) for d, size in old.dims.items()], len(old.dims))
        axes = random.sample([replace(a, name=self.axes[a.name]) for a in old.axes], len(old.axes))
        items = tuple(self.item(item) for item in old.items)
        outputs = tuple(Output(self.tensors[o.name], o.like and self.tensors[o.like])
                        for o in old.outputs)  # fmt: skip
        return replace(old, dims=dict(dims), axes=tuple(axes), items=items, outputs=outputs)

    def item(self, item: Line | Repeat) -> Line | Repeat:
        if isinstance(item, Repeat):
            body = tuple(self.line(line) for line in item.body)
            nexts = tuple(Next(self.tensors[n.carried], self.tensors[n.value]) for n in item.nexts)
            return Repeat(item.count, body, nexts)
        return self.line(item)

    def line(self, line: Line) -> Line:
        held = replace(line.type, shape=self.shape(line.type.shape))
        new = replace(line, name=self.tensors[line.name], type=held)
        if isinstance(new, Define):
            return replace(new, operation=self.operation(new.operation))
        return new

    def shape(self, shape: Shape) -> Shape:
        dims = tuple(
            replace(d, name=self.dims[d.name], axes=tuple(self.axes[a] for a in d.axes))
            for d in shape
        )
        return replace(shape, dims=dims, partial=tuple(self.axes[a] for a in shape.partial))

    def operation(self, operation: Operation) -> Operation:
        if isinstance(operation, Product | Arithmetic):
            left, right = self.operand(operation.left), self.operand(operation.right)
            return replace(operation, left=left, right=right)
        new = replace(operation, operand=self.tensors[operation.operand])
        if isinstance(new, Reduce):
            return replace(new, dims=tuple(self.dims[d] for d in new.dims))
        if isinstance(new, Move):
            return replace(new, axes=tuple(self.axes[a] for a in new.axes))
        return new

    def operand(self, operand: Operand) -> Operand:
        return operand if isinstance(operand, Number) else self.tensors[operand]
