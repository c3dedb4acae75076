"""Where a mesh lies on a machine: the tables by which an emitted module puts devices in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from textwrap import wrap

from layoutc.codegen import spell
from layoutc.codegen.layouts import AxisNames
from layoutc.codegen.tree import Call, Literal, Tuple
from layoutc.solver.hardware.fabric import Fabric
from layoutc.solver.hardware.placement import Part, Placement, described
from layoutc.solver.hardware.tier import Tier


@dataclass(frozen=True, slots=True)
class Places:
    """The tiers of a machine's network, the innermost first, and where on them a mesh lies."""

    tiers: tuple[Tier, ...]
    placement: Placement

    @classmethod
    def of(cls, fabric: Fabric) -> Places | None:
        """Those of a mesh on a machine; None where any order of devices is as good."""
        if fabric.machine.uniform or fabric.chips == 1:
            return None
        return cls(fabric.machine.tiers, fabric.placement)

    def tables(self, axes: AxisNames) -> Iterator[str]:
        """The slice, its outermost links first, and the runs of each mesh axis."""
        parts = {axes.labels[axis]: own for axis, own in self.placement.parts.items()}
        lies = described(self.tiers, Placement(self.placement.slice, parts))
        yield from (f"# {line}" for line in wrap(lies, spell.WIDTH - len("# ")))
        yield f"SLICE = {{{', '.join(self._used())}}}"
        yield "PLACES = {"
        for axis, own in parts.items():
            yield from _entry(axis, [self._run(part) for part in own])
        yield "}"

    def _used(self) -> Iterator[str]:
        """The tiers of which more than one is used, with their shapes."""
        for tier, shape in reversed(list(zip(self.tiers, self.placement.slice, strict=True))):
            if prod(shape) > 1:
                sizes = Tuple(tuple(map(Literal, shape)))
                yield f"{spell.string(tier.name)}: {spell.expression(sizes)}"

    def _run(self, part: Part) -> Call:
        links, axis, size = self.tiers[part.tier].name, part.axis, part.size
        apart = (("apart", Literal(part.stride)),) if part.stride > 1 else ()
        return Call("Run", (Literal(links), Literal(axis), Literal(size)), apart)


def _entry(axis: str, runs: list[Call]) -> Iterator[str]:
    """The runs of an axis on a line, or each on its own."""
    flat = f"    {spell.string(axis)}: {spell.expression(Tuple(tuple(runs)))},"
    if len(flat) <= spell.WIDTH:
        yield flat
        return
    yield f"    {spell.string(axis)}: ("
    yield from (f"        {spell.expression(run)}," for run in runs)
    yield "    ),"
