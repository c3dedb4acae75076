"""What XLA's automatic partitioner makes of a program, beside what layoutc makes of it.

    python benchmarks/partitioner.py [NAME...] [--pairs 15] [--json] [--readme]

Each case is one program on one mesh. layoutc picks the layouts under `--minimize communication`
and emits a `shard_map` function. The other side is the module's plain `reference` under `jax.jit`,
with the very same layouts of inputs, weights and outputs as its `in_shardings` and
`out_shardings`; all between them is the partitioner's to choose. Both are compiled at full size for
simulated devices, and the collectives of the two optimised programs are counted: elements that one
chip receives, by the rules of docs/costs.md. Then both are run in turns, at small sizes in f32.

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
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any

import layoutc
from layoutc.codegen.compiled import build, hlo
from layoutc.codegen.compiled.collectives import Collective, collectives
from layoutc.report import table
from layoutc.solver.describe import describe

ROOT = Path(__file__).parent.parent
CUBE = {"x": 4, "y": 4, "z": 4}
FEW = {"B": 512, "E": 1152, "F": 4608}
"""Sizes at which two CPU cores take a fraction of a second."""
MANY = {"B": 1024, "L": 4, "E": 384, "F": 1536}


@dataclass(frozen=True, slots=True)
class Case:
    """A program under ROOT on so many chips, with sizes over the file's own; `timed` are the sizes
    at which it is run."""

    path: str
    chips: int = 64
    sizes: Mapping[str, int] = field(default_factory=dict)
    mesh: Mapping[str, int] = field(default_factory=dict)
    timed: Mapping[str, int] = field(default_factory=lambda: FEW)

    @property
    def name(self) -> str:
        return Path(self.path).stem


def _example(name: str, chips: int = 64, **fields: Any) -> Case:
    return Case(f"examples/{name}.layout", chips, **fields)


def _extra(name: str, **fields: Any) -> Case:
    return Case(f"benchmarks/programs/{name}.layout", **fields)


CASES = [
    _example("ffn"),
    _example("ffn", 48),
    _example("ffn", 12),
    _example("stack", timed=FEW | {"repeat": 4}),
    _example("ffn_bias"),
    _extra("bias_whole"),
    _example("swiglu", timed=FEW | {"F": 3584}),
    _example("ffn_figure3", sizes={"B": 32_768}, mesh=CUBE, timed=MANY),
    _example("ffn_figure3", sizes={"B": 131_072}, mesh=CUBE, timed=MANY),
    _example("ffn_1d_weight_stationary", 8),
    _example("ffn_2d_weight_stationary"),
    _example("ffn_x_weight_gathered", sizes={"L": 64}, mesh=CUBE, timed=MANY),
    _example("ffn_x_weight_gathered", 48, sizes={"L": 64}, mesh=CUBE | {"z": 3}, timed=MANY),
    _example("ffn_xy_weight_gathered", sizes={"L": 256}, mesh=CUBE, timed=MANY),
    _example("ffn_xyz_weight_gathered", sizes={"L": 8192}, mesh=CUBE, timed=MANY),
    _extra("parallel", mesh=CUBE, timed=FEW | {"G": 2048}),
    _extra("swiglu_residual", mesh=CUBE, timed=FEW | {"F": 3584}),
    _extra("prenorm", mesh=CUBE),
    _extra("adapter", mesh=CUBE, timed=FEW | {"R": 64}),
    _extra("tied", timed=MANY),
]
"""Each of the paper's five layouts stands at a size at which no other moves less."""


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

    plan: Any
    program: Any
    layoutc: Callable[..., Any]
    partitioner: Callable[..., Any]


def sides(case: Case) -> Sides:
    """The case compiled by layoutc, and its reference under `jax.jit`."""
    import jax

    sizes: dict[str, Any] = dict(case.sizes)
    plan = layoutc.compile(
        ROOT / case.path, case.chips, minimize="communication", mesh=case.mesh or None, **sizes
    )
    program = plan.load()
    leaving = tuple(program.out_shardings.values())
    partitioned = jax.jit(
        program.module.reference,
        in_shardings=tuple(program.in_shardings.values()),
        out_shardings=leaving if len(leaving) > 1 else leaving[0],
    )
    return Sides(plan, program, program.function, partitioned)


def compared(case: Case, pairs: int) -> Result:
    """The case on both sides, counted and, over so many pairs of steps, timed."""
    both = sides(case)
    plan, arguments = both.plan, list(both.program.arguments.values())
    ours, theirs = (_compiled(f, arguments) for f in (both.layoutc, both.partitioner))
    found = collectives(theirs, case.chips)
    return Result(
        name=case.name,
        mesh=plan.mesh,
        sizes=plan.answer.only.program.dims,
        layout=describe(plan.answer.only.program, plan.mesh),
        elements=Elements(
            plan.costs.elements,
            _received(collectives(ours, case.chips)),
            _received(found),
            _received(found, theirs),
        ),
        collectives=tuple(map(_row, found)),
        times=_times(both, case.timed, pairs) if pairs else None,
    )


# What moves.


FAST = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
"""Machine code, which is not run here, need not be good; XLA's own passes are as ever."""


def _compiled(function: Any, arguments: Sequence[Any]) -> hlo.Module:
    return hlo.parse(function.lower(*arguments).compile(compiler_options=FAST).as_text())


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


def _times(both: Sides, sizes: Mapping[str, int], pairs: int) -> Times:
    """Both run in turns, each first as often as second, so that a slow spell hits both."""
    arrays = both.program.make_inputs(dtype=both.program.module.jnp.float32, **sizes)
    functions = [both.layoutc, both.partitioner]
    for function in functions:
        _seconds(function, arrays)
    measured = []
    for pair in range(pairs):
        order = (0, 1) if pair % 2 else (1, 0)
        taken = {side: _seconds(functions[side], arrays) for side in order}
        measured.append((taken[0], taken[1]))
    ratios = [theirs / ours for ours, theirs in measured]
    low, ratio, high = statistics.quantiles(ratios, n=4) if pairs > 1 else ratios * 3
    ours, theirs = (statistics.median(side) for side in zip(*measured, strict=True))
    return Times(ours, theirs, ratio, low, high)


def _seconds(function: Callable[..., Any], arrays: Sequence[Any]) -> float:
    import jax

    begin = time.perf_counter()
    jax.block_until_ready(function(*arrays))
    return time.perf_counter() - begin


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
        f"{moved.partitioner / moved.layoutc:.2f}",
        f"{moved.joined / moved.layoutc:.2f}",
        f"{times.ratio:.1f} ({times.low:.1f} to {times.high:.1f})" if times else "-",
    ]


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
