"""What whole models reach of a machine's figures: the constants that `plan` prices with.

A data sheet says what a chip could do. A model that is served reaches shares of that, and pays for
every step that waits for another. These are few constants, each with a meaning, fitted on timings
of whole models (`layoutc.solver.serving.fit`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf

from layoutc.solver.hardware.machine import Machine
from layoutc.solver.hardware.tier import Tier

SHARES = ("matmul", "attention", "memory", "network")
"""The constants that are shares of a figure, at most 1."""

TIMES = ("launch", "message")
"""Those that are seconds."""


@dataclass(frozen=True, slots=True)
class Reached:
    """Shares of a machine's figures, and seconds that come on top.

    - `matmul`: of the peak, in matmuls with weights
    - `attention`: of the peak, in the two matmuls of attention, what is between them included
    - `memory`: of the memory's bandwidth, reading weights and caches
    - `network`: of the links' bandwidth
    - `launch`: seconds for each matmul and each collective that waits for the one before it
    - `message`: seconds for each chip that an all-to-all sends to

    `at_once` is how many axes of a torus one collective goes along at a time, 0 for all of its own.
    `low` and `high` are what was measured over what is predicted, for nine timings in ten.
    """

    matmul: float = 1.0
    attention: float = 1.0
    memory: float = 1.0
    network: float = 1.0
    launch: float = 0.0
    message: float = 0.0
    at_once: int = 0
    low: float = 1.0
    high: float = 1.0

    @property
    def constants(self) -> dict[str, float]:
        """The fitted ones, by name."""
        return {name: getattr(self, name) for name in (*SHARES, *TIMES)}

    def with_constants(self, values: Mapping[str, float]) -> Reached:
        """The same with other constants."""
        return replace(self, **values)  # type: ignore[arg-type]


IDEAL = Reached()
"""Everything that the data sheet says."""


def paced(machine: Machine, reached: Reached) -> Machine:
    """The machine as it is used: axes one after another where they are, figures as they are."""
    tiers = tuple(
        replace(tier, at_once=reached.at_once if tier.shaped else 0) for tier in machine.tiers
    )
    return replace(machine, tiers=tiers)


def reaching(machine: Machine, reached: Reached) -> Machine:
    """The machine with what is reached of it in its figures: what layouts are searched for on."""
    used = paced(machine, reached)
    tiers = tuple(_slowed(tier, reached) for tier in used.tiers)
    return replace(used.faster(peak=reached.matmul, memory=reached.memory), tiers=tiers)


def _slowed(tier: Tier, reached: Reached) -> Tier:
    slower = tier.faster(reached.network)
    if tier.topology == "flat":
        return slower
    return replace(slower, start=tier.start + reached.launch, message=reached.message)


def one_way(tiers: tuple[Tier, ...]) -> float:
    """Bytes/s that a chip receives over one link in one direction, the slowest that is used."""
    return min((tier.bandwidth for tier in tiers), default=inf)
