"""What `--json` holds. Fields may be added, never taken away; numbers are per chip."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from layoutc.dsl.errors import Diagnostic, to_json

if TYPE_CHECKING:
    from layoutc.solver.contenders import Contenders
    from layoutc.solver.hardware.fabric import Fabric
    from layoutc.solver.plan import Pass, Plan
    from layoutc.solver.price import StatementPrice

Document = dict[str, Any]


def dumped(document: Document) -> str:
    """The document as text, ending in a newline."""
    import json

    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def errors(found: Iterable[tuple[str, Diagnostic]]) -> Document:
    """`{"errors": [...]}`, from pairs of a file's name and an error in it."""
    return {"errors": [to_json(diagnostic, name) for name, diagnostic in found]}


def plan(
    made: Plan, apart: Sequence[Plan], found: Contenders, share: Fraction | None = None
) -> Document:
    """A plan: its mesh, and for each phase the explicit text, layouts, collectives and totals.

    `apart` are the plans of each phase alone, where there are several; `found` is what else was
    possible; `share` is the part of memory that caches may take, where that is asked about.
    """
    from layoutc.alternatives import documents

    return {
        "program": made.name,
        "chips": made.chips,
        "hardware": made.machine.name,
        "minimize": made.minimize,
        "mesh": dict(made.mesh),
        "placement": placement(made.fabric),
        "seconds": made.seconds,
        "phases": {part.phase: _phase(part, share) for part in made.passes},
        "hand_overs": {str(one): _moves(moves) for one, moves in made.handed},
        "bound": made.bound,
        "gap": made.gap,
        "alternatives": documents(made, found),
        "complete": found.complete,
        "apart": {
            alone.only.phase: {"mesh": dict(alone.mesh), "seconds": alone.only.prices.seconds}
            for alone in apart
        },
    }


def placement(fabric: Fabric) -> Document | None:
    """The slice, and where each axis of more than one chip lies on it; None where that does not
    matter."""
    if fabric.machine.uniform:
        return None
    from layoutc.solver.hardware.placement import told

    tiers, lies = fabric.machine.tiers, fabric.placement
    return {
        "slice": [list(shape) for shape in lies.slice],
        "axes": told(tiers, lies),
        "text": str(fabric),
    }


def _moves(made: Pass) -> Document:
    """What hands caches over: nothing but collectives."""
    total = made.prices.communication
    return {
        "collectives": [_collective(made, price) for price in made.prices.collectives],
        "communication": {
            "elements": total.elements,
            "bytes": total.bytes,
            "seconds": total.seconds,
        },
        "seconds": total.seconds,
        "weight": made.weight,
    }


def _phase(made: Pass, share: Fraction | None) -> Document:
    from layoutc import context
    from layoutc.dsl.printer import print_program
    from layoutc.solver.attention import attention
    from layoutc.solver.describe import of_weights

    prices, types = made.prices, made.program.types
    return {
        "text": print_program(made.program),
        "layout": of_weights(made.program, made.mesh),
        "attention": attention(made.program, made.mesh) or None,
        "layouts": {name: str(held.shape) for name, held in types.items()},
        "collectives": [_collective(made, price) for price in prices.collectives],
        "communication": {
            "elements": prices.communication.elements,
            "bytes": prices.communication.bytes,
            "seconds": prices.communication.seconds,
            "latency_seconds": prices.communication.latency,
        },
        "compute": {
            "flops": prices.compute.flops,
            "useful_flops": prices.compute.useful_flops,
            "seconds": prices.compute.seconds,
        },
        "memory": {
            "bytes": prices.memory.bytes,
            "traffic_bytes": prices.memory.traffic_bytes,
            "seconds": prices.memory.seconds,
        },
        "cache": context.document(made, share),
        "seconds": prices.seconds,
        "weight": made.weight,
    }


def _collective(made: Pass, price: StatementPrice) -> Document:
    from layoutc.dsl.operation import Move
    from layoutc.dsl.printer import print_statement

    move, order = price.define.operation, tuple(a.name for a in made.program.axes)
    assert isinstance(move, Move)
    return {
        "statement": print_statement(price.define, order),
        "op": move.kind,
        "axes": "".join(move.axes),
        "operand": move.operand,
        "from": str(price.before),
        "to": str(price.define.type.shape),
        "times": price.times,
        "elements": price.elements,
        "bytes": price.bytes,
        "seconds": price.seconds,
        "latency_seconds": price.latency,
        **_inside(made, price),
    }


def _inside(made: Pass, price: StatementPrice) -> Document:
    """The matmul inside which a collective runs, where that is priced."""
    if made.prices.overlap is None:
        return {}
    found = {one.collective: one for one in made.prices.overlap.hidden}.get(price.define.name)
    return {
        "inside": found.matmul if found else None,
        "hidden_seconds": found.seconds if found else 0.0,
    }
