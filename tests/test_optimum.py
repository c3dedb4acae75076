"""The solver against plain enumeration: the same cost, on 500 small random programs.

Up to four products and three axes; both objectives. On every change a subset is drawn that takes
less than a minute of CPU time; LAYOUTC_LONG=1 takes all.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest
from enumerate import Minimize, optimum, tables_of
from small_programs import small

from layoutc.dsl.check import check
from layoutc.dsl.operation import Product, operands
from layoutc.dsl.parse import parse
from layoutc.dsl.printer import print_program
from layoutc.dsl.program import Define, Program
from layoutc.dsl.shape import Shape
from layoutc.solver.plan import Plan
from layoutc.solver.price import price
from layoutc.solver.solve import objective, solve
from layoutc.solver.unsolvable import Unsolvable

COUNT = 500
SLOW = {2, 15, 17, 18, 26}
SUBSET = [seed for seed in range(48) if seed not in SLOW]
"""The first few, without those that enumeration takes more than some seconds for."""
SEEDS = range(COUNT) if os.environ.get("LAYOUTC_LONG") else SUBSET
BOTH: tuple[Minimize, ...] = ("time", "communication")


def program(text: str) -> Program:
    found = check(parse(text, "small.layout"))
    assert isinstance(found, Program), found
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_the_solver_finds_what_enumeration_finds(seed: int) -> None:
    task = small(seed)
    holes = program(task.text)
    tables = tables_of(holes, task.chips, task.machine)
    for minimize in BOTH:
        best = optimum(holes, task.chips, task.machine, minimize, tables)
        if best is None:
            with pytest.raises(Unsolvable):
                solve(holes, task.chips, task.machine, minimize)
            continue
        plan = solve(holes, task.chips, task.machine, minimize)
        assert objective(plan.only.prices, minimize) == pytest.approx(best.objective, rel=1e-9), (
            f"{minimize} on {task.chips} chips, {task.machine}\n{task.text}"
        )
        assert_explicit(plan)


def assert_explicit(plan: Plan) -> None:
    """What was priced can be printed and read, and is the price of what is read."""
    again = program(print_program(plan.only.program))
    assert again.explicit
    assert price(again, plan.fabric).seconds == plan.only.prices.seconds


def test_the_random_programs_reach_what_they_should() -> None:
    """Of the 500: every number of axes with every number of products, and every kind of hole."""
    reached: Counter[object] = Counter()
    for seed in range(COUNT):
        holes = program(small(seed).text)
        shapes = {i.name: i.type.shape for i, _ in holes.walk()}
        defined = [i for i, _ in holes.walk() if isinstance(i, Define)]
        products = sum(len(contracted(i, shapes)) > 0 for i in defined)
        reached[len(holes.axes), products] += 1
        reached.update({type(i.operation).__name__ for i in defined})
        reached.update({s.hole for s in shapes.values()})
        reached["braces"] += any(d.loose for s in shapes.values() for d in s)
        reached["pinned"] += any(s.axes and s.explicit for s in shapes.values())
        reached["used twice"] += (
            max(Counter(r for i in defined for r in operands(i.operation)).values()) > 1
        )
        reached["pinned mesh"] += any(a.size for a in holes.axes)
        reached["like"] += any(o.like for o in holes.outputs)
    for axes in (1, 2, 3):
        assert all(reached[axes, products] >= 5 for products in (1, 2, 3, 4))
    kinds = ("Product", "Arithmetic", "Apply", "Reduce", "Hold")
    others = ("braces", "pinned", "used twice", "pinned mesh", "like", "?", "!")
    assert all(reached[kind] >= 50 for kind in (*kinds, *others)), reached


def contracted(item: Define, shapes: dict[str, Shape]) -> set[str]:
    """The dims that a product sums over: of an einsum, some."""
    if not isinstance(item.operation, Product):
        return set()
    names = [n for n in operands(item.operation) if isinstance(n, str)]
    return {d for n in names for d in shapes[n].names} - set(item.type.shape.names)
