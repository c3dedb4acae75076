"""What PaLM 540B's attention is sharded over, as the context grows, and what a serial layer costs.

    python benchmarks/attention.py [CHIPS]

The layer is that of examples/palm_layer.layout, each phase as a program of its own. For every
context the search is asked anew; where the choice turns, the race and the search say. The serial
layer is benchmarks/programs/palm_serial.layout. Nothing is asserted.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from layoutc.dsl.check import Settings
from layoutc.dsl.operation import Move
from layoutc.dsl.program import Program
from layoutc.pipeline import checked, read
from layoutc.solver.contenders import called, contenders
from layoutc.solver.hardware.catalogue import load_machine
from layoutc.solver.holds import contexts
from layoutc.solver.plan import Plan
from layoutc.solver.solve import solve
from layoutc.solver.units import duration, mesh, size

HERE = Path(__file__).parent
LAYER = HERE.parent / "examples" / "palm_layer.layout"
SERIAL = HERE / "programs" / "palm_serial.layout"
CONTEXTS = [32, 128, 512, 2048, 8192, 32768]
BATCHES = [512, 64, 16, 4]
PAPER = 0.14
"""By how much the serial layer's step of decoding took longer in the paper, section 4.3."""


def phases() -> tuple[Program, Program]:
    """Prefill and decode, each as a program without phases."""
    prefill, decode = checked(read(str(LAYER)), Settings()).passes
    return replace(prefill, phases=()), replace(decode, phases=())


def sized(program: Program, **dims: int) -> Program:
    return replace(program, dims={**program.dims, **dims})


def rearranged(plan: Plan) -> int:
    """The all-to-alls of a pass."""
    moves = (p.define.operation for p in plan.only.prices.collectives)
    return sum(isinstance(m, Move) and m.kind == "all-to-all" for m in moves)


def row(plan: Plan) -> str:
    dims, prices = plan.only.program.sizes, plan.only.prices
    sizes = f"B={dims['B']} L={dims['L']} M={dims['M']}"
    took = f"{duration(prices.seconds):>9} {duration(prices.memory.seconds):>9} in memory"
    moved = f"{duration(prices.communication.seconds):>9} moving, {rearranged(plan)} all-to-alls"
    return f"{sizes:24}{mesh(plan.mesh):16}{took}  {moved}  {called(plan)}"


def turns(program: Program, plan: Plan) -> Iterator[str]:
    """Where attention turns, either way from the plan's context."""
    for found in contexts(program, plan, contenders(program, plan).plans):
        for turn, way in ((found.low, "below"), (found.high, "beyond")):
            if turn is not None:
                yield f"  {found.attention} to M={turn.before:,.0f}; {way}, {turn.name}"


def main() -> None:
    chips, machine = int((sys.argv[1:] or ["64"])[0]), load_machine()
    prefill, decode = phases()

    print(f"the layer of PaLM 540B on {chips} chips ({machine.name})\n\nby context, decoding")
    for places in CONTEXTS:
        print(row(solve(sized(decode, M=places), chips, machine)), flush=True)
    print("\nby sequences")
    for batch in BATCHES:
        print(row(solve(sized(decode, B=batch), chips, machine)), flush=True)
    print("\na prefill")
    print(row(solve(prefill, chips, machine)), flush=True)

    plan = solve(decode, chips, machine)
    print("\nwhere attention turns")
    for line in turns(decode, plan):
        print(line, flush=True)

    serial = solve(checked(read(str(SERIAL)), Settings()), chips, machine)
    print("\nparallel, and serial")
    for one in (plan, serial):
        print(f"{row(one)}, {size(one.only.prices.communication.bytes)}")
    more = serial.seconds / plan.seconds - 1
    print(f"  the serial layer takes {more:.1%} longer; in the paper, {PAPER:.0%}")


if __name__ == "__main__":
    main()
