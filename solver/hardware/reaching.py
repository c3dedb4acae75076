"""A machine as whole models use it: what is `Reached` of its figures, taken into them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import inf

from layoutc.solver.hardware.machine import Machine
from layoutc.solver.hardware.reached import Reached
from layoutc.solver.hardware.tier import Tier


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
    start, hop = (reached.latency * seconds for seconds in (tier.start, tier.hop))
    return replace(slower, start=start + reached.launch, hop=hop)


def one_way(tiers: Iterable[Tier]) -> float:
    """Bytes/s that a chip receives over one link in one direction, the slowest that is used."""
    return min((tier.bandwidth for tier in tiers), default=inf)
