"""What else was possible: contenders, why they lost, what is ruled out, how far a choice holds."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from regenerate import GOLDEN, replayed
from small_programs import small
from texts import read

from layoutc.dsl.program import Program
from layoutc.solver.asked import Minimize
from layoutc.solver.contenders import called, contenders, worth
from layoutc.solver.describe import describe
from layoutc.solver.hardware.catalogue import load_machine
from layoutc.solver.hardware.fabric import uniform
from layoutc.solver.holds import holds
from layoutc.solver.meshes import meshes, pinned
from layoutc.solver.plan import Plan
from layoutc.solver.price import price
from layoutc.solver.ruled_out import TooFewAxes, TooLarge, Undivided, Written, ruled_out, uncut
from layoutc.solver.solve import solve
from layoutc.solver.ties import ties
from layoutc.solver.turns import Range
from layoutc.solver.unsolvable import Unsolvable
from layoutc.why import why

EXAMPLES = Path(__file__).parent.parent / "examples"
MACHINE = load_machine()
PAPERS = [
    "1d_weight_stationary", "x_weight_gathered", "xy_weight_gathered", "xyz_weight_gathered",
]  # fmt: skip

Run = Callable[..., dict[str, Any]]


def example(stem: str, **dims: int) -> Program:
    program = read((EXAMPLES / f"{stem}.layout").read_text(), stem)
    return replace(program, dims={**program.dims, **dims})


def on_the_cube(program: Program) -> Program:
    """On 4x4x4 chips and no other mesh."""
    return pinned(program, {"x": 4, "y": 4, "z": 4})


def best_called(program: Program, name: str, chips: int) -> float:
    """Seconds of an explicit program on the best mesh on which it has a name."""
    found = [m for m in meshes(program.axes, chips) if describe(program, m) == name]
    priced = []
    for mesh in found:
        try:
            priced.append(price(program, uniform(mesh, MACHINE)).seconds)
        except ValueError:
            continue
    return min(priced)


# Contenders.


def test_the_papers_five_are_found() -> None:
    """The winner is one of the five examples; the others cost what the examples do, written out
    by hand, on the best of the meshes that leave them their names."""
    program = example("ffn")
    plan = solve(program, 64, MACHINE)
    assert called(plan) == "2D weight-stationary"
    found = {called(p): p.seconds for p in contenders(program, plan, thorough=True).plans}
    for stem in PAPERS:
        written = example(f"ffn_{stem}", B=512, L=1)
        name = describe(written, {"x": 4, "y": 4, "z": 4})
        assert found[name] == pytest.approx(best_called(written, name, 64), rel=1e-9), name


def test_the_next_best_mesh_comes_first(compiled: Run) -> None:
    found = compiled(EXAMPLES / "ffn.layout", "--chips", "64")
    first, second, *_ = found["alternatives"]
    assert not found["complete"]
    assert (first["name"], first["mesh"]) == ("2D weight-stationary", {"x": 32, "y": 2, "z": 1})
    assert second["name"] == "1D weight-stationary"
    assert second["layouts"]["w_in"] == "EF_xyz"
    assert "explain" not in found


def test_the_line_of_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    """18,579,456 elements against 7,962,624: 7/3."""
    from layoutc.cli import main

    assert main(["compile", str(EXAMPLES / "ffn.layout"), "--chips", "64"]) == 0
    line = "  against         1D weight-stationary, 296 µs: the same matmuls, 2.3 times the bytes\n"
    assert line in capsys.readouterr().out


def test_an_explicit_program_has_other_meshes() -> None:
    program = example("ffn_2d_weight_stationary")
    plan = solve(program, 64, MACHINE)
    found = contenders(program, plan)
    assert found.complete
    assert found.runner_up is not None
    assert plan.runner_up is not None
    assert found.runner_up.seconds == pytest.approx(plan.runner_up.seconds, rel=1e-12)
    assert [called(p) for p in found.plans] == ["1D weight-stationary"]


@pytest.mark.parametrize("minimize", ["time", "communication"])
@pytest.mark.parametrize("seed", range(12))
def test_nothing_else_is_better(seed: int, minimize: Minimize) -> None:
    made = small(seed)
    program = read(made.text)
    try:
        plan = solve(program, made.chips, made.machine, minimize)
    except Unsolvable:
        return
    found = contenders(program, plan, thorough=True)
    listed = [p for p in (found.runner_up, *found.plans) if p is not None]
    first, second = worth(plan)
    for other in listed:
        assert worth(other) >= (first * (1 - 1e-9), second * (1 - 1e-9)), made.text
        assert why(plan, other).sentence
    assert len({called(p) for p in found.plans} | {called(plan)}) == len(found.plans) + 1


# Why.


PRODUCT = """\
dims   B=4 E=64 F=64
mesh   x=4 y=4
input  x : BE
weight w : EF{0}
h : BF{0} = x * w
output h
"""


def test_a_matmul_that_fewer_chips_share() -> None:
    """With a memory that is read in no time, it is compute that decides."""
    fast = replace(MACHINE, memory_bandwidth=1e20)
    best, other = (solve(read(PRODUCT.format(axes)), 16, fast) for axes in ("_xy", "_y"))
    said = why(best, other).short
    assert said.startswith("its matmuls are shared by 4 chips where the best shares them by 16")
    assert said.endswith("compute takes 4 times as long")


def test_weights_that_are_read_more_often() -> None:
    """With matmuls that take no time, it is the memory that decides."""
    fast = MACHINE.faster(peak=1e6)
    best, other = (solve(read(PRODUCT.format(axes)), 16, fast) for axes in ("_xy", "_y"))
    assert why(best, other).short == "each chip reads 4 times the weights from memory"


# What is ruled out.


def absent(program: Program, chips: int) -> dict[str, object]:
    plan = solve(program, chips, MACHINE)
    found = contenders(program, plan, thorough=True)
    return dict(ruled_out(program, plan, found.absent))


def test_an_annotation_rules_out() -> None:
    rule = absent(on_the_cube(example("ffn_figure3")), 64)["1D weight-stationary"]
    assert isinstance(rule, Written)
    assert (rule.tensor, str(rule.shape)) == ("w_in", "E_xF_{yz}")


def test_a_dim_that_is_not_divided_rules_out() -> None:
    program = example("ffn", F=73_729, B=64)
    rule = absent(program, 8)["2D weight-stationary"]
    assert rule == Undivided("w_in", (("F", 73_729),))
    assert uncut(program, 8) == [("F", 73_729, 1)]


def test_heads_that_chips_can_not_share() -> None:
    assert uncut(example("ffn", E=28), 8) == [("E", 28, 4)]


def test_too_few_axes_rule_out() -> None:
    assert absent(example("ffn"), 4)["XY-weight-gathered"] == TooFewAxes(3)


def test_memory_rules_out() -> None:
    """Both matrices are 2·96K·384K elements of 2 bytes: 155 GB, on each of 4 chips 38.7 GB."""
    text = (EXAMPLES / "ffn.layout").read_text().replace("!", "?").replace("x y z", "x y")
    program = read(text)
    program = replace(program, dims={**program.dims, "E": 98_304, "F": 393_216})
    rule = absent(program, 8)["weights on every chip"]
    assert isinstance(rule, TooLarge)
    assert 4 * 98_304 * 393_216 < rule.bytes < 4.2 * 98_304 * 393_216


# Ties.


def test_what_took_as_long_and_how_it_was_settled() -> None:
    """Square weights: any mesh that cuts them into squares, and x may come split by its tokens."""
    program = example("ffn")
    plan = solve(program, 64, MACHINE)
    found = ties(program, plan)
    assert {"x": 16, "y": 4, "z": 1} in plan.ties
    assert {tie.by for tie in found} == {"even", "tokens"}
    assert [tie.tensor for tie in found if tie.by == "tokens"] == ["x"]


def test_a_renaming_is_no_tie() -> None:
    program = example("ffn", E=64, F=64)
    plan = solve(program, 8, MACHINE)
    assert all(sorted(mesh.values()) != sorted(plan.mesh.values()) for mesh in plan.ties)


# How far it holds.


def ranges(program: Program, chips: int, minimize: Minimize = "time") -> tuple[Plan, list[Range]]:
    plan = solve(program, chips, MACHINE, minimize)
    return plan, holds(program, plan, contenders(program, plan, thorough=True).plans)


def test_the_papers_switch() -> None:
    """Figure 3 on 4x4x4: beyond B·L = E, X-weight-gathered moves less than 2D."""
    program = example("ffn_figure3")
    _, (batch, network) = ranges(on_the_cube(program), 64, "communication")
    assert batch.high is not None
    assert batch.high.at == pytest.approx(16_384, rel=1e-6)
    assert batch.high.name == "X-weight-gathered"
    assert batch.low is None
    assert (network.low, network.high) == (None, None)


def test_the_switch_is_where_it_is_said() -> None:
    program = example("ffn")
    plan, (batch, _) = ranges(program, 64)
    assert batch.high is not None
    before = solve(example("ffn", B=int(batch.high.before)), 64, MACHINE)
    beyond = solve(example("ffn", B=int(batch.high.beyond)), 64, MACHINE)
    assert called(before) == called(plan)
    assert called(beyond) == batch.high.name != called(plan)
    assert batch.high.beyond - batch.high.before <= batch.high.before / 64


def test_a_slower_network_changes_the_layout() -> None:
    """The search names one layout just before each turn, and the other just beyond."""
    made = small(3)
    program = read(made.text)
    plan = solve(program, made.chips, made.machine)
    *_, network = holds(program, plan, contenders(program, plan, thorough=True).plans)
    for turn in (network.low, network.high):
        if turn is not None:
            now = made.machine.network_bandwidth
            names = [
                called(
                    solve(
                        program,
                        made.chips,
                        made.machine.faster(network=at / now),
                    )
                )
                for at in (turn.before, turn.beyond)
            ]
            assert names == [called(plan), turn.name]


# As a person, or a program, reads it.


def test_as_a_document(compiled: Run) -> None:
    found = compiled(EXAMPLES / "ffn.layout", "--chips", "4", "--explain")
    assert found["complete"]
    assert {"ties", "ruled_out", "undivided", "holds", "moves", "network"} == set(found["explain"])
    assert [h["what"] for h in found["explain"]["holds"]] == ["B", "network"]
    assert set(found["explain"]["moves"]) >= {"peak_flops", "memory_bandwidth", "chips"}
    assert all(a["seconds"] >= found["seconds"] * (1 - 1e-9) for a in found["alternatives"])


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda path: path.stem)
def test_golden(golden: Path) -> None:
    """If this fails and the new output is right: python tests/regenerate.py"""
    assert replayed(golden) == golden.read_text(encoding="utf-8")
