"""What `regimes` says: which layout wins where, for people and as a document."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from layoutc.document import Document, placement
from layoutc.pipeline import Source, refusals
from layoutc.progress import watched
from layoutc.solver import units
from layoutc.solver.contender import CHIPS, Contender, Measure, Sweep, at_sizes, itemsize
from layoutc.solver.formula import communication, spelled
from layoutc.solver.regimes import Regime, Regimes, Switch, regimes
from layoutc.solver.units import size
from layoutc.table import Rows, table


@dataclass(frozen=True, slots=True)
class Found:
    """The same race twice, moves weighed for large K and exactly."""

    large: Regimes
    exact: Regimes

    @property
    def agree(self) -> bool:
        """Whether the same layouts win in the same order, and over chips for the same numbers."""
        return _order(self.large) == _order(self.exact)


def _order(found: Regimes) -> list[tuple[object, ...]]:
    return [
        (r.low, r.high, r.contender.name)
        if found.sweep.over == CHIPS
        else (r.contender.name, tuple(r.mesh.items()))
        for r in found.regimes
    ]


def swept(source: Source, sweep: Sweep) -> Found:
    """Both races. Raises `WrongFile` if no value in the range has a layout."""
    with refusals(source):
        large = regimes(sweep, watched(f"{source.name}, K large"))
        exactly = replace(sweep, large=False)
        exact = regimes(exactly, watched(f"{source.name}, exactly"), large.contenders)
    return Found(large, exact)


# For people.


def report(found: Found) -> str:
    """The regimes, the switches, and what each contender moves, ending in a newline."""
    large = found.large
    parts = [_head(large), table(_regimes(large), right=(0,))]
    if large.switches:
        parts.append(table(_switches(large)))
    if not found.agree:
        parts += ["  With every (K-1)/K kept:", table(_regimes(found.exact), right=(0,))]
    right = range(len(large.contenders) + 1)
    if large.sweep.machine.flat:
        parts += ["  Bytes that each chip receives, K large, * the least:"]
        parts += [table(_each(large, _bytes), right=right)]
    else:
        parts += ["  Time that moving takes, starting and hops with it, K large, * the least:"]
        parts += [table(_each(large, _time), right=right)]
        parts += ["  Bytes that each chip receives then, K large:"]
        parts += [table(_each(large, _bytes, marked=False), right=right)]
    return "\n\n".join(parts) + "\n"


def on(sweep: Sweep) -> str:
    """The chips that there are, and the machine where it isn't the paper's network."""
    chips = "" if sweep.over == CHIPS else f" on {sweep.chips} chips"
    return chips if sweep.machine.flat else f"{chips} ({sweep.machine.name})"


def _head(found: Regimes) -> str:
    sweep = found.sweep
    sizes = " ".join(f"{d}={n:,}" for d, n in sweep.program.dims.items() if d != sweep.over)
    ends = f"{sweep.over} from {sweep.low:,} to {sweep.high:,}"
    return f"{sweep.program.name}{on(sweep)}, {ends} with {sizes}"


def _regimes(found: Regimes) -> Rows:
    """One row each; the letters are those of the other tables, which are for large K."""
    sweep = found.sweep
    letters = _letters(found) if sweep.large else {}
    first = " at first" if sweep.over == CHIPS else ""
    heads = [f"mesh{first}", *[f"placement{first}"] * (not sweep.machine.uniform)]
    rows = [["", sweep.over, "layout", *heads, "elements that each chip receives, K large"]]
    for regime in found.regimes:
        program, mesh = regime.contender.program, regime.mesh
        idle = {axis: 1 for axis, chips in mesh.items() if chips == 1}
        cost = spelled(at_sizes(communication(program, mesh), idle), [*sweep.program.dims, *mesh])
        reach = f"{number(regime.low)} to {number(regime.high)}"
        row = [letters.get(regime.contender, ""), reach, regime.contender.name, units.mesh(mesh)]
        row += [str(regime.fabric)] * (not sweep.machine.uniform)
        rows.append([*row, cost])
    return rows


def _switches(found: Regimes) -> Rows:
    """Where winners change places; a formula for it where time is bytes over a bandwidth."""
    letters, flat = _letters(found), found.sweep.machine.flat
    over = found.sweep.over
    rows = [["switch", f"at {over}", *(["K large", "exactly"] if flat else [f"exactly at {over}"])]]
    for switch in found.switches:
        row = [f"{letters[switch.before]} → {letters[switch.after]}", number(switch.at)]
        exact = number(switch.exact) if switch.exact else "-"
        if not switch.cross:
            row.append(_uncrossed(found.sweep))
        elif flat:
            told = f" = {pretty(switch.exact_formula)}" if switch.exact else ""
            row += [pretty(switch.formula), exact + told]
        else:
            row.append(exact)
        rows.append(row)
    return rows


def _uncrossed(sweep: Sweep) -> str:
    """Why two layouts change places where they do not cost the same."""
    if sweep.over == CHIPS:
        return "the first number of chips that was tried and has another winner"
    return "from there on its axes divide"


def _bytes(contender: Contender, measure: Measure) -> str:
    return size(float(measure.elements) * itemsize(contender.program))


def _time(contender: Contender, measure: Measure) -> str:
    return units.duration(float(measure.moved))


def _each(found: Regimes, cell: Callable[[Contender, Measure], str], marked: bool = True) -> Rows:
    """Every value weighed, what every contender takes there, none where it does not divide; the
    least marked."""
    letters = _letters(found)
    rows = [[found.sweep.over, *(letters[c] for c in found.contenders)]]
    each = [dict(points) for points in found.points]
    for value in sorted({v for points in each for v in points}):
        least = min(points[value].rank for points in each if value in points)
        cells = []
        for points, contender in zip(each, found.contenders, strict=True):
            measure, said = points.get(value), "-"
            if measure is not None:
                said = cell(contender, measure)
            mark = " *" if measure is not None and measure.rank == least else "  "
            cells.append(said + mark * marked)
        rows.append([f"{value:,}", *cells])
    return rows


def _letters(found: Regimes) -> dict[Contender, str]:
    """a, b, c, ... in the order in which they win."""
    return {c: chr(ord("a") + i % 26) * (1 + i // 26) for i, c in enumerate(found.contenders)}


def number(value: Fraction) -> str:
    """To one decimal, where that isn't 0: 16,384 and 10,922.7."""
    return f"{float(value):,.1f}".removesuffix(".0")


