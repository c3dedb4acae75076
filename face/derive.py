"""What `derive` says: the formula of an explicit program and its minimum, in three spellings.

On a machine whose axes differ, formulas are over bandwidths of axes. What these are is said where a
number of chips gives the axes a place, and so is what starting and hops take.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isclose, isfinite

from layoutc.document import Document, placement
from layoutc.dsl.operation import Move
from layoutc.dsl.printer import print_statement
from layoutc.dsl.program import DTYPES, Program
from layoutc.pipeline import Source, refusals
from layoutc.solver import units
from layoutc.solver.algebra import speller, symbols
from layoutc.solver.derivation import Derivation, OnChips, derive, unsized
from layoutc.solver.describe import describe
from layoutc.solver.formula import Moved
from layoutc.solver.hardware.fabric import Fabric
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.meshes import Mesh
from layoutc.solver.minimum import Least, Minimum, NoClosedForm, Size, holds
from layoutc.solver.monomial import Cost
from layoutc.solver.network import BANDWIDTH, axes_of, speed
from layoutc.solver.placed import Placed
from layoutc.solver.spelling import Speller, Style
from layoutc.solver.surd import Sum, Surd
from layoutc.table import Rows, table

IN_A_LINE = 3
"""How many of the meshes that tie stand in a line."""


def derived(source: Source, program: Program, machine: Machine, chips: int | None) -> Derivation:
    """Raises `WrongFile` if no mesh of the file has so many chips, or none has a place there."""
    with refusals(source):
        return derive(program, machine, chips)


def time(cost: Cost | Sum, spell: Speller, over: Sequence[str] = (BANDWIDTH,)) -> str:
    """A number of elements over the bandwidth; over nothing, what is a time already."""
    return spell.sum(cost if isinstance(cost, Sum) else Sum.from_cost(cost), over)


def sized(size: Size, spell: Speller) -> tuple[str, str]:
    """What of the mesh is best at which size: ("Y*Z", "sqrt(F*n/E)")."""
    left = Surd.of(1, {axis: Fraction(exponent) for axis, exponent in size.powers})
    return spell.surd(left), spell.surd(size.value)


def conditions(least: Minimum, spell: Speller) -> list[str]:
    """From where on no size is less than 1: ["n >= F/E", "n >= E/F"]."""
    found = holds(least) if isinstance(least, Least) else ()
    sign = {"python": ">=", "unicode": "≥", "latex": r"\ge"}[spell.style]
    return [f"{name} {sign} {spell.surd(value)}" for name, value in found]


# For people.


def report(found: Derivation, style: Style, chips: int | None = None) -> str:
    """The formulas and where they are least, for `chips` chips if given; ends in a newline."""
    program, spell = found.program, speller(found.program, style)
    mesh = {axis.name: axis.size or 2 for axis in program.axes}
    where = "" if found.machine.flat else f" ({found.machine.name})"
    parts = [f"{program.name}{where}: {describe(program, mesh)}"]
    if found.statements:
        parts.append(table(_statements(found, spell), gap=(2, 1, 1, 3)))
    parts.append(table(_totals(found, spell, chips)))
    return "\n\n".join(parts) + "\n"


def _statements(found: Derivation, spell: Speller) -> Rows:
    rows = []
    for moved in found.statements:
        left, right = _statement(found, moved).split(" = ", 1)
        name, layout = left.split(" : ", 1)
        cost = spell.sum(Sum.from_cost(moved.large))
        rows.append([name, f": {layout}", f"= {right}", cost])
    return rows


def _statement(found: Derivation, moved: Moved) -> str:
    return print_statement(moved.define, tuple(axis.name for axis in found.program.axes))


def _totals(found: Derivation, spell: Speller, chips: int | None) -> Rows:
    over = found.network.over
    rows = [["communication", f"{time(found.large, spell, over)}, K large"]]
    rows.append(["exactly", time(found.exact, spell, over)])
    rows += _least(found, spell)
    match found.on_chips:
        case OnChips() as best:
            rows += _on_chips(best)
        case Placed() as best:
            rows += _placed(found, best)
        case None:
            rows += _nowhere(found)
            if chips is not None:
                lacking = " ".join(f"--set {dim}=..." for dim in unsized(found.program))
                rows.append([f"on {chips} chips", f"the best mesh takes sizes: {lacking}"])
    return rows


def _nowhere(found: Derivation) -> Rows:
    """What formulas leave open where no number of chips gives the axes a place."""
    rows = []
    if found.speeds:
        symbol = max(found.speeds, key=len)
        axes = " and ".join(axes_of(symbol))
        meant = f"over {axes} {'together' if len(axes) > 1 else 'alone'}"
        rows.append(["mind", f"{symbol} is in elements/s {meant}; --chips N has the numbers"])
    if not found.machine.prompt:
        rows.append(["" if rows else "mind", "starting collectives and hops are in no formula"])
    return rows


def _least(found: Derivation, spell: Speller) -> Rows:
    if isinstance(found.least, NoClosedForm):
        return [["least", f"no closed form: {found.least.reason}"]]
    if not found.large.terms:
        return []
    if not found.least.sizes:
        return [["least", "the same on every mesh of n chips"]]
    sizes = [" = ".join(sized(size, spell)) for size in found.least.sizes]
    there = time(found.least.value, spell, found.network.over)
    rows = [["least at", ", ".join(sizes)], ["there", there]]
    where = conditions(found.least, spell)
    if where:
        rows.append(["where", f"{' and '.join(where)}: no size is less than 1"])
    return rows


def _on_chips(best: OnChips) -> Rows:
    whole = best.whole
    received = f"{float(whole.elements):,.0f} elements received by each"
    rows = [[f"on {best.chips} chips", f"{units.mesh(whole.mesh)}, {received}, {_gap(best)}"]]
    return [*rows, *_as_good(whole.ties[1:]), *_padded(whole.undivided)]


def _placed(found: Derivation, best: Placed) -> Rows:
    takes = units.duration(best.seconds)
    if best.latency:
        takes += f", {units.duration(best.latency)} of it to start and for hops"
    rows = [[f"on {best.chips} chips", f"{units.mesh(best.mesh)}, {takes}"]]
    if found.speeds:
        rows.append(["placement", str(best.fabric)])
        if len(found.machine.tiers) > 1:
            rows.append(["", "the formulas are those of meshes that lie so"])
    rows += [[symbol, _speed(found, symbol, best.fabric)] for symbol in found.speeds]
    ties = [dict(place.mesh) for place in best.ties]
    return [*rows, *_as_good(ties), *_padded(best.undivided)]


def _speed(found: Derivation, symbol: str, fabric: Fabric) -> str:
    """90 GB/s, 45 billion elements/s."""
    large, exact = (speed(symbol, fabric, each) for each in (False, True))
    if not isfinite(large):
        return "one chip"
    elements = large / DTYPES[found.program.dtype]
    said = f"{units.size(large)}/s, {elements / 1e9:.4g} billion elements/s"
    return said if isclose(large, exact) else f"{said}, K large; {units.size(exact)}/s exactly"


def _as_good(meshes: Sequence[Mesh]) -> Rows:
    others = [units.mesh(mesh) for mesh in meshes]
    starts = range(0, len(others), IN_A_LINE)
    lines = ["; ".join(others[start : start + IN_A_LINE]) for start in starts]
    return [["" if i else "as good", line] for i, line in enumerate(lines)]


def _padded(undivided: Sequence[str]) -> Rows:
    return [["mind", f"{', '.join(undivided)} would need padding there"]] if undivided else []


def _gap(best: OnChips) -> str:
    per_cent = f"{100 * best.gap:.1f}"
    if float(per_cent) == 0:
        return "no more than if sizes were not whole"
    return f"{per_cent} % more than if sizes were not whole"


def latex(found: Derivation) -> str:
    """Equations, one a line: the time, exactly, the best sizes, the time there."""
    spell, over = speller(found.program, "latex"), found.network.over
    lines = [rf"T \approx {time(found.large, spell, over)}"]
    lines.append(f"T = {time(found.exact, spell, over)}")
    if isinstance(found.least, Least) and found.least.sizes:
        lines += [" = ".join(sized(size, spell)) for size in found.least.sizes]
        lines.append(rf"T_{{\min}} \approx {time(found.least.value, spell, over)}")
    return "\n".join(lines) + "\n"


# As a document.


def document(found: Derivation) -> Document:
    """Formulas as text, `**` for powers; `bandwidths` are elements of the file's dtype a second."""
    spell, over = speller(found.program), found.network.over
    made: Document = {
        "program": found.program.name,
        "hardware": found.machine.name,
        "symbols": [*symbols(found.program, over), *found.speeds],
        "communication": time(found.large, spell, over),
        "exact": time(found.exact, spell, over),
        **_minimum(found.least, spell, over),
        "exact_at_optimum": _minimum(found.exact_least, spell, over)["at_optimum"],
        "statements": [_entry(found, moved, spell) for moved in found.statements],
    }
    match found.on_chips:
        case OnChips() as best:
            made["on_chips"] = _chips(best)
        case Placed() as best:
            made["on_chips"] = _place(best)
            made["placement"] = placement(best.fabric)
            made["bandwidths"] = _bandwidths(found, best.fabric, exact=False)
            made["bandwidths_exact"] = _bandwidths(found, best.fabric, exact=True)
        case None:
            pass
    return made


