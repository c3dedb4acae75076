"""What `compile` says to a person: the mesh, the tensors, the program, where the time goes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from layoutc import context
from layoutc.dsl.handing import HandOver
from layoutc.dsl.printer import print_dim, print_statement
from layoutc.dsl.program import DTYPES, Declare, Define, Repeat
from layoutc.dsl.scales import scaled
from layoutc.solver.context import caches
from layoutc.solver.describe import describe
from layoutc.solver.formula import communication, spelled
from layoutc.solver.network import network
from layoutc.solver.plan import Pass, Plan
from layoutc.solver.price import Prices
from layoutc.solver.stored import stored
from layoutc.solver.units import chips, duration, mesh, size
from layoutc.table import Rows, table


def report(
    plan: Plan,
    bigger: Plan | None = None,
    apart: Sequence[Plan] = (),
    against: Sequence[str] = (),
    share: Fraction | None = None,
) -> str:
    """The whole report, ending in a newline.

    `bigger` is the plan for more chips, if there is; `apart` are those of each phase alone;
    `against` is what is said of the best layouts of other names; `share` is the part of memory
    that caches may take, where that is asked about.
    """
    last = [*_placed(plan), *overall(plan, bigger, apart, against)]
    rest = table(last)
    if len(plan.passes) == 1:
        parts = [f"{_where(plan)}: {name(plan.only)}", *_listed(plan.only)]
        parts.append(table([*pass_totals(plan.only, share), *last]))
        return "\n\n".join(parts) + "\n"
    parts = [f"{_where(plan)}, {len(plan.passes)} phases"]
    for part in plan.passes:
        parts += [phase(part), *_listed(part), table(pass_totals(part, share))]
    parts += [part for one, moves in plan.handed for part in _handed(one, moves)]
    return "\n\n".join([*parts, f"all phases\n\n{rest}"]) + "\n"


def _handed(one: HandOver, moves: Pass) -> list[str]:
    """What hands caches over: the moves, and what they come to."""
    often = "" if moves.weight == 1 else f", {moves.weight:g} times"
    rows, total = statements(moves), moves.prices.communication
    if not rows:
        return [f"{one}{often}: the caches are placed as they are, nothing is received"]
    said = f"{size(total.bytes)} received, {duration(total.seconds)}"
    return [
        f"{one}{often}: the caches are handed over, {said}",
        table(rows, right=(3, 4), gap=(2, 1, 1, 3, 3)),
    ]


def _where(plan: Plan) -> str:
    return f"{plan.name} on {chips(plan.chips)} ({plan.machine.name}), mesh {mesh(plan.mesh)}"


def _placed(plan: Plan) -> Rows:
    """Where the mesh lies on the machine, where that matters."""
    return [] if plan.machine.uniform else [["placement", str(plan.fabric)]]


def name(part: Pass) -> str:
    """What the layout is called."""
    return describe(part.program, part.mesh)


def phase(part: Pass) -> str:
    """A phase: its sizes, how often it runs, what its layout is called."""
    sizes = " ".join(f"{dim}={size}" for dim, size in part.program.phase.sizes.items())
    often = "" if part.weight == 1 else f", {part.weight:g} times"
    own = f" ({sizes})" if sizes else ""
    return f"{part.phase}{own}{often}: {name(part)}"


def _listed(part: Pass) -> list[str]:
    listed = table(statements(part), right=(3, 4), gap=(2, 1, 1, 3, 3, 2))
    return [table(tensors(part), right=(3,)), listed]


def tensors(plan: Pass) -> Rows:
    """What a chip stores: the inputs, weights and caches."""
    rows = [["tensor", "layout", "on each chip", "bytes"]]
    sizes, scales = plan.program.sizes, scaled(plan.program)
    kept = stored(plan.program, plan.mesh)
    for item, times in plan.program.walk():
        if isinstance(item, Declare):
            shape = item.type.shape
            extents = f"[{_listed_sizes(shape.local(sizes, plan.mesh))}]"
            if item.name in scales:
                listed = _listed_sizes(sizes[d] for d in scales[item.name])
                extents += f", scales [{listed}]" if listed else ", one scale"
            count = shape.elements(sizes, plan.mesh) * DTYPES[item.type.dtype] * times
            stack = f"{times} of " if times > 1 else ""
            bytes_ = size(kept.get(item.name, count))
            rows.append([item.name, str(shape), f"{stack}{extents}", bytes_])
    return rows


def _listed_sizes(sizes: Iterable[int]) -> str:
    return ", ".join(map(str, sizes))


def statements(plan: Pass) -> Rows:
    """The explicit program, bytes and time beside each statement that has them."""
    order = tuple(axis.name for axis in plan.program.axes)
    prices = {s.define.name: s for s in plan.prices.statements}
    rows: Rows = []
    inside = {h.collective: h for h in plan.prices.overlap.hidden} if plan.prices.overlap else {}
    for indent, line in _lines(plan):
        if isinstance(line, str):
            rows.append([indent + line])
            continue
        left, right = print_statement(line, order).split(" = ", 1)
        name, layout = left.split(" : ", 1)
        price = prices[line.name]
        moved = size(price.bytes) if price.bytes else ""
        took = duration(price.seconds) if price.seconds else ""
        row = [indent + name, f": {layout}", f"= {right}", moved, took]
        if line.name in inside:
            row.append(f"inside {inside[line.name].matmul}")
        rows.append(row)
    return rows


def _lines(plan: Pass) -> Iterator[tuple[str, Define | str]]:
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


def pass_totals(part: Pass, share: Fraction | None = None) -> Rows:
    """One pass, its communication as a formula, and its caches, which may take a `share` of
    memory."""
    prices = part.prices
    compute, memory = prices.compute.seconds, prices.memory.seconds
    under = sorted([(compute, "compute"), (memory, "memory")], reverse=True)
    rows = [
        [
            "pass",
            f"{duration(prices.seconds)} = {under[0][1]} {duration(under[0][0])} "
            f"({under[1][1]} {duration(under[1][0])} under it) "
            f"+ communication {duration(prices.communication.seconds)}"
            f"{_latency(prices)}{_hidden(prices)}",
        ]
    ]
    if part.program.useful:
        rows.append(["useful", _useful(part)])
    return [*rows, ["communication", _formula(part)], *context.rows(part, share)]


def _latency(prices: Prices) -> str:
    """How much of the communication would be there without a byte."""
    moving = prices.communication
    return f" ({duration(moving.latency)} of it to start and for hops)" if moving.latency else ""


def _hidden(prices: Prices) -> str:
    """How much of the communication goes on inside matmuls."""
    if prices.overlap is None:
        return ""
    hidden = sum(one.seconds for one in prices.overlap.hidden)
    return f" - {duration(hidden)} of it inside matmuls" if hidden else ", none of it hidden"


def _useful(part: Pass) -> str:
    """How much of the matmul work is not padding, and not done by several chips alike."""
    program, compute = part.program, part.prices.compute
    if not compute.flops:
        return "there are no matmuls"
    dims = (print_dim(d, program.dims[d], n) for d, n in program.useful.items())
    share = compute.useful_flops / compute.flops
    return f"{share:.1%} of the matmul work, with {' '.join(dims)}"


def overall(
    plan: Plan,
    bigger: Plan | None = None,
    apart: Sequence[Plan] = (),
    against: Sequence[str] = (),
) -> Rows:
    """All phases together, the next best mesh, and what would help."""
    rows: Rows = []
    if len(plan.passes) > 1:
        rows.append(["in all", f"{duration(plan.seconds)} = {_sum(plan)}"])
    if apart:
        rows.append(["sharing", _sharing(plan, apart)])
    if plan.runner_up is not None:
        what = "" if plan.minimize == "time" else " of communication"
        seconds = plan.runner_up.seconds
        said = f"{mesh(plan.runner_up.mesh)}, {duration(seconds)}{what}"
        if plan.value and duration(seconds) == duration(plan.value):
            said += f", {seconds / plan.value - 1:.2%} more"
        rows.append(["next best mesh", said])
    rows += [["against" if not number else "", said] for number, said in enumerate(against)]
    return [*rows, ["proof", _proof(plan)], ["bottleneck", _bottleneck(plan, bigger)]]


def _sum(plan: Plan) -> str:
    terms = []
    for part in plan.passes:
        often = "" if part.weight == 1 else f"{part.weight:g} · "
        terms.append(f"{often}{part.phase} {duration(part.prices.seconds)}")
    return " + ".join(terms)


def _sharing(plan: Plan, apart: Sequence[Plan]) -> str:
    """What it costs that all phases have one mesh and one layout of each weight."""
    least = sum(alone.value for alone in apart)
    each = ", ".join(f"{a.only.phase} {duration(a.value / a.only.weight)}" for a in apart)
    if plan.value <= least * (1 + 1e-9):
        return f"one mesh and one layout of each weight cost nothing: apart, {each}"
    more = plan.value / least - 1
    return f"one mesh and one layout of each weight cost {more:.1%}: apart, {each}"


def _proof(plan: Plan) -> str:
    """What was shown to be no better."""
    if plan.stood:
        return "every mesh was weighed; the layouts stand as they are written"
    least = f"nothing takes less than {duration(plan.bound)}"
    if plan.minimize == "communication":
        least = (
            f"with the least matmul work, no communication takes less than {duration(plan.bound)}"
        )
    if plan.gap and plan.machine.overlap:
        return f"{least}; the best of the programs tried is within {plan.gap:.2%} of that"
    if plan.gap:
        return f"{least}; the search stopped within {plan.gap:.2%} of that, as asked"
    return f"{least}: every mesh, layout and route was weighed"


def _formula(plan: Pass) -> str:
    on = network(plan.program, plan.machine, plan.fabric)
    cost = communication(plan.program, plan.mesh, network=on)
    if not cost.terms:
        return "none"
    received = f"{plan.prices.communication.elements:,} elements received by each chip"
    order = [*plan.program.dims, *plan.mesh]
    over = "".join(f" / {symbol}" for symbol in on.over)
    return f"{spelled(cost, order)}{over}, K large; exactly {received}"


def _bottleneck(plan: Plan, bigger: Plan | None) -> str:
    """What most of the time goes into, over all phases."""
    kept = "weights and caches" if caches(plan.passes[0].program) else "weights"
    parts = {
        "compute": sum(p.weight * p.prices.compute.seconds for p in plan.passes),
        f"reading {kept} from memory": sum(p.weight * p.prices.memory.seconds for p in plan.passes),
        "communication": sum(p.weight * p.prices.communication.seconds for p in plan.passes),
    }
    most = max(parts, key=lambda part: parts[part])
    if bigger is None:
        return most
    return f"{most}; {bigger.chips:,} chips would bring {duration(bigger.seconds)}"
