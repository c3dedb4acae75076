"""The longest chain of an explicit program: what waits for one thing after another.

Statements that don't need each other start together, so that what a pass pays for starting is not
a sum over its statements but over the longest chain of them. Bytes and work add up all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from layoutc.dsl.operation import Move, operands
from layoutc.dsl.program import Declare, Define, Program, Repeat
from layoutc.solver.collectives import moves_nothing, sending
from layoutc.solver.hardware import timing
from layoutc.solver.hardware.fabric import Fabric
from layoutc.solver.hardware.reached import Reached
from layoutc.solver.matmuls import matmul


@dataclass(frozen=True, slots=True)
class Chain:
    """`launches` matmuls and collectives one after another; the `latency` of those collectives,
    seconds of starts and hops; and how many `messages` their all-to-alls send."""

    launches: float = 0.0
    latency: float = 0.0
    messages: float = 0.0

    def __add__(self, other: Chain) -> Chain:
        return Chain(
            self.launches + other.launches,
            self.latency + other.latency,
            self.messages + other.messages,
        )

    def __mul__(self, times: float) -> Chain:
        return Chain(times * self.launches, times * self.latency, times * self.messages)

    def seconds(self, reached: Reached) -> float:
        """What all of it takes."""
        return self.launches * reached.launch + self.latency + self.messages * reached.message


NOTHING = Chain()


def longest(program: Program, fabric: Fabric, reached: Reached) -> tuple[Chain, Chain]:
    """The chain of the repeated block, all its repetitions, and what the whole pass has beside it.

    `fabric` has the machine's own figures. Which chain is longest hangs on what is `reached`.
    """
    finder = _Finder(program, fabric, reached)
    for item in program.items:
        finder.item(item)
    whole = finder.ending()
    beside = Chain(
        whole.launches - finder.block.launches,
        whole.latency - finder.block.latency,
        whole.messages - finder.block.messages,
    )
    return finder.block, beside


class _Finder:
    """Statement by statement; `at` has the chain that each name comes at the end of."""

    def __init__(self, program: Program, fabric: Fabric, reached: Reached) -> None:
        self.types, self.fabric, self.reached = program.types, fabric, reached
        self.at: dict[str, Chain] = {}
        self.block = NOTHING

    def item(self, item: Declare | Define | Repeat) -> None:
        match item:
            case Declare():
                pass
            case Define():
                self.at[item.name] = self._last(operands(item.operation)) + self._own(item)
            case Repeat():
                self._repeat(item)

    def _repeat(self, block: Repeat) -> None:
        """One repetition after the other: from what comes in to what the next one takes."""
        outside, self.at = self.at, {}
        for inner in block.body:
            self.item(inner)
        ends = [item.value for item in block.nexts] or list(self.at)
        once, self.at = self._last(ends), outside
        entered = self._last([item.carried for item in block.nexts])
        self.block += once * block.count
        for item in block.nexts:
            self.at[item.carried] = entered + once * block.count

    def _last(self, names: Sequence[str]) -> Chain:
        """The longest of the chains that names come at the end of."""
        found = (self.at.get(name, NOTHING) for name in names)
        return max(found, key=self._seconds, default=NOTHING)

    def _seconds(self, chain: Chain) -> float:
        return chain.seconds(self.reached)

    def ending(self) -> Chain:
        """The longest of all."""
        return self._last(list(self.at))

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
        stages = self.fabric.stages(axes)
        return Chain(1.0, timing.latency(move.kind, stages), timing.messages(move.kind, stages))
