"""What the solver fills runs: random programs with holes, solved, emitted and run.

Each is also run as a stack of three where its output is held like its input. LAYOUTC_LONG=1
takes more programs.
"""

import os
import re

import pytest
from small_programs import small

from layoutc.codegen.emit import emit
from layoutc.codegen.run import load
from layoutc.dsl.check import check
from layoutc.dsl.parse import parse
from layoutc.dsl.program import Program, Repeat
from layoutc.solver.solve import solve
from layoutc.solver.unsolvable import Unsolvable

SEEDS = range(500, 900 if os.environ.get("LAYOUTC_LONG") else 512)


def stacked(text: str) -> str:
    """The same statements three times over, y of each being x of the next; "" if y is not x's."""
    tied = re.search(r"output (\w+) -> x\n", text)
    if not tied:
        return ""
    lines = text.splitlines()
    outside = [line for line in lines if line.startswith(("dims", "mesh", "input"))]
    inside = [line for line in lines if line not in outside and not line.startswith("output")]
    block = ["repeat 3 {", *inside, f"next x = {tied[1]}", "}", "output x", ""]
    return "\n".join([*outside, *block])


def runs(text: str, seed: int) -> None:
    """Solved, emitted and run in f32; the emitted module's `main` holds it to its reference."""
    task = small(seed)
    program = check(parse(text, "filled.layout"))
    assert isinstance(program, Program), text
    try:
        plan = solve(program, task.chips, task.machine)
    except Unsolvable:
        return
    module = load(emit(plan.only.program, plan.mesh), f"filled_{seed}_{len(text)}")
    assert module.main(["--dtype", "f32"]) == 0, text


@pytest.mark.parametrize("seed", SEEDS)
def test_it_runs(seed: int) -> None:
    text = small(seed).text
    runs(text, seed)
    if stacked(text):
        runs(stacked(text), seed)


def test_some_are_stacks() -> None:
    """The seeds reach programs that can be stacked; their blocks are blocks."""
    texts = [stacked(small(seed).text) for seed in SEEDS]
    found = [check(parse(text, "stack.layout")) for text in texts if text]
    assert len(found) >= 2
    assert all(
        isinstance(p, Program) and any(isinstance(i, Repeat) for i in p.items) for p in found
    )
