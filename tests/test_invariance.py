"""How a program is written is of no account: the optimum costs the same.

Statements in another order, other names for tensors, dims and axes, dims and axes declared in
another order. LAYOUTC_LONG=1 takes more programs.
"""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest
from small_programs import small
from texts import read
from variants import renamed, reordered

from layoutc.dsl.printer import print_program
from layoutc.dsl.program import Define, Program
from layoutc.solver.asked import Minimize
from layoutc.solver.hardware.catalogue import load_machine
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.solve import objective, solve
from layoutc.solver.unsolvable import Unsolvable

ROOT = Path(__file__).parent.parent
WITH_HOLES = ["ffn", "figure2b", "ffn_bias", "ffn_figure3", "stack", "swiglu", "swiglu_residual"]
SEEDS = range(200 if os.environ.get("LAYOUTC_LONG") else 16)
CHIPS = 8

both = pytest.mark.parametrize("minimize", ["time", "communication"])


def least(
    program: Program, chips: int, machine: Machine, minimize: Minimize
) -> tuple[tuple[float, float], float] | None:
    """What is minimised and its bound; None if no layout fits."""
    try:
        plan = solve(program, chips, machine, minimize)
    except Unsolvable:
        return None
    return objective(plan.only.prices, minimize), plan.bound


def hold(one: Program, chips: int, machine: Machine, minimize: Minimize) -> None:
    """The program written otherwise is a right one, as text too, and has the same optimum."""
    wanted = least(one, chips, machine, minimize)
    random = Random(7)
    other = read(print_program(renamed(reordered(one, random), random)))
    found = least(other, chips, machine, minimize)
    if wanted is None:
        assert found is None
        return
    assert found is not None
    assert found[0] == pytest.approx(wanted[0], rel=1e-9), print_program(other)
    assert found[1] == pytest.approx(wanted[1], rel=1e-9), print_program(other)


@both
@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_program_written_otherwise(seed: int, minimize: Minimize) -> None:
    task = small(seed)
    hold(read(task.text), task.chips, task.machine, minimize)


@both
@pytest.mark.parametrize("stem", WITH_HOLES)
def test_an_example_written_otherwise(stem: str, minimize: Minimize) -> None:
    folders = [ROOT / "examples", ROOT / "benchmarks" / "programs"]
    path = next(p for f in folders if (p := f / f"{stem}.layout").exists())
    hold(read(path.read_text(), stem), CHIPS, load_machine(), minimize)


def test_variants_are_other_programs() -> None:
    """Some order changes, and every name, so that the tests above compare two things."""
    one = read(small(0).text)
    names = [[i.name for i in p.items] for p in (one, reordered(one, Random(7)))]
    assert names[0] != names[1]
    assert sorted(names[0]) == sorted(names[1])
    other = renamed(one, Random(7))
    assert not set(names[0]) & {i.name for i in other.items}
    assert set(one.dims) != set(other.dims)
    kinds = [[type(i.operation) for i in p.items if isinstance(i, Define)] for p in (one, other)]
    assert kinds[0] == kinds[1]
