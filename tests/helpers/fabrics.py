"""Machines with networks of every kind, small slices of them, and meshes placed there, drawn."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from layoutc.dsl.program import Axis
from layoutc.solver.hardware.fabric import Fabric
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.hardware.placement import placements
from layoutc.solver.hardware.shapes import Shape, Shapes
from layoutc.solver.hardware.tier import Slice, Tier, Topology, Wraparound

AXES = (Axis("x"), Axis("y"), Axis("z"))


def machine(*tiers: Tier) -> Machine:
    """Chips of which only the network matters."""
    return Machine("drawn", {"bf16": 1.0}, 1, 1.0, tiers)


@st.composite
def tiers(draw: st.DrawFn, topologies: tuple[Topology, ...]) -> Tier:
    """One tier, its shapes left open."""
    topology = draw(st.sampled_from(topologies))
    shaped, flat = topology in ("torus", "line"), topology == "flat"
    return Tier(
        "links",
        topology,
        bandwidth=draw(st.floats(1.0, 1000.0)),
        hop=0.0 if flat else draw(st.floats(0.0, 10.0)),
        start=0.0 if flat else draw(st.floats(0.0, 10.0)),
        both_ways=draw(st.booleans()) if topology == "torus" else True,
        cut=draw(st.booleans()) if shaped else True,
        shapes=Shapes(draw(st.integers(1, 3)) if shaped else 1),
        wraparound=Wraparound(draw(st.sampled_from((0, 1, 2, 4))), draw(st.booleans())),
    )


@st.composite
def slices(draw: st.DrawFn, tier: Tier) -> Shape:
    """Some chips of a tier."""
    sizes = (2, 3, 4, 6, 8) if tier.shapes.axes == 1 else (1, 2, 3, 4)
    drawn = draw(st.lists(st.sampled_from(sizes), min_size=tier.shapes.axes,
                          max_size=tier.shapes.axes))  # fmt: skip
    return tuple(sorted(drawn))


@st.composite
def machines(draw: st.DrawFn) -> tuple[Machine, Slice]:
    """A machine of one tier or two, and a slice of it."""
    inner = draw(tiers(("flat", "torus", "line", "switch")))
    used = [inner]
    if inner.topology != "flat" and draw(st.booleans()):
        outer = draw(tiers(("torus", "line", "switch")))
        used.append(replace(outer, name="between", shapes=Shapes(1)))
    return machine(*used), tuple(draw(slices(tier)) for tier in used)


@st.composite
def fabrics(draw: st.DrawFn) -> Fabric:
    """A mesh of three axes somewhere on a machine."""
    drawn, one = draw(machines())
    found = list(placements(drawn.tiers, one, AXES))
    placement = draw(st.sampled_from(found))
    return Fabric(drawn, placement.mesh, placement)
