"""What else was possible, beside the plan: the best of each other layout, and why it lost."""

from __future__ import annotations

from layoutc.solver.contenders import Contenders, called
from layoutc.solver.plan import Plan
from layoutc.solver.units import duration
from layoutc.why import why

Document = dict[str, object]


def listed(found: Contenders) -> list[Plan]:
    """The plan on the next best mesh first, then the others, the cheapest first."""
    return [*([found.runner_up] if found.runner_up else []), *found.plans]


def against(plan: Plan, found: Contenders) -> str:
    """The best contender of another name in a line, "" if there is none."""
    if not found.plans:
        return ""
    other = found.plans[0]
    what = " of communication" if plan.minimize == "communication" else ""
    return f"{called(other)}, {duration(other.value)}{what}: {why(plan, other).short}"


def documents(plan: Plan, found: Contenders) -> list[Document]:
    """The alternatives of `--json`."""
    return [
        {
            "name": called(other),
            "mesh": dict(other.mesh),
            "layouts": _layouts(other),
            "seconds": other.seconds,
            "communication_seconds": communication(other),
            "why": why(plan, other).sentence,
        }
        for other in listed(found)
    ]


def communication(plan: Plan) -> float:
    """Seconds of all moves, over all phases."""
    return sum(one.weight * one.prices.communication.seconds for one in plan.passes)


def _layouts(plan: Plan) -> Document:
    """All names of the explicit program; of each phase, where there are several."""
    held = {
        one.phase: {name: str(t.shape) for name, t in one.program.types.items()}
        for one in plan.passes
    }
    return dict(held) if len(held) > 1 else dict(held[plan.passes[0].phase])
