"""The solver against plain enumeration: the same cost, on small random programs.

LAYOUTC_LONG=1 takes more programs.
"""

from __future__ import annotations

import os

import pytest
from enumerate import Minimize, optimum
from small_programs import small

from layoutc.dsl.check import check
from layoutc.dsl.parse import parse
from layoutc.dsl.printer import print_program
from layoutc.dsl.program import Program
from layoutc.solver.price import price
from layoutc.solver.solve import Plan, objective, solve
from layoutc.solver.unsolvable import Unsolvable

SEEDS = range(400 if os.environ.get("LAYOUTC_LONG") else 30)


def program(text: str) -> Program:
    found = check(parse(text, "small.layout"))
    assert isinstance(found, Program), found
    return found


@pytest.mark.parametrize("minimize", ["time", "communication"])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_solver_finds_what_enumeration_finds(seed: int, minimize: Minimize) -> None:
    task = small(seed)
    holes = program(task.text)
    best = optimum(holes, task.chips, task.machine, minimize)
    if best is None:
        with pytest.raises(Unsolvable):
            solve(holes, task.chips, task.machine, minimize)
        return
    plan = solve(holes, task.chips, task.machine, minimize)
    assert objective(plan.only.prices, minimize) == pytest.approx(best.objective, rel=1e-9), (
        task.text
    )
    assert_explicit(plan)


def assert_explicit(plan: Plan) -> None:
    """What was priced can be printed and read, and is the price of what is read."""
    again = program(print_program(plan.only.program))
    assert again.explicit
    assert price(again, plan.mesh, plan.machine).seconds == plan.only.prices.seconds
