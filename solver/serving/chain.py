"""The longest chain of an explicit program: what waits for one thing after another.

Statements that don't need each other start together, so that what a pass pays for starting is not
a sum over its statements but over the longest chain of them. Bytes and work add up all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from layoutc.dsl.operation import Move, operands
from layoutc.dsl.program import Declare, Define, Item, Program, Repeat, Type
from layoutc.solver.collectives import moves_nothing, sending
from layoutc.solver.hardware import timing
from layoutc.solver.hardware.fabric import Fabric
from layoutc.solver.hardware.reached import Reached
from layoutc.solver.matmuls import matmul
from layoutc.solver.serving.terms import Number


@dataclass(frozen=True, slots=True)
class Chain:
    """`launches` one after another: of a matmul one, of a collective one for each of the axes or
    tiers that it goes over in turn; and the `latency` of those collectives, seconds of starts and
    hops. Chains side by side are arrays of these."""

    launches: Number = 0.0
    latency: Number = 0.0

    def __add__(self, other: Chain) -> Chain:
        return Chain(self.launches + other.launches, self.latency + other.latency)

    def __mul__(self, times: Number) -> Chain:
        return Chain(times * self.launches, times * self.latency)

    def seconds(self, reached: Reached) -> Number:
        """What all of it takes."""
        return self.launches * reached.launch + self.latency * reached.latency


NOTHING = Chain()


@dataclass(frozen=True, slots=True)
class Way:
    """A chain through a program: what of it is in repeated blocks, and what is beside them."""

    block: Chain = NOTHING
    beside: Chain = NOTHING

    def then(self, own: Chain) -> Way:
        """With something more beside the blocks."""
        return Way(self.block, self.beside + own)

    def seconds(self, reached: Reached) -> float:
        """What all of it takes."""
        return float((self.block + self.beside).seconds(reached))


def longest(program: Program, fabric: Fabric, reached: Reached) -> tuple[Chain, Chain]:
    """Of the longest chain what is in the repeated block, all its repetitions, and what is beside.

    `fabric` has the machine's own figures. Which chain is longest hangs on what is `reached`.
    """
    finder = _Finder(program.types, fabric, reached)
    finder.items(program.items)
    way = finder.ending()
    return way.block, way.beside


@dataclass(slots=True)
class _Finder:
    """Statement by statement; `at` has the way that each name comes at the end of, and `over` those
    of the blocks."""

    types: Mapping[str, Type]
    fabric: Fabric
    reached: Reached
    at: dict[str, Way] = field(default_factory=dict)
    over: list[Way] = field(default_factory=list)

    def items(self, items: Sequence[Item]) -> None:
        for item in items:
            match item:
                case Declare():
                    pass
                case Define():
                    before = self._last(self._ways(operands(item.operation)))
                    self.at[item.name] = before.then(self._own(item))
                case Repeat():
                    self._repeat(item)

    def _repeat(self, block: Repeat) -> None:
        """One repetition after the other, as a loop runs, once all is there that they take."""
        inside = _Finder(self.types, self.fabric, self.reached)
        inside.items(block.body)
        taken = [n for i in block.body if isinstance(i, Define) for n in operands(i.operation)]
        entered = self._last(self._ways([*taken, *(item.carried for item in block.nexts)]))
        once = inside.ending().beside
        after = Way(entered.block + once * block.count, entered.beside)
        self.over.append(after)
        self.at.update({item.carried: after for item in block.nexts})

    def _ways(self, names: Iterable[str]) -> list[Way]:
        """Of the names that are made before; what is declared waits for nothing."""
        return [self.at[name] for name in names if name in self.at]

    def _last(self, ways: Iterable[Way]) -> Way:
        return max(ways, key=lambda way: way.seconds(self.reached), default=Way())

    def ending(self) -> Way:
        """The longest of all."""
        return self._last([*self.at.values(), *self.over])

    def _own(self, define: Define) -> Chain:
        match define.operation:
            case Move():
                return self._moving(define, define.operation)
            case _:
                return NOTHING if matmul(define, self.types) is None else Chain(1.0)

    def _moving(self, define: Define, move: Move) -> Chain:
        before, after = self.types[move.operand].shape, define.type.shape
        if moves_nothing(move, before, after, self.fabric.mesh):
            return NOTHING
        axes = sending(move, before, after)
        kind, stages = move.kind, self.fabric.stages(axes)
        starts = len(timing.turns(kind, stages))
        return Chain(starts, timing.latency(kind, stages))
