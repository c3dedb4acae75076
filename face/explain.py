"""`--explain`: what else was possible, what was ruled out, how far the choice holds, what helps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd

from layoutc import network
from layoutc.alternatives import communication, listed
from layoutc.dsl.program import Program
from layoutc.solver import units
from layoutc.solver.asked import Asked
from layoutc.solver.contenders import Contenders, called
from layoutc.solver.decided import Decided, decided
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.holds import holds
from layoutc.solver.padding import Padded
from layoutc.solver.plan import Plan
from layoutc.solver.price import price
from layoutc.solver.ruled_out import (
    Rule,
    TooFewAxes,
    TooLarge,
    Undivided,
    Written,
    ruled_out,
    uncut,
)
from layoutc.solver.solve import padded
from layoutc.solver.ties import Tie, ties
from layoutc.solver.turns import Range, Turn
from layoutc.solver.units import duration, mesh, size
from layoutc.table import Rows, table
from layoutc.why import why

Document = dict[str, object]


@dataclass(frozen=True, slots=True)
class Explanation:
    """All that `--explain` says; `bigger` is the plan for twice the chips, if there is."""

    program: Program
    plan: Plan
    found: Contenders
    bigger: Plan | None
    ties: list[Tie]
    ruled_out: list[tuple[str, Rule]]
    uncut: list[tuple[str, int, int]]
    padded: dict[str, tuple[Padded, Plan]]
    ranges: list[Range]
    decided: Decided | None


def explained(program: Program, plan: Plan, found: Contenders, bigger: Plan | None) -> Explanation:
    """Looks into all of it; takes some searches."""
    return Explanation(
        program,
        plan,
        found,
        bigger,
        ties(program, plan),
        ruled_out(program, plan, found.absent),
        uncut(program, plan.chips),
        padded(program, plan.chips, plan.machine, Asked(plan.minimize)),
        holds(program, plan, [*found.plans]),
        decided(program, plan),
    )


def report(made: Explanation) -> str:
    """The chapters after the report, ending in a newline."""
    chapters = [
        ("what else was possible", _possible(made)),
        ("what took as long", "\n".join(f"  {line}" for line in _ties(made))),
        ("what is ruled out", _rules(made)),
        ("what the network decided", network.chapter(made.plan, made.decided)),
        ("how far the choice holds", table([row for r in made.ranges for row in _span(r)])),
        ("what would help", _moves(made)),
    ]
    return "\n\n".join(f"{title}\n\n{text}" for title, text in chapters if text) + "\n"


def document(made: Explanation) -> Document:
    """The field `explain` of `--json`."""
    return {
        "ties": [{"mesh": dict(t.mesh), "why": _tie(t, made.plan)} for t in made.ties],
        "ruled_out": [
            {"name": name, "why": _rule(rule, made.plan)} for name, rule in made.ruled_out
        ],
        "undivided": [
            {"dim": d, "size": n, "parts": most, "padded": _padded(made, d)}
            for d, n, most in made.uncut
        ],
        "holds": [_range(r) for r in made.ranges],
        "network": network.document(made.plan, made.decided),
        "moves": {what: seconds for what, _, seconds in _helps(made)},
    }


# What else was possible.


def _possible(made: Explanation) -> str:
    plan, others = made.plan, listed(made.found)
    if not others:
        return "  nothing: no other layout is left"
    rows = [["layout", "mesh", "in all" if len(plan.passes) > 1 else "a pass", "communication"]]
    for one in (plan, *others):
        chosen = "chosen" if one is plan else ""
        times = [duration(one.seconds), duration(communication(one))]
        rows.append([called(one), mesh(one.mesh), *times, chosen])
    reasons = []
    for one in others:
        again = f" on {mesh(one.mesh)}" if called(one) == called(plan) else ""
        reasons.append(f"  {called(one)}{again}\n    {why(plan, one).sentence}")
    return f"{table(rows, right=(2, 3))}\n\n" + "\n".join(reasons)


FEW = 4
"""More meshes than these are counted, not listed."""


def _ties(made: Explanation) -> Iterator[str]:
    """A line for each, or for many meshes that lost by the same rule."""
    for by in dict.fromkeys(tie.by for tie in made.ties):
        alike = [tie for tie in made.ties if tie.by == by]
        if len(alike) <= FEW:
            yield from (_tie(tie, made.plan) for tie in alike)
        else:
            yield f"{_tie(alike[0], made.plan)}; so are {len(alike) - 1} more meshes"


def _tie(tie: Tie, plan: Plan) -> str:
    if tie.by == "tokens":
        return f"{tie.tensor} : {tie.layout} would do; dims that are not tokens are split first"
    if tie.by == "memory":
        return f"mesh {mesh(tie.mesh)}: takes {size(tie.bytes)} of a chip, not {size(tie.least)}"
    if tie.by == "even":
        return f"mesh {mesh(tie.mesh)}: as much memory, but {mesh(plan.mesh)} is more even"
    return f"mesh {mesh(tie.mesh)}: the same sizes; axes go in the order of their declaration"


# What is ruled out.


def _rules(made: Explanation) -> str:
    rows = [[name, _rule(rule, made.plan)] for name, rule in made.ruled_out]
    chips = made.plan.chips
    for dim, count, most in made.uncut:
        rows.append([f"{dim}={count}", f"can be cut into at most {most} of {chips} parts"])
        if dim in made.padded:
            rows.append(["", f"  {_padding(made, *made.padded[dim])}"])
    return table(rows) if rows else ""


def _padding(made: Explanation, padding: Padded, other: Plan) -> str:
    """What it would take with the dim padded, beside leaving it as it is."""
    now, then = made.plan.value, other.value
    apart = f"{abs(then / now - 1):.1%} {'less' if then < now else 'more'}" if now else ""
    change = "as much" if apart.startswith("0.0%") else apart
    return f"{padding} would take {duration(other.seconds)}, {change}"


def _padded(made: Explanation, dim: str) -> Document | None:
    if dim not in made.padded:
        return None
    padding, other = made.padded[dim]
    return {"to": padding.to, "seconds": other.seconds}


def _rule(rule: Rule, plan: Plan) -> str:
    match rule:
        case TooFewAxes(needs):
            axes = f"{needs} axes" if needs > 1 else "an axis"
            on = f"no mesh of {units.chips(plan.chips)}"
            return f"takes {axes} of more than one chip, which {on} has"
        case TooLarge(taken):
            room = plan.machine.memory_bytes
            return f"the best of it takes {size(taken)} of a chip, which has {size(room)}"
        case Written(tensor, shape):
            spread = ": every axis splits it" if shape.hole == "!" and not shape.axes else ""
            return f"the file has {tensor} : {shape}{spread}"
        case Undivided(tensor, dims):
            said = " and ".join(_undivided(d, n, plan.chips) for d, n in dims)
            return f"{tensor} can't be cut so: {said}" if said else f"{tensor} can't be cut so"
        case _:
            return "no layouts of the rest go with it"


def _undivided(dim: str, count: int, chips: int) -> str:
    most = gcd(count, chips)
    if most == 1:
        return f"{dim}={count} is not divided by any axis"
    return f"{dim}={count} can be cut into at most {most}"


# How far the choice holds.


def _what(found: Range) -> str:
    if found.what == "network":
        return f"network {size(found.now)}/s"
    where = f"{found.phase}." if found.phase else ""
    return f"{where}{found.what}={found.now:,.0f}"


def _span(found: Range) -> Rows:
    """What varies, and how far down and up it may go; what comes next is on lines of its own."""
    if found.low is None and found.high is None:
        low, high = _share(found.least / found.now), _share(found.most / found.now)
        same = found.attention or "the same layout"
        return [[_what(found), f"{same} from {low} to {high}"]]
    rows: Rows = [[_what(found), found.attention]] if found.attention else []
    for turn, end, side, next_ in (
        (found.low, found.least, "down to", "below"),
        (found.high, found.most, "up to", "beyond"),
    ):
        value = end if turn is None else _last(turn)
        far = f"{side} {_value(found, value)}, {_share(value / found.now)}"
        rows.append([_what(found) if not rows else "", far])
        if turn is not None:
            rows.append(["", f"  {next_}: {turn.name}"])
    return rows


def _last(turn: Turn) -> float:
    """Where the two cost the same if that is a whole number, else a value that was asked."""
    whole = abs(turn.at - round(turn.at)) <= 1e-6 * turn.at
    return round(turn.at) if whole else turn.before


def _value(found: Range, value: float) -> str:
    return f"{size(value)}/s" if found.what == "network" else f"{value:,.0f}"


def _share(ratio: float) -> str:
    """18 times as much; 1/6 of it."""
    if 0.95 < ratio < 1.05:
        return "about what it is"
    return f"{_number(ratio)} times as much" if ratio >= 1 else f"1/{_number(1 / ratio)} of it"


def _number(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 9.95 else f"{ratio:.1f}".removesuffix(".0")


def _range(found: Range) -> Document:
    def turn(at: Turn | None) -> Document | None:
        if at is None:
            return None
        return {"at": at.at, "name": at.name, "last": at.before, "first": at.beyond}

    return {
        "what": found.what,
        "phase": found.phase or None,
        "now": found.now,
        "low": turn(found.low),
        "high": turn(found.high),
        "least": found.least,
        "most": found.most,
        "attention": found.attention or None,
    }


# What would help.


def _moves(made: Explanation) -> str:
    now = made.plan.seconds
    rows: Rows = [["as it is", duration(now), ""]]
    for _, said, seconds in _helps(made):
        less = 1 - seconds / now if now else 0.0
        rows.append([said, duration(seconds), f"{less:.0%} less" if less >= 0.005 else "no less"])
    return table(rows, right=(1,))


def _helps(made: Explanation) -> Iterator[tuple[str, str, float]]:
    """A field, what it is called, and the seconds of all passes with twice of it."""
    machine = made.plan.machine
    twice: list[tuple[str, str, Machine]] = [
        ("peak_flops", "peak FLOP/s", machine.faster(peak=2)),
        ("memory_bandwidth", "memory bandwidth", machine.faster(memory=2)),
        ("network_bandwidth", "network bandwidth", machine.faster(network=2)),
    ]
    for field, said, faster in twice:
        passes = made.plan.passes
        there = made.plan.fabric.on(faster)
        seconds = sum(p.weight * price(p.program, there).seconds for p in passes)
        yield field, f"twice the {said}", seconds
    if made.bigger is not None:
        yield "chips", f"twice the chips, {made.bigger.chips:,}", made.bigger.seconds
