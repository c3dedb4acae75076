"""Do predictions rank layouts as runs do? A feedforward layer on simulated devices, both ways.

    python benchmarks/ranking.py [--machine FILE.toml] [--plot OUT.svg] [--rounds 15]

The paper's layouts of the layer on every mesh, and inputs and weights held in every combination of
some layouts, the rest filled in by the compiler: all are priced on a machine that was calibrated on
the devices at hand (without --machine, that is done first) and run there. Rounds go through all
layouts in turn, so that a slow minute is slow for all, and the median counts. Printed are both
times and Spearman's rank correlation, which must be 0.9 or more; the exit status says whether it
is.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

CHIPS = 8
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", f"--xla_force_host_platform_device_count={CHIPS}")

import layoutc  # noqa: E402
from layoutc.cli import main as command  # noqa: E402
from layoutc.pipeline import WrongFile  # noqa: E402
from layoutc.solver.meshes import factorisations  # noqa: E402

EXAMPLES = Path(__file__).parent.parent / "examples"
SIZES = {"B": 64, "L": 1, "E": 1024, "F": 4096}
LAYER = """\
dims   B=64  L=1  E=1024  F=4096
mesh   x=2 y=2 z=2
input  x     : {x}
weight w_in  : {w_in}
weight w_out : {w_out}
h : BLF? = x * w_in
g        = gelu(h)
y : BLE? = g * w_out
output y -> x
"""
"""Small enough to be run often, large enough that moving takes longer than starting to."""

INPUTS = "BLE_xyz", "B_xyzLE", "B_xLE_yz", "BLE"
WEIGHTS = (
    ("E_xF_yz", "F_yzE_x"), ("EF_xyz", "F_xyzE"), ("E_xyzF", "FE_xyz"), ("EF_x", "F_xE"),
    ("EF", "FE"),
)  # fmt: skip

ENOUGH = 0.9


@dataclass(slots=True)
class Layout:
    """One layout on one mesh: what was predicted, what it took in each round."""

    name: str
    predicted: float
    run: Callable[[], Any]
    took: list[float] = field(default_factory=list)

    @property
    def measured(self) -> float:
        """The median, in seconds."""
        return median(self.took)


def main() -> int:
    """The table, the correlation and the plot."""
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--machine", help="a file that layoutc calibrate wrote on 8 devices")
    parser.add_argument("--plot", help="the scatter plot, .svg or .png")
    parser.add_argument("--rounds", type=int, default=15)
    chosen = parser.parse_args()
    layouts = every(chosen.machine or calibrated())
    timed(layouts, chosen.rounds)
    rank = spearman([x.predicted for x in layouts], [x.measured for x in layouts])
    print(f"{'layout':40} predicted   measured")
    for one in sorted(layouts, key=lambda x: x.predicted):
        print(f"{one.name:40} {1e3 * one.predicted:6.2f} ms  {1e3 * one.measured:6.2f} ms")
    print(f"\n{len(layouts)} layouts, Spearman's rank correlation {rank:.3f}")
    if chosen.plot:
        scatter(layouts, rank, chosen.plot)
        print(f"wrote {chosen.plot}")
    return int(rank < ENOUGH)


def calibrated() -> str:
    """The file of a machine that is measured now."""
    path = Path(tempfile.mkdtemp()) / "here.toml"
    if command(["calibrate", "-o", str(path)]):
        sys.exit("the devices at hand can't be calibrated")
    return str(path)


def every(machine: str) -> list[Layout]:
    """All layouts, those that come to the same program once."""
    found: dict[str, Layout] = {}
    for name, plan in (*filled(machine), *papers(machine)):
        key = f"{plan.costs.bytes} {plan.costs.flops} {plan.seconds:.9g}"
        if key not in found:
            found[key] = Layout(name, plan.seconds, runner(plan.load()))
    return list(found.values())


def filled(machine: str) -> Iterator[tuple[str, Any]]:
    """Inputs and weights held in every combination, the rest filled in by the compiler."""
    for x, (w_in, w_out) in product(INPUTS, WEIGHTS):
        text = LAYER.format(x=x, w_in=w_in, w_out=w_out)
        plan = layoutc.compile_text(text, dtype="f32", hardware=machine, name="ffn")
        yield f"{x:9} {w_in:8} {w_out}", plan


def papers(machine: str) -> Iterator[tuple[str, Any]]:
    """The paper's layouts of the layer, on every mesh that divides it."""
    for path in sorted(EXAMPLES.glob("ffn_*_weight_*.layout")):
        for sizes in factorisations(CHIPS, 3):
            mesh = dict(zip("xyz", sizes, strict=True))
            with suppress(WrongFile):
                plan = layoutc.compile(path, mesh=mesh, dtype="f32", hardware=machine, **SIZES)
                yield f"{path.stem.removeprefix('ffn_')} {'x'.join(map(str, sizes))}", plan


def runner(program: Any) -> Callable[[], Any]:
    """Runs a program on random arguments, to the end."""
    arguments = program.make_inputs()

    def run() -> None:
        program(*arguments).block_until_ready()

    return run


def timed(layouts: list[Layout], rounds: int) -> None:
    """The first run of each compiles it, and does not count."""
    for one in layouts:
        one.run()
    for _ in range(rounds):
        for one in layouts:
            start = time.perf_counter()
            one.run()
            one.took.append(time.perf_counter() - start)


def spearman(one: list[float], other: list[float]) -> float:
    """Spearman's rank correlation."""
    from scipy.stats import spearmanr

    return float(spearmanr(one, other).statistic)


def scatter(layouts: list[Layout], rank: float, path: str) -> None:
    """Predicted against measured, both in milliseconds, a mark for each kind of layout."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 5.5), layout="constrained")
    kinds = {
        f"x : {kind}": [x for x in layouts if x.name.startswith(f"{kind} ")] for kind in INPUTS
    }
    kinds["the paper's"] = [x for x in layouts if "weight" in x.name]
    for (label, own), mark in zip(kinds.items(), "osD^v", strict=True):
        across, up = ([1e3 * getattr(x, of) for x in own] for of in ("predicted", "measured"))
        axes.scatter(across, up, marker=mark, s=45, label=label)
    ends = [f(1e3 * v for x in layouts for v in (x.predicted, x.measured)) for f in (min, max)]
    axes.plot(ends, ends, color="0.6", linewidth=1, zorder=0)
    axes.set(xscale="log", yscale="log", xlabel="predicted, ms", ylabel="measured, ms")
    axes.set_title(f"{len(layouts)} layouts of a feedforward layer on {CHIPS} devices: "
                   f"rank correlation {rank:.2f}")  # fmt: skip
    axes.legend(frameon=False)
    figure.savefig(path)


if __name__ == "__main__":
    sys.exit(main())
