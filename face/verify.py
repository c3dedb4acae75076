"""What `verify` says: each predicted collective beside the compiled one, values, memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from layoutc.document import Document
from layoutc.dsl.printer import print_statement
from layoutc.solver.units import chips, mesh, size
from layoutc.table import Rows, table

if TYPE_CHECKING:
    from layoutc.codegen.verify.account import Memory
    from layoutc.codegen.verify.match import Row
    from layoutc.codegen.verify.verdict import Refused, Verdict
    from layoutc.solver.plan import Plan


ASIDE = ("copies that only lay values out anew", "gaps between XLA's buffers")
"""What is not counted in a peak, in the order of `Memory.aside`."""


Found = Mapping[str, "Verdict | Refused"]
"""What was found of each phase, and of each hand-over between two, "prefill -> decode"."""


def report(plan: Plan, found: Found) -> str:
    """The whole report, ending in a newline; the phases one after the other, then what is
    between them."""
    return "\n".join(_report(name, plan, verdict) for name, verdict in found.items())


def _report(part: str, plan: Plan, found: Verdict | Refused) -> str:
    name = plan.name if len(plan.passes) == 1 else f"{plan.name}, {part},"
    head = f"{name} on {chips(plan.chips)}, mesh {mesh(plan.mesh)}"
    if isinstance(found, Exception):
        rows = [["refused", said] for said in found.differences]
        return f"{head}: not compiled\n\n{table(rows)}\n"
    where = "simulated on the CPU" if found.simulated else f"on {found.platform} devices"
    parts = [
        f"{head}: compiled and read, {where}",
        table(_statements(plan, found), right=(3, 4), gap=(2, 1, 1, 3, 3)),
        table(list(_findings(found))),
    ]
    return "\n\n".join(parts) + "\n"


def _statements(plan: Plan, verdict: Verdict) -> Rows:
    """The statements that move something, and what a chip receives by each."""
    if not verdict.matched.rows:
        return [["", "no statement moves anything"]]
    wrong = {said.partition(": ")[0] for said in differences_of(verdict)}
    rows: Rows = [["", "", "", "predicted", "compiled", ""]]
    for row in verdict.matched.rows:
        left, right = _statement(plan, row).split(" = ", 1)
        name, layout = left.split(" : ", 1)
        compiled = "left out" if row.compiled is None else f"{row.compiled:,}"
        mark = "differs" if name in wrong else ""
        rows.append([name, f": {layout}", f"= {right}", f"{row.predicted:,}", compiled, mark])
    total = (f"{count:,}" for count in totals(verdict))
    return [*rows, ["", "", "elements received", *total, ""]]


def totals(verdict: Verdict) -> tuple[int, int]:
    """Elements that a chip receives, as predicted and as compiled."""
    rows = verdict.matched.rows
    return sum(r.predicted for r in rows), sum(r.compiled or 0 for r in rows)


def _findings(verdict: Verdict) -> Iterator[list[str]]:
    values, memory = verdict.values, verdict.memory
    if values:
        sizes = " ".join(f"{d}={n}" for d, n in values.sizes.items())
        allowed = (
            f"up to {values.tolerance:.0e} is rounding" if values.tolerance else "none is rounding"
        )
        yield ["values", f"error {values.error:.1e} against the reference, at {sizes}; {allowed}"]
    else:
        yield ["values", "not run"]
    yield [memory.what, _both(memory.predicted_stored, memory.stored, exact=memory.exact)]
    yield ["peak memory", _peak(memory)]
    for what, names in _recognised(verdict).items():
        yield ["recognised", f"{what} ({', '.join(names)})"]
    for bytes_, what in zip(memory.aside, ASIDE, strict=True):
        if bytes_ > memory.peak // 100:
            yield ["left aside", f"{size(bytes_)} of {what}"]
    faults = differences_of(verdict)
    for fault in faults:
        yield ["differs", fault]
    count = f"{len(faults)} difference{'s' * (len(faults) > 1)}"
    yield ["verdict", count if faults else "what was predicted is what runs"]


def _both(predicted: int, compiled: int, exact: bool = False) -> str:
    if exact:
        return f"{size(compiled)} as predicted, to the byte"
    return f"{size(predicted)} predicted, {size(compiled)} compiled"


def _peak(memory: Memory) -> str:
    said = _both(memory.predicted_peak, memory.peak)
    return f"{said}, all floats in f32 as on the CPU" if memory.widened else said


def _recognised(verdict: Verdict) -> dict[str, list[str]]:
    """What XLA did, and with which statements."""
    found: dict[str, list[str]] = {}
    for note in verdict.matched.recognised:
        found.setdefault(note.what, []).append(note.name)
    return found


def differences(found: Found) -> list[str]:
    """A sentence for each thing that is not as it was predicted, in any phase or between two."""
    if len(found) == 1:
        return [said for verdict in found.values() for said in differences_of(verdict)]
    return [f"{phase}: {d}" for phase, verdict in found.items() for d in differences_of(verdict)]


def differences_of(verdict: Verdict | Refused) -> list[str]:
    """The same for one of them."""
    if isinstance(verdict, Exception):
        return list(verdict.differences)
    memory = verdict.memory
    found = [f"{name}: {what}" for name, what in verdict.mistyped.items()]
    for matched in (verdict.stated, verdict.matched):
        found += [f"{row.expected.define.name}: {row.fault}" for row in matched.rows if row.fault]
        found += matched.unexpected
    if verdict.values and not verdict.values.equal:
        where = verdict.values.first or "values"
        found.append(f"{where}: error {verdict.values.error:.1e} against the reference")
    if not memory.exact:
        found.append(f"{memory.what}: {_both(memory.predicted_stored, memory.stored)}")
    if not memory.close:
        found.append(f"peak memory: {_both(memory.predicted_peak, memory.peak)}")
    return list(dict.fromkeys(found))


def document(plan: Plan, found: Found) -> Document:
    """The same for a machine. Of a program that JAX refuses there is nothing but the reasons."""
    verdicts = {phase: v for phase, v in found.items() if not isinstance(v, Exception)}
    errors = [v.values.error for v in verdicts.values() if v.values]
    first = next(iter(verdicts.values()), None)
    about = {"platform": first.platform, "simulated": first.simulated} if first else {}
    return {
        "program": plan.name,
        "chips": plan.chips,
        "mesh": dict(plan.mesh),
        **about,
        "equal": len(verdicts) == len(found) and all(v.equal for v in verdicts.values()),
        "max_error": max(errors) if errors else None,
        "differences": differences(found),
        "phases": _all(plan, [part.phase for part in plan.passes], verdicts),
        "hand_overs": _all(plan, map(str, plan.hand_overs), verdicts),
    }


def _all(plan: Plan, names: Iterable[str], verdicts: Mapping[str, Verdict]) -> Document:
    return {name: _one(plan, verdicts[name]) for name in names if name in verdicts}


def _one(plan: Plan, verdict: Verdict) -> Document:
    memory = verdict.memory
    return {
        "collectives": [_collective(plan, row) for row in verdict.matched.rows],
        "unexpected": list(verdict.matched.unexpected),
        "recognised": [str(note) for note in verdict.matched.recognised],
        "predicted_weight_memory": memory.predicted_stored,
        "compiled_weight_memory": memory.stored,
        "predicted_peak_memory": memory.predicted_peak,
        "compiled_peak_memory": memory.peak,
        "peak_memory_in_f32": memory.widened,
        "copies": memory.aside.copies,
        "gaps": memory.aside.gaps,
    }


def _collective(plan: Plan, row: Row) -> Document:
    move = row.expected.move
    return {
        "statement": _statement(plan, row),
        "op": move.kind,
        "axes": "".join(move.axes),
        "times": row.expected.times,
        "predicted_elements": row.predicted,
        "compiled_elements": row.compiled,
        "compiled_dtype": row.dtype,
        "fault": row.fault,
    }


def _statement(plan: Plan, row: Row) -> str:
    axes = plan.passes[0].program.axes
    return print_statement(row.expected.define, tuple(axis.name for axis in axes))
