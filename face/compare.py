"""What `compare` says of two explicit programs: the difference, and where they change places.

On a machine where it matters where axes lie, or that takes time to start: `layoutc.contest`.
"""

from __future__ import annotations

from layoutc.derive import time
from layoutc.document import Document
from layoutc.dsl.program import Program
from layoutc.pipeline import Source, refusals
from layoutc.solver.algebra import CHIPS
from layoutc.solver.comparison import Comparison, Difference, compare
from layoutc.solver.meshes import meshes
from layoutc.solver.minimum import Least, Minimum
from layoutc.solver.network import BANDWIDTH
from layoutc.solver.spelling import Speller, Style
from layoutc.solver.surd import Surd
from layoutc.solver.switch import Zero, Zeros
from layoutc.solver.unsolvable import explain
from layoutc.table import Rows, table

Explicit = tuple[Source, Program]
"""A program without holes, and where it was read."""


def compared(first: Explicit, second: Explicit, chips: int | None) -> Comparison:
    """The two programs, on `chips` chips or on any number.

    Raises `WrongFile` if no mesh of one of them has so many chips.
    """
    for source, program in (first, second):
        with refusals(source):
            if chips is not None and not any(meshes(program.axes, chips)):
                raise explain(program, chips)
    return compare(first[1], second[1], chips)


def _speller(found: Comparison, style: Style = "python") -> Speller:
    """Symbols as the files have them, the first's before the second's."""
    dims = {**found.first.dims, **found.second.dims}
    axes = {axis.name.upper(): 0 for axis in (*found.first.axes, *found.second.axes)}
    return Speller(style, (*dims, *axes, CHIPS, BANDWIDTH))


def at(zero: Zero, spell: Speller) -> str:
    """The place of a zero."""
    if isinstance(zero.at, Surd):
        return spell.surd(zero.at)
    return f"{zero.at:.6g}" if isinstance(zero.at, float) else str(zero.at)


# For people.


def report(found: Comparison, style: Style) -> str:
    """Both programs at their best, for large K and exactly, ending in a newline."""
    spell, names = _speller(found, style), _names(found)
    rows: Rows = []
    for label, part in (("K large", found.large), ("exactly", found.exact)):
        rows += _costs(label, part, names, spell)
        rows += [["", line] for line in verdict(part.zeros, part.variable, names, spell)]
    return f"{names[0]} and {names[1]}, each at its best mesh\n\n{table(rows)}\n"


def _names(found: Comparison) -> tuple[str, str]:
    return found.first.name, found.second.name


def _costs(label: str, part: Difference, names: tuple[str, str], spell: Speller) -> Rows:
    return [
        [label, f"{names[0]}: {_cost(part.first, spell)}"],
        ["", f"{names[1]}: {_cost(part.second, spell)}"],
    ]


def _cost(least: Minimum, spell: Speller) -> str:
    if isinstance(least, Least):
        return time(least.value, spell)
    return f"no closed form: {least.reason}"


def verdict(found: Zeros, variable: str, names: tuple[str, str], spell: Speller) -> list[str]:
    """Where they change places, a line each."""
    if found.same:
        return ["the same, however large anything is"]
    if not found.zeros:
        if found.sign is None:
            return [found.reason or "which is cheaper hangs on the dims"]
        return [f"{_cheaper(found.sign, names)} is cheaper throughout"]
    return [_place(zero, variable, names, spell) for zero in found.zeros]


def _place(zero: Zero, variable: str, names: tuple[str, str], spell: Speller) -> str:
    name = variable if spell.style == "python" else variable.replace("*", "·")
    where = "" if zero.where is None else f", where {spell.sum(zero.where)} > 0"
    if zero.touches:
        side = _cheaper(zero.beyond, names)
        return f"they touch at {name} = {at(zero, spell)}{where}; beyond it {side} is cheaper"
    if zero.beyond is None:
        return f"they change places at {name} = {at(zero, spell)}{where}"
    return f"beyond {name} = {at(zero, spell)}{where}, {_cheaper(zero.beyond, names)} is cheaper"


def _cheaper(sign: int | None, names: tuple[str, str]) -> str:
    """Whose is the smaller one, by the sign of the first less the second."""
    if not sign:
        return "neither"
    return names[1] if sign > 0 else names[0]


# As a document.


def document(found: Comparison) -> Document:
    """Formulas as text; `a` and `b` are the programs' times, each at its best mesh."""
    spell = _speller(found)
    return {
        "programs": {"a": found.first.name, "b": found.second.name},
        "a": _formula(found.large.first, spell),
        "b": _formula(found.large.second, spell),
        "difference": _total(found.large, spell),
        "switches": switches(found.large.zeros, found.large.variable, spell),
        "cheaper": throughout(found.large.zeros),
        "a_exact": _formula(found.exact.first, spell),
        "b_exact": _formula(found.exact.second, spell),
        "difference_exact": _total(found.exact, spell),
        "switches_exact": switches(found.exact.zeros, found.exact.variable, spell),
        "cheaper_exact": throughout(found.exact.zeros),
    }


def _formula(least: Minimum, spell: Speller) -> str | None:
    return time(least.value, spell) if isinstance(least, Least) else None


def _total(part: Difference, spell: Speller) -> str | None:
    known = isinstance(part.first, Least) and isinstance(part.second, Least)
    return time(part.total, spell) if known else None


def switches(found: Zeros, variable: str, spell: Speller) -> list[Document]:
    """Where they change places, in order."""
    return [_switch(zero, variable, spell) for zero in found.zeros]


def _switch(zero: Zero, variable: str, spell: Speller) -> Document:
    made: Document = {"in": variable, "at": at(zero, spell)}
    made["cheaper_beyond"] = _side(zero.beyond)
    if zero.touches:
        made["touches"] = True
    if zero.where is not None:
        made["where"] = f"{spell.sum(zero.where)} > 0"
    return made


def throughout(found: Zeros) -> str | None:
    """Which is cheaper where they don't change places: a, b, or "same"; None where they do."""
    if found.same:
        return "same"
    return None if found.zeros else _side(found.sign)


def _side(sign: int | None) -> str | None:
    return None if not sign else "b" if sign > 0 else "a"
