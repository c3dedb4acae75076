"""Layers of attention written out: layouts for a service to choose between, without a search; and
what each of them takes at one size, in whole numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from attention import attention
from hypothesis import strategies as st
from machines import plain
from served import sized
from texts import read

from layoutc.dsl.program import Program
from layoutc.solver.attention import attention as sharded
from layoutc.solver.context import stored
from layoutc.solver.describe import of_weights
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.hardware.reached import Reached
from layoutc.solver.price import held_in
from layoutc.solver.serving.demand import Demand
from layoutc.solver.serving.layouts import Layout
from layoutc.solver.serving.passes import Priced
from layoutc.solver.serving.service import Service
from layoutc.solver.serving.stages import Stages
from layoutc.solver.serving.sweep import Side
from layoutc.solver.solve import solve

REACHED = Reached(matmul=0.5, memory=0.5, network=0.5, launch=5.0)

CHIPS = 4
WAYS = ("gathered", "context", "batch")
"""Over what attention is sharded; `gathered` is over the batch, and a weight is stored in parts:
slower, for those that are short of memory."""


@cache
def layers(way: str, count: int = 6) -> Program:
    """So many layers on four chips, all of them along x."""
    text = attention(**{"batch" if way == "gathered" else way: "x"}, K=4)
    if way == "gathered":
        text = text.replace("weight wo : KGQE", "weight wo : K_xGQE")
        text = text.replace("r  : B_xLE", "ww : KGQE = all-gather(x) wo\nr  : B_xLE")
        text = text.replace("o1 * wo", "o1 * ww")
    text = text.replace("mesh x y z", f"mesh x={CHIPS} y=1 z=1")
    text = text.replace("output y", "next x = y\n}")
    head = ("dims", "mesh", "dtype", "input")
    lines = [line for line in text.splitlines() if line.strip()]
    outside = [line for line in lines if line.startswith(head)]
    inside = [line for line in lines if not line.startswith(head)]
    return read("\n".join([*outside, f"repeat {count} {{", *inside, "output x"]), way)


def layout(program: Program, machine: Machine, reached: Reached) -> Layout:
    """An explicit program on four chips as a layout to choose."""
    plan = solve(program, CHIPS, machine, fit=False)
    priced = Priced(plan.only.program, plan.fabric, machine, reached)
    mesh = plan.mesh
    return Layout(of_weights(program, mesh), sharded(program, mesh), plan, priced)


def machine(memory: int) -> Machine:
    """Chips with so much memory, on a flat network."""
    return plain("flat", 64.0, memory, 16.0, 4.0)


@cache
def layouts() -> tuple[Layout, ...]:
    """One of each way."""
    return tuple(layout(layers(way), machine(1 << 30), REACHED) for way in WAYS)


def service(replicas: int = 1, stages: int = 1, same: bool = True, micro: int = 0) -> Service:
    """Every layout for decode, and beside each every one for prefill."""
    side = Side(CHIPS, Stages(stages), layouts(), micro)
    return Service("bf16", replicas, side, dict.fromkeys(range(len(WAYS)), side), same)


@dataclass(frozen=True)
class Point:
    """One point of a demand."""

    batch: int
    prefill_batch: int
    prompt: int
    generate: int
    context: int


def demand(*points: Point) -> Demand:
    """Points as a demand."""
    names = Point.__dataclass_fields__
    return Demand(*(np.array([getattr(point, name) for point in points]) for name in names))


drawn_points = st.builds(
    lambda b, p, prompt, g, more: Point(b, p, prompt, g, prompt + more),
    st.integers(1, 40), st.integers(1, 24), st.integers(1, 20), st.integers(0, 20),
    st.integers(0, 20),
)  # fmt: skip


# One layout at one size, in whole numbers.


def up(one: Layout, batch: int, tokens: int, places: int) -> dict[str, int]:
    """Sizes that the axes divide."""
    parts = one.priced.terms.parts
    sizes = {"B": batch, "L": tokens, "M": places}
    return {dim: -(-size // parts[dim]) * parts[dim] for dim, size in sizes.items()}


def passing(one: Layout, sizes: dict[str, int]) -> tuple[float, float]:
    """Seconds of a pass, and of what moves in it."""
    return _passing(one.program.name, *sizes.values())


@cache
def _passing(way: str, *sizes: int) -> tuple[float, float]:
    one = layouts()[WAYS.index(way)]
    found = one.priced.parts({d: np.array([float(n)]) for d, n in zip("BLM", sizes, strict=True)})
    return float(found.seconds[0]), float(found.communication[0] + found.gathered[0])


def holding(one: Layout, sizes: dict[str, int]) -> tuple[int, int]:
    """Bytes of a chip in all, and of its caches."""
    return _holding(one.program.name, *sizes.values())


@cache
def _holding(way: str, *sizes: int) -> tuple[int, int]:
    one = layouts()[WAYS.index(way)]
    program = sized(one.program, dict(zip("BLM", sizes, strict=True)))
    return held_in(program, one.plan.mesh, one.plan.machine).bytes, stored(program, one.plan.mesh)
