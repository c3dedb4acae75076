"""What the network decided, for people and as a document."""

from __future__ import annotations

from layoutc.solver.contenders import called
from layoutc.solver.decided import Decided
from layoutc.solver.hardware.placement import told
from layoutc.solver.plan import Plan
from layoutc.solver.units import duration, mesh, size
from layoutc.table import Rows, table

Document = dict[str, object]


def chapter(plan: Plan, made: Decided | None) -> str:
    """The plan beside that of a flat network; "" where the network is flat."""
    if made is None:
        return ""
    flat = made.flat
    rate = f"{size(flat.machine.network_bandwidth)}/s"
    where = f"{mesh(flat.mesh)}, {called(flat)}"
    rows: Rows = [["on a flat network", f"of {rate}: {where}, {duration(flat.value)}"]]
    rows += [["here", line] for line in [_verdict(plan, made)]]
    rows += [["" if i else "links", said] for i, said in enumerate(_links(plan))]
    return table(rows)


def _verdict(plan: Plan, made: Decided) -> str:
    """Whether another mesh or layout was taken than on a flat network, and what that saves."""
    if same(plan, made):
        return "the same: the network did not decide"
    chosen = f"{mesh(plan.mesh)}, {called(plan)}, {duration(plan.value)}"
    if made.there is None:
        return f"that mesh has no place; the network decided: {chosen}"
    return f"that takes {duration(made.there.value)}; the network decided: {chosen}"


def same(plan: Plan, made: Decided) -> bool:
    """Whether a flat network gives the same sizes of axes and the same layout, axes renamed."""
    sizes = sorted(plan.mesh.values()) == sorted(made.flat.mesh.values())
    named = called(plan) == called(made.flat)
    as_good = made.there is not None and made.there.value <= plan.value * (1 + 1e-9)
    return as_good or (sizes and named and plan.mesh == made.flat.mesh)


def _links(plan: Plan) -> list[str]:
    """What a chip receives over each axis, and what it waits for."""
    lies, fabric = told(plan.machine.tiers, plan.fabric.placement), plan.fabric
    return [
        f"{axis}: {size(fabric.bandwidth(axis))}/s over {where}, "
        f"{duration(fabric.rate('all-gather', axis).start)} before the first byte"
        for axis, where in lies.items()
    ]


def document(plan: Plan, made: Decided | None) -> Document | None:
    """The field `network` of `explain`."""
    if made is None:
        return None
    fabric = plan.fabric
    return {
        "decided": not same(plan, made),
        "flat": {
            "bandwidth": made.flat.machine.network_bandwidth,
            "mesh": made.flat.mesh,
            "layout": called(made.flat),
            "seconds": made.flat.seconds,
            "seconds_here": made.there.seconds if made.there else None,
        },
        "axes": {
            axis: {
                "bandwidth": fabric.bandwidth(axis),
                "latency_seconds": fabric.rate("all-gather", axis).start,
            }
            for axis, count in fabric.mesh.items()
            if count > 1
        },
    }
