"""How long the activations of an explicit program live, and what they take at their peak."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import accumulate

from layoutc.dsl.operation import Hold, Layer, Operation, operands
from layoutc.dsl.program import Declare, Define, Program, Repeat, Type


@dataclass(frozen=True, slots=True)
class Peak:
    """The most `bytes` of activations alive at once, and the `names` that they go by."""

    bytes: int
    names: tuple[str, ...]


def peak(program: Program, size: Callable[[Type], int]) -> Peak:
    """The largest set of activations alive at once, `size` being one tensor's bytes."""
    found = lives(program)
    buffers = [Buffer(size(life.type), life.born, life.last, life.name) for life in found]
    taken = alive(buffers, ends(found))
    when = max(range(len(taken)), key=taken.__getitem__)
    there = (b.name for b in buffers if b.born <= when <= b.last)
    return Peak(taken[when], tuple(there))


@dataclass(slots=True, eq=False)
class Buffer:
    """Memory of `bytes`, in use from the statement `born` to the statement `last`, inclusive."""

    bytes: int
    born: int
    last: int
    name: str = ""


def alive(buffers: Iterable[Buffer], length: int) -> list[int]:
    """The bytes in use at each of `length` statements."""
    changes = [0] * (length + 1)
    for buffer in buffers:
        changes[buffer.born] += buffer.bytes
        changes[buffer.last + 1] -= buffer.bytes
    return list(accumulate(changes))[:length]


@dataclass(slots=True, eq=False)
class Life:
    """An activation, alive from the statement `born` to the statement `last`, inclusive."""

    type: Type
    born: int
    last: int
    name: str


def lives(program: Program) -> list[Life]:
    """The activations of an explicit program, statements counted from 0, where inputs come in.

    An activation is alive from its statement to its last use: an input from the start, an output
    to the end, what a block reads from outside through the whole block. A statement's operands
    and its result are alive together. `y = a` is the same memory under another name, and so are a
    renamed dim and a cache that was written. Weights and caches are always there and are not
    counted here.
    """
    timeline = _Timeline()
    for item in program.items:
        timeline.item(item)
    for output in program.outputs:
        timeline.read(output.name)
    return timeline.lives


def ends(found: Iterable[Life]) -> int:
    """How many statements there are until the last activation is gone."""
    return 1 + max((life.last for life in found), default=0)


@dataclass(slots=True)
class _Timeline:
    """The program's statements in order, `now` being the number of the last one seen."""

    now: int = 0
    lives: list[Life] = field(default_factory=list)
    of: dict[str, Life] = field(default_factory=dict)
    """The life of each name in sight; weights and caches have none."""

    def item(self, item: Declare | Define | Repeat) -> None:
        match item:
            case Declare("input"):
                self.of[item.name] = self.life(item.name, item.type, born=0)
            case Declare():
                pass
            case Define():
                self.define(item)
            case Repeat():
                self.repeat(item)

    def life(self, name: str, held_as: Type, born: int) -> Life:
        self.lives.append(Life(held_as, born, born, name))
        return self.lives[-1]

    def read(self, name: str) -> None:
        if name in self.of:
            self.of[name].last = self.now

    def define(self, item: Define) -> None:
        self.now += 1
        for name in operands(item.operation):
            self.read(name)
        same = _renamed(item.operation)
        if same is None:
            self.of[item.name] = self.life(item.name, item.type, self.now)
        elif same in self.of:
            self.of[item.name] = self.of[same]

    def repeat(self, block: Repeat) -> None:
        """One repetition stands for all: what one reads from outside, the next reads too."""
        before, start = len(self.lives), self.now
        outside = dict(self.of)
        for item in block.nexts:
            self.carry(item.carried)
        for inner in block.body:
            self.item(inner)
        for life in self.lives[:before]:
            if life.last > start:
                life.last = self.now
        for item in block.nexts:
            self.read(item.value)
        after = {i.carried: self.of[i.value] for i in block.nexts if i.value in self.of}
        self.of = {**outside, **after}

    def carry(self, name: str) -> None:
        """Inside, a carried name is memory of its own: the outer one's only at first."""
        self.read(name)
        if name in self.of:
            self.of[name] = self.life(name, self.of[name].type, self.now + 1)


def _renamed(operation: Operation) -> str | None:
    """The operand whose memory the result is, if it is that of one."""
    match operation:
        case Hold(operand):
            return operand
        case Layer("write" | "rename"):
            return operation.lead
        case _:
            return None
