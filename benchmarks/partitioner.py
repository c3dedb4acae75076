"""What XLA's automatic partitioner makes of a program, beside what layoutc makes of it.

    python benchmarks/partitioner.py [NAME...] [--pairs 15] [--json] [--readme]

Each case (cases.py) is one program on one mesh, in one phase. layoutc picks the layouts, nearly
everywhere under `--minimize communication`, and emits a `shard_map` function. The other side is the
module's plain `reference` under `jax.jit`, with the very same layouts of all that comes in and
leaves as its `in_shardings` and `out_shardings`; all between them is the partitioner's to choose.
Both are compiled at full size for simulated devices, and the collectives of the two optimised
programs are counted: elements that one chip receives, by the rules of docs/costs.md. Then both are
run in turns, at small sizes in f32.

XLA's partitioner writes an all-reduce and a slice where a reduce-scatter is meant. On TPUs and GPUs
a later pass joins the two, on the CPU none does, so that such pairs are also counted as joined.

NAME picks cases by their program, `--pairs 0` skips the times, `--readme` writes the table into
README.md. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cache
from math import ceil
from pathlib import Path
from typing import Any

from cases import CASES, Case

import layoutc
from layoutc.codegen.compiled import build, hlo
from layoutc.codegen.compiled.collectives import Collective, collectives
from layoutc.compiled import Compiled
from layoutc.loaded import Loaded
from layoutc.solver.asked import Minimize
from layoutc.solver.describe import describe
from layoutc.table import table

ROOT = Path(__file__).parent.parent
Sizes = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Elements:
    """What one chip receives: as predicted; in layoutc's compiled program; in the partitioner's;
    and there if each all-reduce of which a chip keeps its own part alone were a reduce-scatter."""

    predicted: int
    layoutc: int
    partitioner: int
    joined: int


@dataclass(frozen=True, slots=True)
class Times:
    """Median seconds of a step of both; of the ratios of pairs, the median and the quartiles."""

    layoutc: float
    partitioner: float
    ratio: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Result:
    """A row of the table. `collectives` are the partitioner's: kind, elements, chips, times."""

    name: str
    mesh: Mapping[str, int]
    sizes: Mapping[str, int]
    layout: str
    elements: Elements
    collectives: tuple[tuple[str, int, int, int], ...]
    times: Times | None


@dataclass(frozen=True, slots=True)
class Sides:
    """Both functions, over the same devices."""

    plan: Compiled
    program: Loaded
    layoutc: Callable[..., Any]
    partitioner: Callable[..., Any]


def sides(case: Case) -> Sides:
    """The case compiled by layoutc, and its reference under `jax.jit`."""
    import jax

    mesh, sizes = (tuple(numbers.items()) for numbers in (case.mesh, case.sizes))
    plan = _plan(case.path, case.chips, mesh, sizes, case.minimize)
    program = plan.phases[case.phase].load()
    leaving = tuple(program.out_shardings.values())
    caches = [i for i, t in enumerate(program.module.ARGUMENTS.values()) if t.cache]
    partitioned = jax.jit(
        program.module.reference,
        in_shardings=tuple(program.in_shardings.values()),
        out_shardings=leaving if len(leaving) > 1 else leaving[0],
        donate_argnums=caches,
    )
    return Sides(plan, program, program.function, partitioned)


@cache
def _plan(path: str, chips: int, mesh: Sizes, sizes: Sizes, minimize: Minimize) -> Compiled:
    """Compiled once for all phases."""
    given: dict[str, Any] = dict(sizes)
    return layoutc.compile(ROOT / path, chips, minimize=minimize, mesh=dict(mesh) or None, **given)


def compared(case: Case, pairs: int) -> Result:
    """The case on both sides, counted and, over so many pairs of steps, timed."""
    both = sides(case)
    phase, arguments = both.plan.phases[case.phase], list(both.program.arguments.values())
    ours, theirs = (_compiled(f, arguments) for f in (both.layoutc, both.partitioner))
    found = collectives(theirs, case.chips)
    return Result(
        name=case.name if case.phase == "main" else f"{case.name}, {case.phase}",
        mesh=both.plan.mesh,
        sizes=phase.answer.program.sizes,
        layout=describe(phase.answer.program, both.plan.mesh),
        elements=Elements(
            phase.costs.elements,
            _received(collectives(ours, case.chips)),
            _received(found),
            _received(found, theirs),
        ),
        collectives=tuple(map(_row, found)),
        times=_times(both, case, pairs) if pairs else None,
    )


# What moves.


def _compiled(function: Any, arguments: Sequence[Any]) -> hlo.Module:
    return hlo.parse(function.lower(*arguments).compile(compiler_options=build.UNRUN).as_text())


def _received(found: Sequence[Collective], joining: hlo.Module | None = None) -> int:
    """All elements that a chip receives. Where `joining` is their program, an all-reduce of which
    each chip keeps its part counts as the reduce-scatter that it can be made."""
    total = Fraction(0)
    for one in found:
        if one.times is None:
            raise ValueError(f"{one.name} is in a loop, and XLA does not know how often it runs")
        joined = joining is not None and one.kind == "all-reduce" and _scattered(joining, one)
        total += one.times * (one.elements_as("reduce-scatter") if joined else one.elements)
    return ceil(total)


def _row(one: Collective) -> tuple[str, int, int, int]:
    chips = max(map(len, one.groups))
    return one.kind, ceil(one.elements), chips, one.times or 0


PASSES_ON = {"copy", "bitcast", "transpose", "reshape", "convert", "get-tuple-element"}


