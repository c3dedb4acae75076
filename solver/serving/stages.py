"""A pass through pipeline stages: micro-batches fill them, and until they are full some wait.

With p stages and m micro-batches, a prefill takes what one micro-batch takes from end to end, and
then one stage's time for each other one: (m - 1 + p)/m of the work where all stages are alike. A
step of decode can't begin for a sequence before the last has ended, so that it takes the longer of
one micro-batch from end to end and of all of them through one stage. Each micro-batch reads the
weights again.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from layoutc.dsl.program import DTYPES, Program, Repeat
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.hardware.reached import Reached
from layoutc.solver.hardware.tier import Tier
from layoutc.solver.monomial import Cost, Monomial
from layoutc.solver.serving.passes import Parts, Priced, Work
from layoutc.solver.serving.terms import Floats, Number, Sizes, at

HAIR = 1e-9
"""What is so little short of a whole number is one that was rounded."""


@dataclass(frozen=True, slots=True)
class Stages:
    """`count` pipeline stages, each on as many chips as a layout has."""

    count: int = 1

    def share(self, program: Program) -> float:
        """Of the layers, what the fullest stage has: they are not always divided evenly."""
        layers = layers_of(program)
        return ceil(layers / self.count) / layers


def layers_of(program: Program) -> int:
    """How often the repeated block is: the most stages that there can be."""
    return max((item.count for item in program.items if isinstance(item, Repeat)), default=1)


@dataclass(frozen=True, slots=True)
class Piped:
    """A pass in stages: `parts` are those of one micro-batch from end to end, `seconds` of the
    whole batch. `waiting` is what comes to a micro-batch's own seconds: the others' turns."""

    parts: Parts
    waiting: Floats

    @property
    def seconds(self) -> Floats:
        """All of it."""
        return self.parts.seconds + self.waiting


@dataclass(frozen=True, slots=True)
class Staged:
    """A pass of one of `micro` micro-batches, as it goes through `count` stages: its work, the
    `share` of the layers in a stage, and what each stage hands to the next, at the machine's own
    figures: `begun` seconds and then `handed`. Passes side by side are arrays of these."""

    work: Work
    count: Number
    share: Number
    micro: Floats
    begun: Number
    handed: Floats

    def at(self, reached: Reached, decode: bool | NDArray[np.bool_]) -> Piped:
        """The whole batch."""
        through = self.work.parts(reached)
        if np.all(self.count == 1):
            return Piped(through, np.zeros_like(through.seconds))
        hop = self.begun * reached.latency + reached.launch + self.handed / reached.network
        through = through + only_communication((self.count - 1) * hop)
        stage = self.work.parts(reached, self.share).seconds
        turns = np.maximum(0.0, self.micro * stage - through.seconds)
        return Piped(through, np.where(decode, turns, (self.micro - 1) * stage))


def staged(priced: Priced, sizes: Sizes, stages: Stages, micro: Floats) -> Staged:
    """A pass of a batch, `sizes`' B, in so many micro-batches at each size.

    Of one stage, it is the pass: there, micro-batches fill nothing.
    """
    share = stages.share(priced.program)
    if stages.count == 1:
        return Staged(priced.work(sizes), 1, share, micro, 0.0, np.zeros_like(micro))
    own = {**sizes, "B": multiple(sizes["B"] / micro, priced.terms.parts["B"])}
    tier = between(priced.machine, priced.fabric.chips)
    handed = at(boundary(priced), own) / (priced.fabric.chips * tier.bandwidth)
    return Staged(priced.work(own), stages.count, share, micro, tier.start + tier.hop, handed)


def multiple(sizes: Floats, of: int) -> Floats:
    """Sizes rounded up to what axes divide."""
    return np.asarray(np.ceil(sizes / of - HAIR) * of)


def fitting(sizes: Floats, of: int) -> Floats:
    """Sizes rounded down to what axes divide."""
    return np.asarray(np.floor(sizes / of + HAIR) * of)


def only_communication(seconds: Floats) -> Parts:
    """So many seconds of moving between chips, and nothing else."""
    zero = np.zeros_like(seconds)
    return Parts(zero, zero, zero, zero, seconds, zero)


def boundary(priced: Priced) -> Cost:
    """The bytes of what goes from one layer to the next, all chips' parts together."""
    program, types = priced.program, priced.program.types
    carried = [types[n.value] for i in program.items if isinstance(i, Repeat) for n in i.nexts]
    bytes_ = (
        priced.terms.reduced(Monomial.of(held_as.shape.names)) * DTYPES[held_as.dtype]
        for held_as in carried
    )
    return sum(bytes_, Cost())


def between(machine: Machine, chips: int) -> Tier:
    """The tier over which stages of so many chips are linked: those that fill the inner one, by the
    outer. Each chip sends its part, over one link."""
    inner = machine.tiers[0]
    outside = len(machine.tiers) > 1 and bool(inner.shapes.most) and chips >= inner.shapes.most
    return machine.tiers[-1] if outside else inner
