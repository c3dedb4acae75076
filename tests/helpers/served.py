"""Explicit programs of layers and whole models, small, and places for them on machines of all
kinds."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
from hypothesis import strategies as st
from int8_programs import GATHERED, STACK, STATIONARY
from machines import plain
from random_machines import random_machine
from texts import read

from layoutc.dsl.program import Define, Program
from layoutc.solver.hardware.catalogue import load_machine
from layoutc.solver.hardware.fabric import Fabric
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.meshes import Mesh, pinned
from layoutc.solver.serving.terms import VARYING, Sizes
from layoutc.solver.serving.variants import Weights, with_weights
from layoutc.solver.sites import at
from layoutc.solver.solve import solve

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
MESH = {"x": 2, "y": 2, "z": 2}

SMALL = {
    "B": 16, "L": 1, "M": 64, "E": 64, "F": 128, "H": 8, "Q": 16, "K": 4, "G": 2, "V": 64,
}  # fmt: skip
"""Sizes at which a search is quick, and weights are neither all nor nothing."""

PROMPTS = {"L": 64, "M": 64}
"""Of prefill: so many tokens that weights are gathered."""

SOLVED: tuple[tuple[str, bool, Weights], ...] = (
    ("palm_layer", True, "bf16"),
    ("palm_layer", False, "int8"),
    ("llama_layer", True, "int8"),
    ("megatron_layer", True, "bf16"),
    ("llama", False, "int8"),
    ("swiglu", True, "int8"),
    ("stack", False, "bf16"),
)
"""Examples with holes, whether they prefill, and how their matrices are stored."""

WRITTEN = (
    "ffn_1d_weight_stationary", "ffn_2d_weight_stationary", "ffn_x_weight_gathered",
    "ffn_xy_weight_gathered", "ffn_xyz_weight_gathered",
)  # fmt: skip
"""Examples without."""


def example(stem: str, **sizes: int) -> Program:
    """An example where its dims have these sizes, and otherwise small ones, without phases."""
    program = read((EXAMPLES / f"{stem}.layout").read_text(), stem)
    small: dict[str, int | None] = {dim: {**SMALL, **sizes}[dim] for dim in program.dims}
    return replace(program, dims=small, phases=(), useful={})


@cache
def solved(stem: str, prefill: bool, weights: Weights) -> Program:
    """What the search makes of an example on the mesh."""
    program = pinned(example(stem, **PROMPTS if prefill else {}), MESH)
    plan = solve(with_weights(program, weights), 8, load_machine(), fit=False, gap=0.05)
    return plan.only.program


INT8 = (STATIONARY, GATHERED, STACK)

NUMBERS = range(len(SOLVED) + len(WRITTEN) + len(INT8))
"""Of the programs."""


@cache
def numbered(number: int) -> Program:
    """One of them, made when it is asked for: a search takes its time."""
    if number < len(SOLVED):
        return solved(*SOLVED[number])
    number -= len(SOLVED)
    if number < len(WRITTEN):
        return example(WRITTEN[number])
    number -= len(WRITTEN)
    return read(INT8[number], f"int8_{number}")


some = st.sampled_from(NUMBERS).map(numbered)
with_context = st.sampled_from(range(5)).map(numbered)
"""Those that attend."""


def places(program: Program, machine: Machine, mesh: Mesh | None = None) -> list[Fabric]:
    """Where the mesh may lie."""
    return list(at(program, mesh or MESH, machine))


@st.composite
def fabrics(draw: st.DrawFn, program: Program) -> Fabric:
    """A place on a flat network, a torus, lines, a switch, or tiers of those."""
    flat = plain("flat", 4.0, 1 << 30, 1.0, 2.0)
    random = Random(draw(st.integers(0, 10_000)))
    found = places(program, random_machine(random, 8)) if draw(st.booleans()) else []
    return draw(st.sampled_from(found or places(program, flat)))


@st.composite
def placed(draw: st.DrawFn) -> tuple[Program, Fabric]:
    """One of the programs somewhere."""
    program = draw(some)
    return program, draw(fabrics(program))


def sized(program: Program, sizes: dict[str, int]) -> Program:
    """The program where B, L and M, as far as it has them, have these sizes."""
    return replace(program, dims={d: sizes.get(d, size) for d, size in program.dims.items()})


def arrays(points: list[dict[str, int]]) -> Sizes:
    """Points as arrays."""
    return {dim: np.array([float(point[dim]) for point in points]) for dim in VARYING}


def multiples(parts: dict[str, int]) -> st.SearchStrategy[dict[str, int]]:
    """Sizes that axes divide."""
    return st.fixed_dictionaries(
        {dim: st.integers(1, 9).map(part.__mul__) for dim, part in parts.items()}
    )


def gathers_of_weights(program: Program) -> set[str]:
    """The statements that gather a weight: declared so, or what was moved of one."""
    held = {item.name for item, _ in program.walk() if getattr(item, "kind", "") == "weight"}
    found = set[str]()
    for item, _ in program.walk():
        if isinstance(item, Define) and getattr(item.operation, "operand", None) in held:
            kind = getattr(item.operation, "kind", "")
            if kind in ("all-gather", "slice", "permute", "all-to-all"):
                held.add(item.name)
            if kind == "all-gather":
                found.add(item.name)
    return found
