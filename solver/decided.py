"""Whether the network decided: the plan beside the one that a flat network would have given."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

from layoutc.dsl.program import Program
from layoutc.solver.plan import Plan
from layoutc.solver.sites import at
from layoutc.solver.solve import solve
from layoutc.solver.unsolvable import Unsolvable


@dataclass(frozen=True, slots=True)
class Decided:
    """`flat` is the plan for a flat network of the same chips; `there` is that plan in its best
    place on the machine, None if its mesh has none."""

    flat: Plan
    there: Plan | None


def decided(program: Program, plan: Plan) -> Decided | None:
    """None where the network is flat as it is, or nothing could be had on a flat one."""
    if plan.machine.flat:
        return None
    machine = replace(plan.machine.flattened(plan.chips), overlap=plan.machine.overlap)
    with suppress(Unsolvable):
        flat = solve(program, plan.chips, machine, plan.minimize)
        places = (flat.on(fabric) for fabric in at(program, flat.mesh, plan.machine))
        return Decided(flat, min(places, key=lambda p: p.value, default=None))
    return None