def pretty(formula: str | None) -> str:
    """A formula of the document in the report's spelling: `12·F`."""
    return re.sub(r"\*\*2\b", "²", formula or "").replace("*", "·")


# Names that tell contenders apart.


def labels(contenders: Sequence[Contender]) -> dict[Contender, str]:
    """A name each, all different: the layout's, and as much of the rest as it takes."""
    more: tuple[Callable[[Contender], str], ...] = (
        lambda c: units.mesh(c.mesh),
        _held,
        lambda c: str(c.fabric),
        lambda c: f"no. {contenders.index(c) + 1}",
    )
    names = {c: c.name for c in contenders}
    for add in more:
        common = {name for name, count in Counter(names.values()).items() if count > 1}
        added = {c: f"{n}, {add(c)}" for c, n in names.items() if n in common}
        if len(set(added.values())) > len(common):
            names |= added
    return names


def _held(contender: Contender) -> str:
    """How the program's values are held, as far as it takes to tell layouts apart."""
    types = contender.program.types
    outputs = {output.name for output in contender.program.outputs}
    kept = (n for n in types if n in outputs or not re.search(r"\d$", n))
    return " ".join(f"{name}:{types[name].shape}" for name in kept)


# For machines.


def document(found: Found) -> Document:
    """Elements and seconds for large K; the `_exact` entries have the race with every (K-1)/K
    kept. A switch that `crosses` without a formula has none that is shorter than its number."""
    large, exact = found.large, found.exact
    sweep, names = large.sweep, labels(large.contenders)
    return {
        "program": sweep.program.name,
        "chips": None if sweep.over == CHIPS else sweep.chips,
        "hardware": sweep.machine.name,
        "over": sweep.over,
        "regimes": [_regime(r) for r in large.regimes],
        "switches": [_switch(s) for s in large.switches],
        "contenders": [
            {
                "layout": names[contender],
                "mesh": dict(contender.mesh),
                "placement": placement(contender.fabric),
                "points": [[value, plain(m.elements)] for value, m in points],
                "seconds": [[value, _seconds(contender, m)] for value, m in points],
            }
            for contender, points in zip(large.contenders, large.points, strict=True)
        ],
        "regimes_exact": [_regime(r) for r in exact.regimes],
        "switches_exact": [_switch(s) for s in exact.switches],
    }


def _regime(regime: Regime) -> Document:
    ends = {"from": plain(regime.low), "to": plain(regime.high)}
    mesh = {"mesh": regime.mesh, "placement": placement(regime.fabric)}
    return {**ends, "layout": regime.contender.name, **mesh}


def _seconds(contender: Contender, measure: Measure) -> float:
    """What moving takes: off a flat network that is what was weighed."""
    machine = contender.sweep.machine
    if not machine.flat:
        return float(measure.moved)
    return float(measure.elements) * itemsize(contender.program) / machine.network_bandwidth


def _switch(switch: Switch) -> Document:
    return {
        "at": plain(switch.at),
        "crosses": switch.cross,
        "formula": switch.formula,
        "exact": None if switch.exact is None else plain(switch.exact),
        "exact_formula": switch.exact_formula,
    }


def plain(value: Fraction) -> int | float:
    """A number of JSON: whole where it is."""
    return value.numerator if value.denominator == 1 else float(value)
