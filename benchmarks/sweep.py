"""How many configurations a second a sweep weighs, beside a plain Python loop over the formulas.

    python benchmarks/sweep.py [MODEL] [--chips 4] [--points 100000]

Layouts are found first, and are not timed. The loop does for one point after another what the sweep
does for all at once: every pair of layouts, its seconds, and whether it fits. Both have to choose
the same.
"""

from __future__ import annotations

import argparse
import time
from math import ceil, inf

import numpy as np

from layoutc.dsl.models.catalogue import model_named
from layoutc.dsl.models.layout import spelled
from layoutc.solver.hardware.catalogue import load_machine, reached_of
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.monomial import Cost
from layoutc.solver.serving.demand import Demand
from layoutc.solver.serving.layouts import Layout
from layoutc.solver.serving.planner import Planner
from layoutc.solver.serving.service import Service, serve
from layoutc.solver.serving.splits import Split
from layoutc.solver.serving.terms import KINDS, summed

LOOPED = 400
"""So many points the loop is timed on."""

ROUNDING = 1e-9


def main() -> None:
    """Prints both rates and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?", default="llama-3.2-1b")
    parser.add_argument("--hardware", default="tpu-v5e")
    parser.add_argument("--chips", type=int, default=4)
    parser.add_argument("--points", type=int, default=100_000)
    chosen = parser.parse_args()
    machine = load_machine(chosen.hardware)
    demand = points(chosen.points)
    program = spelled(model_named(chosen.model)).program
    planner = Planner(program, machine, reached_of(machine)[0], demand)
    service = planner.service("bf16", Split(chosen.chips))
    began = time.perf_counter()
    served = serve(service, demand, machine)
    swept = len(demand) / (time.perf_counter() - began)
    some = np.linspace(0, len(demand) - 1, min(LOOPED, len(demand))).astype(int)
    began = time.perf_counter()
    loop = Loop(service, machine)
    looped = [loop.least(*row) for row in rows(demand.at(some))]
    alone = len(some) / (time.perf_counter() - began)
    least = np.array(looped)
    found = np.where(served.fits, served.request_seconds, inf)[some]
    # The sweep takes what moves less of pairs that are nearly as fast.
    assert np.all(
        (found >= least * (1 - 1e-9)) & (found <= least * 1.05 * (1 + 1e-9)) | (least == inf)
    )
    pairs = sum(len(service.beside[n].layouts) for n in range(len(service.decode.layouts)))
    where = f"{chosen.model} on {chosen.chips} {machine.name}"
    print(f"{where}: {len(demand):,} points, {pairs} pairs of layouts")
    print(f"  at once          {swept:12,.0f} configurations/s")
    print(f"  one after another {alone:11,.0f} configurations/s")
    print(f"  ratio            {swept / alone:12,.0f}")


def points(number: int) -> Demand:
    """So many demands, of batches from 1 to 1024, prompts and contexts."""
    random = np.random.default_rng(0)
    batch, prompt, generate, more = (
        random.integers(1, most, number) for most in (1024, 2048, 512, 4096)
    )
    prefill = np.minimum(batch, random.integers(1, 64, number))
    return Demand(batch, prefill, prompt, generate, prompt + more)


def rows(demand: Demand) -> list[tuple[int, ...]]:
    """The points one by one."""
    columns = (demand.batch, demand.prefill_batch, demand.prompt, demand.generate, demand.context)
    return list(zip(*(map(int, column) for column in columns), strict=True))


Sum = list[tuple[float, int, int, int]]
"""Coefficients, and the exponents of B, L and M."""


def plain(cost: Cost) -> Sum:
    """A sum as a list of numbers."""
    return [(float(t.coefficient), *(dict(t.powers).get(d, 0) for d in "BLM")) for t in cost.terms]  # type: ignore[misc]


class Plain:
    """A layout's formulas as lists of numbers."""

    def __init__(self, layout: Layout) -> None:
        terms, priced = layout.priced.terms, layout.priced
        sums = summed((*terms.block, *terms.outside))
        self.sums = {kind: plain(sums[kind]) for kind in KINDS}
        self.alive, self.parts = [plain(cost) for cost in terms.sets], terms.parts
        self.reached = priced.reached
        self.latency = (priced.chains[0] + priced.chains[1]).seconds(priced.reached)
        self.bandwidth = priced.machine.memory_bandwidth

    def sizes(self, b: float, tokens: float, m: float) -> tuple[float, ...]:
        return tuple(
            ceil(n / self.parts[d] - 1e-9) * self.parts[d]
            for d, n in zip("BLM", (b, tokens, m), strict=True)
        )

    def seconds(self, sizes: tuple[float, ...]) -> float:
        r, own = self.reached, {kind: value(self.sums[kind], sizes) for kind in KINDS}
        busy = max(own["matmul"] / r.matmul, own["weights"] / r.memory, own["gathered"] / r.network)
        attention = max(own["attention"] / r.attention, own["caches"] / r.memory)
        return busy + attention + own["moved"] / r.network + self.latency

    def stored(self, kind: str, sizes: tuple[float, ...]) -> float:
        return value(self.sums[kind], sizes) * self.bandwidth

    def active(self, sizes: tuple[float, ...]) -> float:
        return max(value(one, sizes) for one in self.alive)


def value(terms: Sum, sizes: tuple[float, ...]) -> float:
    """A sum at one size."""
    b, tokens, m = sizes
    return sum(c * b**p * tokens**q * m**r for c, p, q, r in terms)


class Loop:
    """The sweep's choice at one point, without arrays."""

    def __init__(self, service: Service, machine: Machine) -> None:
        self.service, self.memory = service, machine.memory_bytes
        self.known: dict[int, Plain] = {}

    def plain(self, layout: Layout) -> Plain:
        if id(layout) not in self.known:
            self.known[id(layout)] = Plain(layout)
        return self.known[id(layout)]

    def least(self, batch: int, prefill: int, prompt: int, generate: int, context: int) -> float:
        """The seconds of the fastest pair that fits; infinite if none does."""
        least = inf
        for number, layout in enumerate(self.service.decode.layouts):
            decode = self.plain(layout)
            step = decode.sizes(batch, 1, context + generate)
            seconds = generate * decode.seconds(step)
            held = decode.stored("weights", step) + decode.stored("caches", step)
            held += decode.active(step)
            caches = decode.stored(
                "caches", decode.sizes(max(batch, prefill), 1, context + generate)
            )
            for other in self.service.beside[number].layouts:
                waves, own = 1, self.plain(other)
                while True:
                    sizes = own.sizes(ceil(prefill / waves), prompt, context)
                    taken = own.stored("weights", sizes) + own.active(sizes)
                    if taken <= self.memory - caches or waves >= min(16, prefill):
                        break
                    waves *= 2
                if max(held, taken + caches) <= self.memory:
                    least = min(least, seconds + waves * own.seconds(sizes))
        return least


if __name__ == "__main__":
    main()