def _minimum(least: Minimum, spell: Speller, over: Sequence[str]) -> Document:
    if isinstance(least, NoClosedForm):
        return {"optimum": None, "at_optimum": None, "reason": least.reason}
    return {
        "optimum": dict(sized(size, spell) for size in least.sizes),
        "at_optimum": time(least.value, spell, over),
        "where": conditions(least, spell),
    }


def _bandwidths(found: Derivation, fabric: Fabric, exact: bool) -> Document:
    """By symbol; null over axes of one chip, which receive nothing."""
    size = DTYPES[found.program.dtype]
    if found.machine.uniform:
        return {BANDWIDTH: found.machine.network_bandwidth / size}
    known = {symbol: speed(symbol, fabric, exact) / size for symbol in found.speeds}
    return {symbol: each if isfinite(each) else None for symbol, each in known.items()}


def _place(best: Placed) -> Document:
    return {
        "chips": best.chips,
        "mesh": best.mesh,
        "ties": [dict(place.mesh) for place in (best.fabric, *best.ties)],
        "elements": best.elements,
        "seconds": best.seconds,
        "latency_seconds": best.latency,
        "formula_seconds": best.formula,
        "undivided": list(best.undivided),
    }


def _entry(found: Derivation, moved: Moved, spell: Speller) -> Document:
    move = moved.define.operation
    assert isinstance(move, Move)
    return {
        "statement": _statement(found, moved),
        "op": move.kind,
        "axes": "".join(move.axes),
        "communication": time(moved.large, spell, found.network.over),
        "exact": time(moved.exact, spell, found.network.over),
    }


def _chips(best: OnChips) -> Document:
    return {
        "chips": best.chips,
        "mesh": best.whole.mesh,
        "ties": list(best.whole.ties),
        "elements": float(best.whole.elements),
        "undivided": list(best.whole.undivided),
        "continuous": {
            "sizes": best.lowest.sizes,
            "elements": best.lowest.value,
            "bound": best.lowest.bound,
        },
        "formula_elements": float(best.whole.formula),
        "gap": best.gap,
    }
