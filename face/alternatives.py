"""What else was possible, beside the plan: the best of each other layout, and why it lost."""

from __future__ import annotations

from layoutc.solver.attention import attention
from layoutc.solver.contenders import Contenders, called, weights_of, worth
from layoutc.solver.plan import Plan
from layoutc.solver.units import duration
from layoutc.why import why

Document = dict[str, object]


def listed(found: Contenders) -> list[Plan]:
    """The plan on the next best mesh first, then the others, the cheapest first."""
    return [*([found.runner_up] if found.runner_up else []), *found.plans]


def against(plan: Plan, found: Contenders) -> list[str]:
    """A line for the best contender with other weights, and for the best with another attention;
    the cheaper first."""
    weights = [p for p in found.plans if weights_of(p) != weights_of(plan)]
    others = [p for p in found.plans if p not in weights]
    told = sorted([*weights[:1], *others[:1]], key=worth)
    what = " of communication" if plan.minimize == "communication" else ""
    return [f"{called(p)}, {duration(p.value)}{what}: {why(plan, p).short}" for p in told]


def documents(plan: Plan, found: Contenders) -> list[Document]:
    """The alternatives of `--json`."""
    return [
        {
            "name": called(other),
            "attention": _attention(other),
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


def _attention(plan: Plan) -> object:
    """What attention is sharded over, of each phase where there are several; null if there is no
    attention."""
    over = {one.phase: attention(one.program, plan.mesh) or None for one in plan.passes}
    return over if len(over) > 1 else over[plan.passes[0].phase]


def _layouts(plan: Plan) -> Document:
    """All names of the explicit program; of each phase, where there are several."""
    held = {
        one.phase: {name: str(t.shape) for name, t in one.program.types.items()}
        for one in plan.passes
    }
    return dict(held) if len(held) > 1 else dict(held[plan.passes[0].phase])
