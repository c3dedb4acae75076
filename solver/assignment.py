"""What an instance is asked and what it answers: weights, limits, an assignment and its times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from layoutc.solver.fan import Edge
from layoutc.solver.relations import Flags


@dataclass(frozen=True, slots=True)
class Weights:
    """What a second of each resource counts for in the sum that is minimised.

    `held` is what a byte counts for of every layout in which a value is made, stored or used.
    """

    compute: float = 1.0
    memory: float = 0.0
    communication: float = 1.0
    held: float = 0.0

    def times(self, often: float) -> Weights:
        """The weights of what happens so often; what is held is held once."""
        compute, memory, communication = self.compute, self.memory, self.communication
        return Weights(often * compute, often * memory, often * communication, self.held)


@dataclass(frozen=True, slots=True)
class Limits:
    """Parts of a problem that a branch of the search confines itself to.

    `stored` maps a variable to the nodes it may take, `steps` a step to the bit masks of axes
    that may share its work.
    """

    stored: tuple[tuple[int, Flags], ...] = ()
    steps: tuple[tuple[int, Flags], ...] = ()

    def storing(self, variable: int, nodes: Flags) -> Limits:
        """These limits and one more on a variable."""
        return replace(self, stored=_narrowed(self.stored, variable, nodes))

    def sharing(self, step: int, masks: Flags) -> Limits:
        """These limits and one more on a step."""
        return replace(self, steps=_narrowed(self.steps, step, masks))


ANY = Limits()
"""No limits at all."""


def _narrowed(
    limits: tuple[tuple[int, Flags], ...], key: int, flags: Flags
) -> tuple[tuple[int, Flags], ...]:
    before = dict(limits).get(key)
    rest = tuple(pair for pair in limits if pair[0] != key)
    return (*rest, (key, flags if before is None else before & flags))


@dataclass(slots=True)
class Times:
    """What a pass of one phase takes of each resource, in seconds."""

    compute: float = 0.0
    memory: float = 0.0
    communication: float = 0.0

    @property
    def seconds(self) -> float:
        """The pass: what is read from memory is read under the matmuls."""
        return max(self.compute, self.memory) + self.communication

    def weighed(self, weights: Weights) -> float:
        """The sum that is minimised."""
        computing = weights.compute * self.compute + weights.memory * self.memory
        return computing + weights.communication * self.communication


@dataclass(frozen=True, slots=True)
class Found:
    """An assignment: every variable's node, each value's tree (edges between nodes, the root's
    first), and the times of each part."""

    nodes: dict[int, int]
    trees: tuple[tuple[Edge, ...], ...]
    times: tuple[Times, ...]


Shares = Sequence[Weights]
"""Weights for each part."""
