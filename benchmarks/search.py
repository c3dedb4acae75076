"""How long the search takes: on more and more chips, and for longer and longer chains.

    python benchmarks/search.py [PROGRAM...]

Programs are those with holes in examples/ and benchmarks/programs/; the last are layers with
attention, prefill and decode at once, whose search takes longer, and which have two numbers of
chips. Seconds are of CPU time, in one process, so that what is built once is built once; sizes are
the files' own. A program that does not fit so few chips has a dash. Nothing is asserted.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from layoutc.dsl.check import Settings
from layoutc.dsl.program import Program
from layoutc.pipeline import checked, parsed, read, sound
from layoutc.solver.asked import Minimize
from layoutc.solver.hardware.catalogue import load_machine
from layoutc.solver.solve import solve
from layoutc.solver.unsolvable import Unsolvable

HERE = Path(__file__).parent
FOLDERS = [HERE.parent / "examples", HERE / "programs"]
WITH_HOLES = ["ffn", "ffn_bias", "swiglu", "stack", "swiglu_residual", "parallel"]
CHIPS = [8, 64, 512, 4096, 32768]
LAYERS = ["llama_layer", "megatron_layer", "palm_layer"]
CHIPS_OF_LAYERS = [64, 4096]
STATEMENTS = [2, 4, 8, 16, 32, 64]


def seconds(program: Program, chips: int, minimize: Minimize) -> float | None:
    """The time of one search; None where no layout fits."""
    machine = load_machine()
    begin = time.process_time()
    try:
        solve(program, chips, machine, minimize)
    except Unsolvable:
        return None
    return time.process_time() - begin


def program(stem: str) -> Program:
    """The program of that name."""
    path = next(p for f in FOLDERS if (p := f / f"{stem}.layout").exists())
    return checked(read(str(path)), Settings())


def chain(statements: int) -> Program:
    """So many products one after the other, each with a weight of its own."""
    dims = "EFEF"
    lines = ["dims B=512 E=18432 F=73728", "mesh x y z", "input v0 : BE?"]
    for i in range(statements):
        before, after = dims[i % 2], dims[i % 2 + 1]
        lines += [f"weight w{i} : {before}{after}!", f"v{i + 1} : B{after}? = v{i} * w{i}"]
    text = "\n".join([*lines, f"output v{statements}"])
    return sound(parsed(text.encode(), "chain", "chain.layout"), Settings())


def rows(stems: Sequence[str], chips: Sequence[int]) -> None:
    """A line for each program and for each that is minimised."""
    print(f"{'seconds of search':32}" + "".join(f"{f'{n} chips':>12}" for n in chips))
    for stem in stems:
        for minimize in get_args(Minimize):
            times = [seconds(program(stem), n, minimize) for n in chips]
            cells = ["-" if t is None else f"{t:.2f}" for t in times]
            print(f"{f'{stem}, {minimize}':32}" + "".join(f"{cell:>12}" for cell in cells))


def main() -> None:
    asked = sys.argv[1:] or [*WITH_HOLES, *LAYERS]
    rows([stem for stem in asked if stem not in LAYERS], CHIPS)
    rows([stem for stem in asked if stem in LAYERS], CHIPS_OF_LAYERS)
    print(f"\n{'a chain on 64 chips, seconds':32}" + "".join(f"{n:>12}" for n in STATEMENTS))
    times = [seconds(chain(n), 64, "time") for n in STATEMENTS]
    print(f"{'':32}" + "".join(f"{t or 0:>12.2f}" for t in times))


if __name__ == "__main__":
    main()
