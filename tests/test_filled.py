"""What the solver fills runs: random programs with holes, solved, emitted and run.

Each is also run as a stack of three where its output is held like its input; so are programs of
a layer's operations, by themselves. LAYOUTC_LONG=1 takes more programs.
"""

import os
import re

import pytest
from small_layers import small_layer
from small_programs import Small, small

from layoutc.codegen.emit import emit
from layoutc.codegen.run import load
from layoutc.dsl.check import check
from layoutc.dsl.parse import parse
from layoutc.dsl.printer import print_program
from layoutc.dsl.program import Program, Repeat
from layoutc.solver.asked import Minimize
from layoutc.solver.solve import solve
from layoutc.solver.unsolvable import Unsolvable

LONG = os.environ.get("LAYOUTC_LONG")
SEEDS = range(500, 900 if LONG else 512)
LAYERS = range(500, 700) if LONG else (503, 531, 562, 579, 593, 606, 623, 637)
"""In the few, a norm or a softmax is spelled out."""


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


def runs(text: str, task: Small, minimize: Minimize = "time") -> Program | None:
    """Solved, emitted and run in f32; the emitted module's `main` holds it to its reference."""
    program = check(parse(text, "filled.layout"))
    assert isinstance(program, Program), text
    try:
        plan = solve(program, task.chips, task.machine, minimize)
    except Unsolvable:
        return None
    module = load(emit(plan.only.program, plan.mesh), f"filled_{abs(hash(text))}")
    assert module.main(["--dtype", "f32"]) == 0, text
    return plan.only.program


@pytest.mark.parametrize("seed", SEEDS)
def test_it_runs(seed: int) -> None:
    task = small(seed)
    runs(task.text, task)
    if stacked(task.text):
        runs(stacked(task.text), task)


def test_layers_run() -> None:
    """What is masked may overflow unless a softmax follows, so there are no masks here."""
    spelled = 0
    for seed in LAYERS:
        task = small_layer(seed)
        if not re.search(r"= (causal|valid)", task.text):
            filled = runs(task.text, task, "communication")
            spelled += filled is not None and "_sum1 " in print_program(filled)
            spelled += filled is not None and "_mean1 " in print_program(filled)
    assert spelled >= 8


def test_some_are_stacks() -> None:
    """The seeds reach programs that can be stacked; their blocks are blocks."""
    texts = [stacked(small(seed).text) for seed in SEEDS]
    found = [check(parse(text, "stack.layout")) for text in texts if text]
    assert len(found) >= 2
    assert all(
        isinstance(p, Program) and any(isinstance(i, Repeat) for i in p.items) for p in found
    )
