"""Which values of a program are the same, and which reach its outputs: what XLA may leave out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from layoutc.dsl.operation import (
    Apply,
    Arithmetic,
    Cast,
    Hold,
    Layer,
    Move,
    Operand,
    Operation,
    Product,
    Reduce,
    operands,
)
from layoutc.dsl.program import Declare, Define, Program, Repeat


@dataclass(frozen=True, slots=True)
class Values:
    """`number` is the same for two names whose values are computed alike from the same; `live`
    are the names that an output, a cache or another live name needs; `steady` those in a block
    that are the same in every repetition."""

    number: Mapping[str, int]
    live: frozenset[str]
    steady: frozenset[str]


def values(program: Program) -> Values:
    """Of an explicit program. What a block carries is numbered anew inside it and after it."""
    steady = (_steady(item) for item in program.items if isinstance(item, Repeat))
    return Values(_Numbers().of(program), frozenset(_live(program)), frozenset().union(*steady))


class _Numbers:
    def __init__(self) -> None:
        self.number: dict[str, int] = {}
        self.known: dict[object, int] = {}

    def of(self, program: Program) -> dict[str, int]:
        for item in program.items:
            if isinstance(item, Repeat):
                self.anew(n.carried for n in item.nexts)
                for inner in item.body:
                    self.one(inner)
                self.anew(n.carried for n in item.nexts)
            else:
                self.one(item)
        return self.number

    def anew(self, names: Iterable[str]) -> None:
        for name in names:
            self.number[name] = self.known.setdefault(object(), len(self.known))

    def one(self, item: Declare | Define) -> None:
        if isinstance(item, Define) and isinstance(item.operation, Hold):
            self.number[item.name] = self.number[item.operation.operand]
            return
        key = (self.resolved(item.operation), item.type) if isinstance(item, Define) else item.name
        self.number[item.name] = self.known.setdefault(key, len(self.known))

    def resolved(self, operation: Operation) -> object:
        """The operation with numbers for names."""

        def one(operand: Operand) -> str:
            return f"%{self.number[operand]}" if isinstance(operand, str) else operand.text

        match operation:
            case Product(left, right):
                return Product(one(left), one(right))
            case Arithmetic(sign, left, right):
                return Arithmetic(sign, one(left), one(right))
            case Layer():
                return replace(operation, operands=tuple(map(one, operation.operands)))
            case Reduce() | Apply() | Cast() | Hold() | Move():
                return replace(operation, operand=one(operation.operand))


def _live(program: Program) -> set[str]:
    """Backwards from the outputs and from what the caches are in the end, until a round brings
    nothing new: blocks feed themselves."""
    needs = {i.name: operands(i.operation) for i, _ in program.walk() if isinstance(i, Define)}
    feeds = {
        n.carried: n.value for item in program.items if isinstance(item, Repeat) for n in item.nexts
    }
    live: set[str] = set()
    open_ = [o.name for o in program.outputs]
    open_ += program.written.values()
    while open_:
        name = open_.pop()
        if name not in live:
            live.add(name)
            open_ += needs.get(name, ())
            open_ += [feeds[name]] if name in feeds else []
    return live


def _steady(block: Repeat) -> frozenset[str]:
    """What depends neither on what is carried nor on the repetition's own weights."""
    changing = {n.carried for n in block.nexts}
    steady = set()
    for item in block.body:
        if isinstance(item, Declare) or changing.intersection(operands(item.operation)):
            changing.add(item.name)
        else:
            steady.add(item.name)
    return frozenset(steady)