def _scattered(module: hlo.Module, one: Collective) -> bool:
    """True if all that is read of an all-reduce is the chip's own part."""
    home = next(c for c in module.computations.values() if one.name in c.named)
    part = {array.elements // max(map(len, one.groups)) for array in home.named[one.name].types}
    readers = list(_readers(module, home, one.name))
    return bool(readers) and all(
        reader is not None and reader.opcode == "dynamic-slice" and reader.types[0].elements in part
        for reader in readers
    )


def _readers(
    module: hlo.Module, computation: hlo.Computation, name: str
) -> Iterator[hlo.Instruction | None]:
    """Who reads a value, past what only lays it out anew; None for leaving the computation."""
    if computation.result.name == name:
        yield None
    for user in computation.instructions:
        if name not in user.operands:
            continue
        if user.opcode in PASSES_ON:
            yield from _readers(module, computation, user.name)
        elif user.opcode in ("fusion", "call"):
            yield from _inside(module, computation, user, name)
        else:
            yield user


def _inside(
    module: hlo.Module, computation: hlo.Computation, user: hlo.Instruction, name: str
) -> Iterator[hlo.Instruction | None]:
    """The readers in what `user` calls, and after it where the value comes out of it."""
    called = module.computations[user.called("calls", "to_apply")[0]]
    numbers = {str(i) for i, operand in enumerate(user.operands) if operand == name}
    for parameter in called.instructions:
        if parameter.opcode == "parameter" and parameter.text in numbers:
            for reader in _readers(module, called, parameter.name):
                if reader is None:
                    yield from _readers(module, computation, user.name)
                else:
                    yield reader


# What it takes.


def _times(both: Sides, case: Case, pairs: int) -> Times:
    """Both run in turns, each first as often as second, so that a slow spell hits both."""
    sizes = case.timed or both.program.module.PHASES[case.phase].small
    module = both.program.module
    sides = [
        _Side(function, both.program.make_inputs(dtype=module.jnp.float32, **sizes), module)
        for function in (both.layoutc, both.partitioner)
    ]
    for side in sides:
        side.seconds()
    measured = []
    for pair in range(pairs):
        order = (0, 1) if pair % 2 else (1, 0)
        taken = {side: sides[side].seconds() for side in order}
        measured.append((taken[0], taken[1]))
    ratios = [theirs / ours for ours, theirs in measured]
    low, ratio, high = statistics.quantiles(ratios, n=4) if pairs > 1 else ratios * 3
    ours, theirs = (statistics.median(side) for side in zip(*measured, strict=True))
    return Times(ours, theirs, ratio, low, high)


@dataclass(slots=True)
class _Side:
    """A function and what it is called with next: caches are those of the last call."""

    function: Callable[..., Any]
    arrays: Sequence[Any]
    module: Any

    def seconds(self) -> float:
        import jax

        begin = time.perf_counter()
        returned = jax.block_until_ready(self.function(*self.arrays))
        taken = time.perf_counter() - begin
        self.arrays = self.module.handed_on(self.arrays, returned)
        return taken


# What is said.

HEAD = ["program", "mesh", "tokens", "layout", "layoutc", "jit", "ratio", "joined", "time"]


def cells(result: Result) -> list[str]:
    """A row of the table, in the order of HEAD."""
    moved, times = result.elements, result.times
    return [
        result.name,
        "×".join(str(n) for n in result.mesh.values()),
        f"{result.sizes['B'] * result.sizes['L']:,}",
        result.layout,
        f"{moved.layoutc:,}",
        f"{moved.partitioner:,}",
        ratio(moved.partitioner, moved.layoutc),
        ratio(moved.joined, moved.layoutc),
        f"{times.ratio:.1f} ({times.low:.1f} to {times.high:.1f})" if times else "-",
    ]


def ratio(theirs: int, ours: int) -> str:
    """Of what both receive; beside nothing at all, anything is beyond measure."""
    if not ours:
        return "∞" if theirs else "1.00"
    return f"{theirs / ours:.2f}"


def document(results: Sequence[Result]) -> str:
    import jax

    rows = [asdict(result) for result in results]
    return json.dumps({"jax": jax.__version__, "cases": rows}, indent=1)


BEGIN, END = "<!-- partitioner: begin -->", "<!-- partitioner: end -->"


def in_readme(results: Sequence[Result]) -> None:
    """The table between README.md's two marks, replaced."""
    import jax

    caption = f"JAX {jax.__version__}, simulated devices on {os.cpu_count()} CPU cores:"
    rows = [HEAD, ["---"] * 4 + ["---:"] * 5, *map(cells, results)]
    lines = [BEGIN, caption, "", *(f"| {' | '.join(row)} |" for row in rows), END]
    page = ROOT / "README.md"
    text = page.read_text(encoding="utf-8")
    marked = re.compile(f"{re.escape(BEGIN)}.*{re.escape(END)}", re.DOTALL)
    page.write_text(marked.sub(lambda _: "\n".join(lines), text), encoding="utf-8")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="layoutc beside XLA's automatic partitioner.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs; all if none is named")
    parser.add_argument("--pairs", type=int, default=15, help="steps of each side; 0 for no times")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--readme", action="store_true", help="write the table into README.md")
    said = parser.parse_args()
    if said.readme and said.names:
        parser.error("--readme writes all cases, so none can be named")
    return said


def main() -> None:
    # Before JAX is imported: XLA warns where its partitioner gives up, which the table shows.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    said = arguments()
    cases = [c for c in CASES if not said.names or c.name in said.names]
    build.simulate(max(case.chips for case in CASES))
    results = []
    for case in cases:
        results.append(compared(case, said.pairs))
        print(".", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    if said.readme:
        in_readme(results)
    print(document(results) if said.json else table([HEAD, *map(cells, results)], range(4, 8)))


if __name__ == "__main__":
    main()
