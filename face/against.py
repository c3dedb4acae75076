"""What `verify --against` says: what XLA's partitioner makes of a function, beside the plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

from layoutc.document import Document
from layoutc.dsl.operation import Move
from layoutc.dsl.printer import print_statement
from layoutc.dsl.program import Define
from layoutc.solver.units import chips, mesh, size
from layoutc.table import Rows, table

if TYPE_CHECKING:
    from layoutc.codegen.against.automatic import Automatic
    from layoutc.codegen.against.moved import Moved
    from layoutc.dsl.shape import Shape
    from layoutc.solver.plan import Pass


@dataclass(frozen=True, slots=True)
class Against:
    """A user's function beside a plan: each of its collectives, and what answers it there."""

    called: str
    plan: Pass
    automatic: Automatic
    moves: tuple[Moved, ...]
    answers: tuple[tuple[str, ...], ...]
    """For each collective, the plan's statements that do as much; none where there are none."""

    @property
    def elements(self) -> int:
        """What a chip receives."""
        return ceil(sum((m.elements for m in self.moves), Fraction(0)))

    @property
    def bytes(self) -> int:
        return ceil(sum((m.bytes for m in self.moves), Fraction(0)))

    @property
    def scattered(self) -> int:
        """The bytes if an all-reduce of which only parts are kept is a reduce-scatter."""
        return ceil(sum((m.bytes / (2 if m.cut else 1) for m in self.moves), Fraction(0)))

    @property
    def ratio(self) -> float | None:
        """Elements, as a multiple of the plan's."""
        planned = self.plan.prices.communication.elements
        return self.elements / planned if planned else None


def against(source_path: str, plan: Pass, called: str) -> Against:
    """`called` is "module:function"; its module may lie beside the file `source_path`.

    Raises:
        WrongFunction: of `layoutc.codegen.against.function`; its message is for the user.
    """
    from layoutc.codegen.against.automatic import automatic
    from layoutc.codegen.against.moved import moved

    found = automatic(plan.program, plan.mesh, called, Path(source_path).parent)
    moves = tuple(moved(found, plan.program))
    return Against(called, plan, found, moves, tuple(_answers(plan, moves)))


# What layoutc does in its place.


def _answers(plan: Pass, moves: tuple[Moved, ...]) -> Iterator[tuple[str, ...]]:
    """The plan's moves from the same layout: one, or two of which the second arrives there too."""
    types = plan.program.types
    order = tuple(a.name for a in plan.program.axes)
    defines = [i for i, _ in plan.program.walk() if isinstance(i, Define)]
    steps = [
        (d, _seen(types[d.operation.operand].shape, plan), _seen(d.type.shape, plan))
        for d in defines
        if isinstance(d.operation, Move)
    ]
    for move in moves:
        before, after = move.shapes
        start = next((i for i, (_, held, _) in enumerate(steps) if held == before), None)
        if start is None or after is None:
            yield ()
            continue
        first = steps[start]
        rest = [s for s in steps[start + 1 :] if s[2] == after] if first[2] != after else []
        steps = [s for s in steps if s is not first]
        yield tuple(print_statement(d, order) for d, _, _ in [first, *rest[:1]])


def _seen(shape: Shape, plan: Pass) -> Shape:
    """A shape without axes of one chip, which no collective is over."""
    single = [a for a, n in plan.mesh.items() if n == 1]
    rest = shape.without(single)
    return replace(rest, partial=tuple(a for a in rest.partial if a not in single))


# For people.


def report(found: Against) -> str:
    """The whole report, ending in a newline."""
    plan = found.plan
    backend = found.automatic.built.platform
    where = f"{chips(plan.chips)}, mesh {mesh(plan.mesh)}"
    head = f"{found.called} by jit alone on {where}, compiled for {backend}"
    moves = _moves(found) if found.moves else "  no collectives"
    return "\n\n".join([head, table(_ends(plan)), moves, table(list(_findings(found)))]) + "\n"


