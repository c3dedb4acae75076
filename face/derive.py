"""What `derive` says: the formula of an explicit program and its minimum, in three spellings."""

from __future__ import annotations

from fractions import Fraction

from layoutc.document import Document
from layoutc.dsl.operation import Move
from layoutc.dsl.printer import print_statement
from layoutc.dsl.program import Program
from layoutc.pipeline import Source, refusals
from layoutc.solver import units
from layoutc.solver.algebra import BANDWIDTH, speller, symbols
from layoutc.solver.derivation import Derivation, OnChips, derive, unsized
from layoutc.solver.describe import describe
from layoutc.solver.formula import Moved
from layoutc.solver.minimum import Least, Minimum, NoClosedForm, Size, holds
from layoutc.solver.monomial import Cost
from layoutc.solver.spelling import Speller, Style
from layoutc.solver.surd import Sum, Surd
from layoutc.table import Rows, table

IN_A_LINE = 3
"""How many of the meshes that tie stand in a line."""


def derived(source: Source, program: Program, chips: int | None) -> Derivation:
    """Raises `WrongFile` if no mesh of the file has so many chips."""
    with refusals(source):
        return derive(program, chips)


def time(cost: Cost | Sum, spell: Speller) -> str:
    """A number of elements over the bandwidth."""
    return spell.sum(cost if isinstance(cost, Sum) else Sum.from_cost(cost), (BANDWIDTH,))


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
    parts = [f"{program.name}: {describe(program, mesh)}"]
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
    rows = [["communication", f"{time(found.large, spell)}, K large"]]
    rows.append(["exactly", time(found.exact, spell)])
    rows += _least(found, spell)
    if found.on_chips is not None:
        rows += _on_chips(found.on_chips)
    elif chips is not None:
        lacking = " ".join(f"--set {dim}=..." for dim in unsized(found.program))
        rows.append([f"on {chips} chips", f"the best mesh takes sizes: {lacking}"])
    return rows


def _least(found: Derivation, spell: Speller) -> Rows:
    if isinstance(found.least, NoClosedForm):
        return [["least", f"no closed form: {found.least.reason}"]]
    if not found.large.terms:
        return []
    if not found.least.sizes:
        return [["least", "the same on every mesh of n chips"]]
    sizes = [" = ".join(sized(size, spell)) for size in found.least.sizes]
    rows = [["least at", ", ".join(sizes)], ["there", time(found.least.value, spell)]]
    where = conditions(found.least, spell)
    if where:
        rows.append(["where", f"{' and '.join(where)}: no size is less than 1"])
    return rows


def _on_chips(best: OnChips) -> Rows:
    whole = best.whole
    rows = [
        [
            f"on {best.chips} chips",
            f"{units.mesh(whole.mesh)}, {float(whole.elements):,.0f} elements received by each, "
            f"{_gap(best)}",
        ]
    ]
    others = [units.mesh(mesh) for mesh in whole.ties[1:]]
    for start in range(0, len(others), IN_A_LINE):
        line = "; ".join(others[start : start + IN_A_LINE])
        rows.append(["" if start else "as good", line])
    if whole.undivided:
        rows.append(["mind", f"{', '.join(whole.undivided)} would need padding there"])
    return rows


def _gap(best: OnChips) -> str:
    per_cent = f"{100 * best.gap:.1f}"
    if float(per_cent) == 0:
        return "no more than if sizes were not whole"
    return f"{per_cent} % more than if sizes were not whole"


def latex(found: Derivation) -> str:
    """Equations, one a line: the time, exactly, the best sizes, the time there."""
    spell = speller(found.program, "latex")
    lines = [rf"T \approx {time(found.large, spell)}", f"T = {time(found.exact, spell)}"]
    if isinstance(found.least, Least) and found.least.sizes:
        lines += [" = ".join(sized(size, spell)) for size in found.least.sizes]
        lines.append(rf"T_{{\min}} \approx {time(found.least.value, spell)}")
    return "\n".join(lines) + "\n"


# As a document.


def document(found: Derivation) -> Document:
    """Formulas as text, `**` for powers."""
    spell = speller(found.program)
    made: Document = {
        "program": found.program.name,
        "symbols": list(symbols(found.program)),
        "communication": time(found.large, spell),
        "exact": time(found.exact, spell),
        **_minimum(found.least, spell),
        "exact_at_optimum": _minimum(found.exact_least, spell)["at_optimum"],
        "statements": [_entry(found, moved, spell) for moved in found.statements],
    }
    if found.on_chips is not None:
        made["on_chips"] = _chips(found.on_chips)
    return made


def _minimum(least: Minimum, spell: Speller) -> Document:
    if isinstance(least, NoClosedForm):
        return {"optimum": None, "at_optimum": None, "reason": least.reason}
    return {
        "optimum": dict(sized(size, spell) for size in least.sizes),
        "at_optimum": time(least.value, spell),
        "where": conditions(least, spell),
    }


def _entry(found: Derivation, moved: Moved, spell: Speller) -> Document:
    move = moved.define.operation
    assert isinstance(move, Move)
    return {
        "statement": _statement(found, moved),
        "op": move.kind,
        "axes": "".join(move.axes),
        "communication": time(moved.large, spell),
        "exact": time(moved.exact, spell),
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
