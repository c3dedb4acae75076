"""What `compile` says to a person: the mesh, the tensors, the program, where the time goes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from layoutc.dsl.printer import print_statement
from layoutc.dsl.program import DTYPES, Declare, Define, Repeat
from layoutc.solver.describe import describe
from layoutc.solver.formula import communication, spelled
from layoutc.solver.solve import Plan
from layoutc.units import chips, duration, mesh, size

Rows = list[list[str]]


def report(plan: Plan, bigger: Plan | None = None) -> str:
    """The whole report, ending in a newline; `bigger` is the plan for more chips, if there is."""
    head = (
        f"{plan.program.name} on {chips(plan.chips)} ({plan.machine.name}), mesh {mesh(plan.mesh)}"
    )
    parts = [
        f"{head}: {describe(plan.program, plan.mesh)}",
        table(tensors(plan), right=(3,)),
        table(statements(plan), right=(3, 4), gap=(2, 1, 1, 3, 3)),
        table(totals(plan, bigger)),
    ]
    return "\n\n".join(parts) + "\n"


def table(rows: Rows, right: Sequence[int] = (), gap: Sequence[int] = ()) -> str:
    """Rows as aligned columns, indented; those in `right` end alike, `gap` are the spaces before.

    A row of one cell runs across all columns.
    """
    width = max(len(row) for row in rows)
    full = [[*row, *[""] * (width - len(row))] for row in rows if len(row) > 1]
    widths = [max(len(cell) for cell in column) for column in zip(*full, strict=True)]
    gaps = [*gap, *[2] * (width - len(gap))]
    lines = []
    for row in rows:
        cells = (
            " " * g + (cell.rjust(w) if i in right else cell.ljust(w))
            for i, (cell, w, g) in enumerate(zip(row, widths, gaps, strict=False))
        )
        lines.append(("".join(cells) if len(row) > 1 else f"  {row[0]}").rstrip())
    return "\n".join(lines)


def tensors(plan: Plan) -> Rows:
    """What a chip stores: the inputs, weights and caches."""
    rows = [["tensor", "layout", "on each chip", "bytes"]]
    sizes = {d: n or 0 for d, n in plan.program.dims.items()}
    for item, times in plan.program.walk():
        if isinstance(item, Declare):
            shape = item.type.shape
            extents = ", ".join(map(str, shape.local(sizes, plan.mesh)))
            count = shape.elements(sizes, plan.mesh) * DTYPES[item.type.dtype] * times
            stack = f"{times} of " if times > 1 else ""
            rows.append([item.name, str(shape), f"{stack}[{extents}]", size(count)])
    return rows


def statements(plan: Plan) -> Rows:
    """The explicit program, bytes and time beside each statement that has them."""
    order = tuple(axis.name for axis in plan.program.axes)
    prices = {s.define.name: s for s in plan.prices.statements}
    rows: Rows = []
    for indent, line in _lines(plan):
        if isinstance(line, str):
            rows.append([indent + line])
            continue
        left, right = print_statement(line, order).split(" = ", 1)
        name, layout = left.split(" : ", 1)
        price = prices[line.name]
        moved = size(price.bytes) if price.bytes else ""
        took = duration(price.seconds) if price.seconds else ""
        rows.append([indent + name, f": {layout}", f"= {right}", moved, took])
    return rows


def _lines(plan: Plan) -> Iterator[tuple[str, Define | str]]:
    """Every statement with its indentation; the lines of a block as they are printed."""
    for item in plan.program.items:
        match item:
            case Define():
                yield "", item
            case Repeat():
                yield "", f"repeat {item.count} {{"
                for inner in item.body:
                    if isinstance(inner, Define):
                        yield "    ", inner
                for carried in item.nexts:
                    yield "    ", f"next {carried.carried} = {carried.value}"
                yield "", "}"
            case Declare():
                continue


def totals(plan: Plan, bigger: Plan | None) -> Rows:
    """The pass, its communication as a formula, the next best, and what would help."""
    prices = plan.prices
    compute, memory = prices.compute.seconds, prices.memory.seconds
    under = sorted([(compute, "compute"), (memory, "memory")], reverse=True)
    rows = [
        [
            "pass",
            f"{duration(prices.seconds)} = {under[0][1]} {duration(under[0][0])} "
            f"({under[1][1]} {duration(under[1][0])} under it) "
            f"+ communication {duration(prices.communication.seconds)}",
        ],
        ["communication", _formula(plan)],
    ]
    if plan.runner_up is not None:
        what = "" if plan.minimize == "time" else " of communication"
        said = f"{mesh(plan.runner_up.mesh)}, {duration(plan.runner_up.seconds)}"
        rows.append(["next best mesh", said + what])
    return [*rows, ["proof", _proof(plan)], ["bottleneck", _bottleneck(plan, bigger)]]


def _proof(plan: Plan) -> str:
    """What was shown to be no better."""
    if plan.stood:
        return "every mesh was weighed; the layouts stand as they are written"
    least = f"nothing takes less than {duration(plan.bound)}"
    if plan.minimize == "communication":
        least = (
            f"with the least matmul work, no communication takes less than {duration(plan.bound)}"
        )
    return f"{least}: every mesh, layout and route was weighed"


def _formula(plan: Plan) -> str:
    elements = communication(plan.program, plan.mesh)
    if not elements.terms:
        return "none"
    received = f"{plan.prices.communication.elements:,} elements received by each chip"
    order = [*plan.program.dims, *plan.mesh]
    return f"{spelled(elements, order)} / bandwidth, K large; exactly {received}"


def _bottleneck(plan: Plan, bigger: Plan | None) -> str:
    prices = plan.prices
    parts = {
        "compute": prices.compute.seconds,
        "reading weights from memory": prices.memory.seconds,
        "communication": prices.communication.seconds,
    }
    most = max(parts, key=lambda part: parts[part])
    if bigger is None:
        return most
    return f"{most}; {bigger.chips:,} chips would bring {duration(bigger.prices.seconds)}"
