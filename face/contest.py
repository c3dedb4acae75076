"""What `compare` says of two programs on a machine: each in its best place, and who is ahead."""

from __future__ import annotations

from layoutc.compare import Explicit, switches, throughout, verdict
from layoutc.document import Document, placement
from layoutc.pipeline import WrongCall, refusals
from layoutc.solver import units
from layoutc.solver.contest import Contest, Line, Race, contest
from layoutc.solver.derivation import unsized
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.placed import Placed
from layoutc.solver.spelling import Speller, Style
from layoutc.solver.unsolvable import no_place
from layoutc.table import Rows, table


def contested(first: Explicit, second: Explicit, chips: int | None, machine: Machine) -> Contest:
    """The two programs, each in its best place of `chips` chips.

    Raises:
        WrongCall: it is not said how many chips, or how large a dim is.
        WrongFile: one of the programs has no place there.
    """
    if chips is None:
        raise WrongCall(
            f"on {machine.name} what a move takes hangs on where axes lie, and on starting: how "
            "many chips? --chips N, or --network flat"
        )
    for source, program in (first, second):
        if lacking := unsized(program):
            sizes = " ".join(f"--set {dim}=..." for dim in lacking)
            raise WrongCall(f"the best place of {program.name} takes sizes: {sizes}")
        with refusals(source):
            if refused := no_place(program, chips, machine):
                raise refused
    return contest(first[1], second[1], chips, machine)


# For people.


def report(found: Contest, style: Style) -> str:
    """Both programs where they are best, and where they change places, ending in a newline."""
    names, spell = (found.first.name, found.second.name), Speller(style)
    fabric = found.places[0].fabric
    head = f"on {units.chips(fabric.chips)} ({fabric.machine.name}), each in its best place"
    rows: Rows = []
    for name, place in zip(names, found.places, strict=True):
        rows += [[name, f"{units.mesh(place.mesh)}, {_takes(place)}"], ["", str(place.fabric)]]
    rows.append(["now", _now(found)])
    for label, race in (("K large", found.large), ("exactly", found.exact)):
        lines = verdict(race.zeros, race.variable, names, spell)
        rows += [[label if i == 0 else "", line] for i, line in enumerate(lines)]
    return f"{names[0]} and {names[1]} {head}\n\n{table(rows)}\n"


def _takes(place: Placed) -> str:
    if not place.latency:
        return units.duration(place.seconds)
    latency = units.duration(place.latency)
    return f"{units.duration(place.seconds)}, {latency} of it to start and for hops"


def _now(found: Contest) -> str:
    one, two = (place.seconds for place in found.places)
    name = found.first.name if one < two else found.second.name
    if _ahead(found) == "same":
        return "both take as long"
    return f"{name} is cheaper: the other takes {max(one, two) / min(one, two):.3g} times as long"


def _ahead(found: Contest) -> str:
    one, two = (f"{place.seconds:.9e}" for place in found.places)
    return "same" if one == two else "a" if float(one) < float(two) else "b"


# As a document.


def document(found: Contest) -> Document:
    """Seconds over the tokens, in numbers: `bandwidth_x` of two places are different things."""
    return {
        "programs": {"a": found.first.name, "b": found.second.name},
        "hardware": found.places[0].fabric.machine.name,
        "chips": found.places[0].chips,
        "places": {key: _place(p) for key, p in zip("ab", found.places, strict=True)},
        "ahead": _ahead(found),
        **_race(found.large, ""),
        **_race(found.exact, "_exact"),
    }


def _race(race: Race, suffix: str) -> Document:
    one, two = race.first, race.second
    apart = Line(one.start - two.start, one.slope - two.slope)
    lines = {"a": one, "b": two, "difference": apart}
    made: Document = {key + suffix: _formula(line, race) for key, line in lines.items()}
    made["switches" + suffix] = switches(race.zeros, race.variable, Speller())
    made["cheaper" + suffix] = throughout(race.zeros)
    return made


def _formula(line: Line, race: Race) -> str:
    sign = "-" if line.slope < 0 else "+"
    return f"{line.start!r} {sign} {abs(line.slope)!r}*{race.variable}"


def _place(place: Placed) -> Document:
    return {
        "mesh": place.mesh,
        "placement": placement(place.fabric),
        "seconds": place.seconds,
        "latency_seconds": place.latency,
        "elements": place.elements,
    }
