"""What a pass takes, from what it takes of the machine and what is reached of that.

A pass computes with its weights while it reads them and gathers those that are gathered: the
longest of the three. Then it attends: the longer of reading the caches and of the two matmuls. What
else moves between chips comes on top, and so does what a chain of statements waits for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from layoutc.dsl.program import Program
from layoutc.solver.hardware.fabric import Fabric
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.hardware.reached import Reached
from layoutc.solver.hardware.reaching import paced
from layoutc.solver.serving.chain import Chain, longest
from layoutc.solver.serving.terms import Amounts, Floats, Number, Sizes, Terms


@dataclass(frozen=True, slots=True)
class Parts:
    """Where the seconds of a pass go, at each of many sizes.

    `seconds` is max(compute, memory, gathered) + attention + communication + latency: matmuls with
    weights, reading those, gathering those; attention with its caches; what else moves; and what
    the longest chain of statements waits for.
    """

    compute: Floats
    memory: Floats
    gathered: Floats
    attention: Floats
    communication: Floats
    latency: Floats

    @property
    def seconds(self) -> Floats:
        """All of it."""
        busy = np.maximum(np.maximum(self.compute, self.memory), self.gathered)
        return busy + self.attention + self.communication + self.latency

    def __add__(self, other: Parts) -> Parts:
        return Parts(*(getattr(self, n) + getattr(other, n) for n in NAMES))

    def where(self, chosen: NDArray[np.bool_], other: Parts) -> Parts:
        """These, or the other's where they are `chosen`."""
        return Parts(*(np.where(chosen, getattr(other, n), getattr(self, n)) for n in NAMES))


NAMES = ("compute", "memory", "gathered", "attention", "communication", "latency")


def parts(amounts: Amounts, chain: Chain, reached: Reached) -> Parts:
    """The seconds, of amounts at the machine's own figures and the chain of the same pass."""
    zero = np.zeros_like(amounts.matmul)
    return Parts(
        compute=amounts.matmul / reached.matmul,
        memory=amounts.weights / reached.memory,
        gathered=amounts.gathered / reached.network,
        attention=np.maximum(
            amounts.attention / reached.attention, amounts.caches / reached.memory
        ),
        communication=amounts.moved / reached.network,
        latency=zero + chain.seconds(reached),
    )


@dataclass(frozen=True, slots=True)
class Work:
    """A pass at some sizes, at the machine's own figures: of the repeated block and of the rest,
    and the chains of both."""

    block: Amounts
    outside: Amounts
    chains: tuple[Chain, Chain]

    def parts(self, reached: Reached, share: Number = 1.0) -> Parts:
        """Through so much of the block, and through what is outside."""
        chain = self.chains[0] * share + self.chains[1]
        return parts(self.block.scaled(share) + self.outside, chain, reached)


class Priced:
    """An explicit program of one phase in its place: its sums, its chain, and what is reached."""

    def __init__(
        self, program: Program, fabric: Fabric, machine: Machine, reached: Reached
    ) -> None:
        self.program, self.machine, self.reached = program, machine, reached
        self.fabric = fabric.on(paced(machine, reached))
        self.terms = Terms(program, self.fabric)

    @cached_property
    def chains(self) -> tuple[Chain, Chain]:
        """Of the repeated block, and of what is beside it."""
        return longest(self.program, self.fabric, self.reached)

    def work(self, sizes: Sizes) -> Work:
        """What a pass takes of the machine."""
        return Work(*self.terms.amounts(sizes), self.chains)

    def parts(self, sizes: Sizes) -> Parts:
        """What a pass takes."""
        return self.work(sizes).parts(self.reached)
