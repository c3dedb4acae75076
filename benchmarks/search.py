"""How long the search takes, for the examples with holes, on more and more chips.

    python benchmarks/search.py [EXAMPLE...]

One process, so that what is built once is built once; sizes are the files' own. A program that
does not fit so few chips shows a dash. Nothing is asserted.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from layoutc.dsl.check import Settings
from layoutc.dsl.program import Program
from layoutc.pipeline import checked, read
from layoutc.solver.machine import load_machine
from layoutc.solver.search import Minimize
from layoutc.solver.solve import solve
from layoutc.solver.unsolvable import Unsolvable

EXAMPLES = Path(__file__).parent.parent / "examples"
WITH_HOLES = ["ffn", "ffn_bias", "swiglu", "stack"]
CHIPS = [8, 64, 512, 4096]


def seconds(program: Program, chips: int, minimize: Minimize) -> float | None:
    """The time of one search; None where no layout fits."""
    machine = load_machine()
    begin = time.perf_counter()
    try:
        solve(program, chips, machine, minimize)
    except Unsolvable:
        return None
    return time.perf_counter() - begin


def main() -> None:
    print(f"{'seconds of search':32}" + "".join(f"{f'{n} chips':>12}" for n in CHIPS))
    for stem in sys.argv[1:] or WITH_HOLES:
        program = checked(read(str(EXAMPLES / f"{stem}.layout")), Settings())
        for minimize in ("time", "communication"):
            times = [seconds(program, chips, minimize) for chips in CHIPS]
            cells = ["-" if t is None else f"{t:.2f}" for t in times]
            print(f"{f'{stem}, {minimize}':32}" + "".join(f"{cell:>12}" for cell in cells))


if __name__ == "__main__":
    main()