def _ends(plan: Pass) -> Rows:
    """What the function is given, and what is wanted of it."""
    from layoutc.codegen.against.function import declared, wanted

    return [["given", declared(plan.program)], ["wanted", wanted(plan.program)]]


def _moves(found: Against) -> str:
    """A line for each collective; below it why it is there, and what layoutc does."""
    rows: Rows = []
    for move in found.moves:
        times = "" if move.times == 1 else f"{move.times or '?'} times"
        layouts = f"{move.before} -> {move.after}"
        rows.append([_name(move), layouts, times, size(float(move.bytes))])
    used = [i for i in range(4) if any(row[i] for row in rows)]
    lines = table([[row[i] for i in used] for row in rows], right=(len(used) - 1,)).splitlines()
    parts = []
    for line, move, answers in zip(lines, found.moves, found.answers, strict=True):
        said = [line] + [f"    {move.why}"] * bool(move.why)
        marks = ["layoutc: ", *[" " * 9] * len(answers)]
        said += [f"    {mark}{answer}" for mark, answer in zip(marks, answers, strict=False)]
        parts.append("\n".join(said))
    return "\n".join(parts)


def _name(move: Moved) -> str:
    if move.axes:
        return f"{move.kind}({move.axes})"
    return f"{move.kind} in {move.among}" if move.among else move.kind


def _findings(found: Against) -> Iterator[list[str]]:
    planned = found.plan.prices.communication
    ratio = f", {found.ratio:.2f} times as many elements" if found.ratio is not None else ""
    yield ["moves", f"{size(found.bytes)}; layoutc moves {size(planned.bytes)}{ratio}"]
    if found.scattered != found.bytes:
        less = f"{size(found.scattered)} where XLA makes a reduce-scatter of an all-reduce of"
        yield ["", f"{less} which each chip keeps a part"]
    yield from _widened(found)
    yield ["values", _values(found)]


def _widened(found: Against) -> Iterator[list[str]]:
    backend = found.automatic.built.platform
    pairs = {(m.dtype, m.compiled_dtype) for m in found.moves if m.dtype != m.compiled_dtype}
    for dtype, carried in sorted(pairs):
        yield ["dtype", f"{dtype}, in which bytes are counted; {backend} moves it as {carried}"]
    if any(m.times is None for m in found.moves):
        yield ["loops", "XLA does not know how often one runs; it is counted once"]


def _values(found: Against) -> str:
    made, name = found.automatic, found.plan.program.name
    if made.error is None:
        return f"not compared: at small sizes, {made.refusal}"
    if made.same:
        return f"as {name} has them: error {made.error:.1g} at small sizes in f32"
    return f"it does not compute what {name} says: error {made.error:.1g} at small sizes in f32"


# For programs.


def documents(found: Mapping[str, Against]) -> Document:
    """What stands under "against" in the JSON document: of several phases, one for each."""
    each = {phase: document(one) for phase, one in found.items()}
    return next(iter(each.values())) if len(each) == 1 else {"phases": each}


def document(found: Against) -> Document:
    """A function beside one pass."""
    planned = found.plan.prices.communication
    return {
        "function": found.called,
        "max_error": found.automatic.error,
        "same": found.automatic.same,
        "collectives": [
            _collective(move, answers)
            for move, answers in zip(found.moves, found.answers, strict=True)
        ],
        "elements": found.elements,
        "bytes": found.bytes,
        "scattered_bytes": found.scattered,
        "layoutc_elements": planned.elements,
        "layoutc_bytes": planned.bytes,
        "ratio": found.ratio,
    }


def _collective(move: Moved, answers: tuple[str, ...]) -> Document:
    return {
        "op": move.kind,
        "axes": move.axes,
        "from": move.before,
        "to": move.after,
        "times": move.times,
        "elements": ceil(move.elements),
        "bytes": ceil(move.bytes),
        "dtype": move.dtype,
        "compiled_dtype": move.compiled_dtype,
        "line": move.line,
        "why": move.why,
        "kept_in_parts": move.cut,
        "layoutc": list(answers),
    }
