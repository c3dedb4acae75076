"""How long a command takes from a cold start, beside importing what it cannot do without.

    python benchmarks/cold_start.py [RUNS]

Runs alternate, so that a slow spell of the machine hits both sides; medians are compared. The
aim is a ratio of 3 at most. Nothing is asserted.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
LAYOUTC = "import sys; from layoutc.cli import main; sys.exit(main())"
EXPLICIT = [
    "ffn_1d_weight_stationary", "ffn_2d_weight_stationary", "ffn_x_weight_gathered",
    "ffn_xy_weight_gathered", "ffn_xyz_weight_gathered",
]  # fmt: skip
PAIRS = [
    ("layoutc check", [LAYOUTC, "check", "examples/ffn.layout"], ["import lark"]),
    (
        "layoutc compile --chips 64",
        [LAYOUTC, "compile", "examples/ffn.layout", "--chips", "64"],
        ["import sympy, numpy"],
    ),
    *(
        (f"layoutc derive {name}", [LAYOUTC, "derive", f"examples/{name}.layout"], ["import sympy"])
        for name in EXPLICIT
    ),
]


def seconds(arguments: Sequence[str]) -> float:
    """The time of one `python -c ...`, start to end."""
    begin = time.perf_counter()
    command = [sys.executable, "-c", *arguments]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def compare(ours: Sequence[str], floor: Sequence[str], runs: int) -> tuple[float, float]:
    """Medians of both, after one run of each that only warms the disk."""
    times = [(seconds(ours), seconds(floor)) for _ in range(runs + 1)][1:]
    return statistics.median(t[0] for t in times), statistics.median(t[1] for t in times)


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    for name, ours, floor in PAIRS:
        mine, least = compare(ours, floor, runs)
        said = f"{1e3 * mine:.0f} ms, {floor[0]} {1e3 * least:.0f} ms"
        print(f"{name:40} {mine / least:5.2f}  ({said})")


if __name__ == "__main__":
    main()
