"""The search beside plain enumeration and beside one integer program: how long each takes.

    python benchmarks/methods.py [--chips 4] [--axes 2] [--without METHOD] [PROGRAM...]

The three must find the same time of a pass, to a millionth: asserted. Enumeration is the one that
the tests hold the search against; it tries everything, but what is provably no better. The integer
program is built naively (`integer.py`) and solved by HiGHS, by way of SciPy.
"""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from multiprocessing import get_context
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests" / "helpers")]

import enumerate as enumeration  # noqa: E402
import integer  # noqa: E402

from layoutc.dsl.check import Settings  # noqa: E402
from layoutc.dsl.program import Program  # noqa: E402
from layoutc.pipeline import parsed, sound  # noqa: E402
from layoutc.solver.hardware.catalogue import load_machine  # noqa: E402
from layoutc.solver.solve import solve  # noqa: E402

SAME = 1e-6

PRODUCT = """\
dims   B=512  E=18432  F=73728
mesh   {mesh}
input  x : BE?
weight w : EF!
y : BF? = x * w
output y
"""

FFN = """\
dims   B=512  E=18432  F=73728
mesh   {mesh}
input  x     : BE?
weight w_in  : EF!
weight w_out : FE!
h : BF? = x * w_in
g       = gelu(h)
y : BE? = g * w_out
output y -> x
"""

FOUR = """\
dims   B=512  E=18432  F=73728  G=9216
mesh   {mesh}
input  x  : BE?
weight w0 : EF!
weight w1 : FG!
weight w2 : GF?
weight w3 : FE!
a : BF? = x * w0
b : BG? = a * w1
c       = silu(b)
d : BF? = c * w2
y : BE? = d * w3
output y -> x
"""

RESIDUAL = """\
dims   B=2048  E=8192  F=28672
mesh   {mesh}
input  x      : BE?
weight w_gate : EF!
weight w_down : FE!
h : BF? = x * w_gate
g       = silu(h)
d : BE? = g * w_down
y       = x + d
output y -> x
"""

PROGRAMS = {"product": PRODUCT, "ffn": FFN, "four": FOUR, "residual": RESIDUAL}
"""What they are called, and their text; the first is for trying the others' order of size."""


def program(stem: str, axes: int = 2) -> Program:
    text = PROGRAMS[stem].format(mesh=" ".join("xyzu"[:axes]))
    return sound(parsed(text.encode(), stem, f"{stem}.layout"), Settings())


def searched(program: Program, chips: int) -> float:
    return solve(program, chips, load_machine()).only.prices.seconds


def enumerated(program: Program, chips: int) -> float:
    best = enumeration.optimum(program, chips, load_machine())
    assert best is not None, "no mesh has a layout for everything"
    return best.objective[0]


def as_integers(program: Program, chips: int) -> float:
    return integer.optimum(program, chips, load_machine())


METHODS: dict[str, Callable[[Program, int], float]] = {
    "search": searched,
    "enumeration": enumerated,
    "integers": as_integers,
}


def measured(method: str, stem: str, chips: int, axes: int) -> tuple[float, float]:
    """The CPU seconds that a method takes, and the seconds of a pass that it finds."""
    given = program(stem, axes)
    begin = time.process_time()
    least = METHODS[method](given, chips)
    return time.process_time() - begin, least


def compared(
    stem: str, chips: int = 4, axes: int = 2, without: Sequence[str] = ()
) -> dict[str, tuple[float, float]]:
    """`measured` for each method, in a process of its own: what one has built, none finds built."""
    methods = [m for m in METHODS if m not in without]
    with get_context("fork").Pool(1, maxtasksperchild=1) as pool:
        found = {m: pool.apply(measured, (m, stem, chips, axes)) for m in methods}
    values = [least for _, least in found.values()]
    assert max(values) <= min(values) * (1 + SAME), f"{stem}: {found}"
    return found


def main() -> None:
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", default=list(PROGRAMS), metavar="PROGRAM")
    parser.add_argument("--chips", type=int, default=4)
    parser.add_argument("--axes", type=int, default=2)
    parser.add_argument("--without", action="append", default=[], choices=list(METHODS)[1:])
    options = parser.parse_args()
    head = f"CPU seconds, {options.chips} chips, {options.axes} axes"
    print(f"{head:32}" + "".join(f"{name:>20}" for name in METHODS))
    for stem in options.programs:
        found = compared(stem, options.chips, options.axes, options.without)
        first = found["search"][0]
        times = {m: f"{seconds:.2f} ({seconds / first:.1f}x)" for m, (seconds, _) in found.items()}
        values = {m: f"{least * 1e6:.4f} µs" for m, (_, least) in found.items()}
        for title, cells in ((stem, times), ("  finds", values)):
            print(f"{title:32}" + "".join(f"{cells.get(m, '-'):>20}" for m in METHODS), flush=True)


if __name__ == "__main__":
    main()
