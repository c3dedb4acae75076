"""Machines for tests: the figures of a chip, and a flat network of one bandwidth."""

from collections.abc import Mapping

import numpy as np

from layoutc.solver.hardware.fabric import uniform
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.hardware.tier import Tier
from layoutc.solver.space import KINDS, Floats, Space


def plain(
    name: str, peak: float, memory_bytes: int, memory_bandwidth: float, network: float
) -> Machine:
    """A machine on a flat network."""
    tier = Tier("network", "flat", network)
    return Machine(name, {"bf16": peak}, memory_bytes, memory_bandwidth, (tier,))


UNIT = plain("unit", 1.0, 1 << 30, 1.0, 1.0)


def elements_moved(space: Space, sizes: Mapping[str, int], mesh: Mapping[str, int]) -> Floats:
    """[edges], the elements that a chip receives: seconds at an element a second."""
    fabric, edges = uniform(mesh, UNIT), space.edges("sum")
    moving = space.moving(sizes, mesh)
    rates = [
        fabric.rate(KINDS[kind], space.names(int(mask))).per_byte if kind >= 0 else 0.0
        for kind, mask in zip(edges.kinds, edges.axes, strict=True)
    ]
    return moving * np.array(rates)
