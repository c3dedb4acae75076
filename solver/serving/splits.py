"""How a number of chips may be divided: tensor parallelism, pipeline stages, replicas."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from layoutc.solver.hardware.machine import Machine


@dataclass(frozen=True, slots=True)
class Split:
    """`tensor` chips share each matmul, in so many pipeline stages, and all of that `replicas`
    times."""

    tensor: int
    pipeline: int = 1
    replicas: int = 1

    @property
    def chips(self) -> int:
        """All of them."""
        return self.tensor * self.pipeline * self.replicas


@dataclass(frozen=True, slots=True)
class Fixed:
    """What was said of a split; 0 for what was not."""

    tensor: int = 0
    pipeline: int = 0
    replicas: int = 0


def splits(chips: int, machine: Machine, layers: int, fixed: Fixed) -> list[Split]:
    """The ways worth weighing to divide so many chips, those of a machine's domains.

    All chips share each matmul. Where they fill several domains (nodes with a switch each), each
    domain may also be a stage, or a replica. None where what is fixed does not go into the chips.
    """
    found = dict.fromkeys(_ways(chips, machine, fixed))
    return [s for s in found if s.chips == chips and s.pipeline <= layers]


def _ways(chips: int, machine: Machine, fixed: Fixed) -> Iterator[Split]:
    tensor, pipeline, replicas = fixed.tensor, fixed.pipeline, fixed.replicas
    if tensor and not pipeline and not replicas:
        yield from (Split(tensor, 1, chips // tensor), Split(tensor, chips // tensor, 1))
        return
    if tensor:
        pipeline = pipeline or chips // (tensor * (replicas or 1))
        yield Split(tensor, pipeline, replicas or chips // (tensor * pipeline))
        return
    rest = chips // ((pipeline or 1) * (replicas or 1))
    yield Split(rest, pipeline or 1, replicas or 1)
    domain = machine.tiers[0].shapes.most
    if len(machine.tiers) > 1 and domain and rest > domain and rest % domain == 0:
        if not pipeline:
            yield Split(domain, rest // domain, replicas or 1)
        if not replicas:
            yield Split(domain, pipeline or 1, rest // domain)
