"""`layoutc derive`: the paper's closed forms, the best meshes, and what it says of holes."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import pytest
from formulas import EXAMPLES, SWIGLU, document, example, formula, same

from layoutc.cli import main

E, F = 18_432, 73_728
CHIPS = [2**k for k in range(2, 13)]


@pytest.fixture
def derived(capsys: pytest.CaptureFixture[str]) -> Any:
    return lambda file, *options: document(capsys, ["derive", str(file), *options])


def test_1d_weight_stationary(derived: Any) -> None:
    """Section 3.2.1: 2BLE, whatever the mesh."""
    found = derived(example("1d_weight_stationary"))
    assert found["communication"] == "2*B*L*E/bandwidth"
    assert found["optimum"] == {}
    assert found["at_optimum"] == "2*B*L*E/bandwidth"
    assert same(found["exact"], "2*B*L*E*(1 - 1/(X*Y*Z))/bandwidth")


def test_2d_weight_stationary(derived: Any) -> None:
    """Appendix A.2.1."""
    found = derived(example("2d_weight_stationary"))
    assert found["symbols"] == ["B", "L", "E", "F", "X", "Y", "Z", "n", "bandwidth"]
    assert found["communication"] == "2*B*L*(E/X + F/(Y*Z))/bandwidth"
    assert found["optimum"] == {"X": "sqrt(E*n/F)", "Y*Z": "sqrt(F*n/E)"}
    assert found["at_optimum"] == "4*B*L*sqrt(E*F/n)/bandwidth"
    assert same(
        found["exact"],
        "2*B*L*(E/X*(1 - 1/(Y*Z)) + F/(Y*Z)*(1 - 1/X))/bandwidth",
    )


def test_2d_with_four_times_the_model_dim(derived: Any) -> None:
    """F = 4E: X = √n/2, Y·Z = 2√n, and 8BLE/√n."""
    found = derived(example("2d_weight_stationary"))
    with_4e = {formula("F"): formula("4*E")}
    sizes = {name: formula(text).subs(with_4e) for name, text in found["optimum"].items()}
    assert sizes == {"X": formula("sqrt(n)/2"), "Y*Z": formula("2*sqrt(n)")}
    assert formula(found["at_optimum"]).subs(with_4e) == formula("8*B*L*E/sqrt(n)/bandwidth")


@pytest.mark.parametrize(
    ("name", "gathered", "left"), [("x", "X", "Y*Z"), ("xy", "X*Y", "Z")], ids=["X", "XY"]
)
def test_weight_gathered(derived: Any, name: str, gathered: str, left: str) -> None:
    """Appendix A.2.2, N the product of the axes gathered: 2EFN/n + 2BLE/N."""
    found = derived(example(f"{name}_weight_gathered"))
    paper = f"(2*E*F*({gathered})/n + 2*B*L*E/({gathered}))/bandwidth".replace("/n", "/(X*Y*Z)")
    assert same(found["communication"], paper)
    assert set(found["optimum"]) == {gathered, left}
    assert same(found["optimum"][gathered], "sqrt(B*L*n/F)")
    assert found["at_optimum"] == "4*E*sqrt(B*L*F/n)/bandwidth"


def test_gathered_by_all_chips_the_activations_do_not_move(derived: Any) -> None:
    """At N = n the general term 2BLE/N must be dropped."""
    found = derived(example("xyz_weight_gathered"))
    assert found["communication"] == found["at_optimum"] == "2*E*F/bandwidth"
    assert [statement["statement"][:2] for statement in found["statements"]] == ["v ", "u "]


def test_a_gated_layer_has_another_optimum(derived: Any, tmp_path: Path) -> None:
    """One x gathered and one y reduced, 2·BLE/X; two halves reduced and one g gathered,
    3·BLF/(YZ). With YZ = n/X the derivative is -2E/X² + 3F/n: X = √(2En/3F), where both parts
    are √(6EF/n)·BL."""
    file = tmp_path / "swiglu.layout"
    file.write_text(SWIGLU)
    found = derived(file)
    assert same(found["communication"], "B*L*(2*E/X + 3*F/(Y*Z))/bandwidth")
    assert same(found["optimum"]["X"], "sqrt(2*E*n/(3*F))")
    assert same(found["optimum"]["Y*Z"], "sqrt(3*F*n/(2*E))")
    assert same(found["at_optimum"], "2*B*L*sqrt(6*E*F/n)/bandwidth")


def test_dims_that_come_together_stand_in_one_root(derived: Any, tmp_path: Path) -> None:
    """E + G over X: a coefficient need not be a product."""
    file = tmp_path / "sum.layout"
    file.write_text(
        "dims  B E F G\nmesh  x y\n\ninput  a : BE_xy\ninput  b : BG_xy\ninput  c : BF_yx\n\n"
        "a1 : BE_x = all-gather(y) a\nb1 : BG_x = all-gather(y) b\nc1 : BF_y = all-gather(x) c\n"
        "output a1, b1, c1\n"
    )
    found = derived(file)
    assert same(found["optimum"]["X"], "sqrt((E + G)*n/F)")
    assert same(found["at_optimum"], "2*B*sqrt((E + G)*F/n)/bandwidth")


@pytest.mark.parametrize("chips", CHIPS)
def test_best_meshes_are_those_of_enumeration(derived: Any, chips: int) -> None:
    """2BL(E/X·(1 - 1/YZ) + F/YZ·(1 - 1/X)) on every mesh; at n = 8, 32, ... two X are as good."""
    found = derived(example("2d_weight_stationary"), "--chips", str(chips))["on_chips"]
    powers = [2**k for k in range(chips.bit_length())]
    meshes = [mesh for mesh in product(powers, repeat=3) if prod(mesh) == chips]

    def elements(mesh: tuple[int, ...]) -> Fraction:
        x, yz = mesh[0], mesh[1] * mesh[2]
        return 2 * 512 * (Fraction(E * (yz - 1), x * yz) + Fraction(F * (x - 1), x * yz))

    least = min(map(elements, meshes))
    best = {mesh for mesh in meshes if elements(mesh) == least}
    assert {tuple(tie.values()) for tie in found["ties"]} == best
    assert tuple(found["mesh"].values()) in best
    assert found["elements"] == float(least)
    assert len({mesh[0] for mesh in best}) == (2 if chips in (8, 32, 128, 512, 2048) else 1)


def test_the_gap_to_sizes_that_are_not_whole(derived: Any) -> None:
    """On 64 chips √n/2 = 4 is whole; on 8, X = 2 costs 3 where √8 would be the least."""
    assert derived(example("2d_weight_stationary"), "--chips", "64")["on_chips"]["gap"] < 1e-9
    found = derived(example("2d_weight_stationary"), "--chips", "8")["on_chips"]
    assert found["gap"] == pytest.approx(3 / 8**0.5 - 1)
    assert found["continuous"]["sizes"] == pytest.approx({"X": 2**0.5, "Y*Z": 32**0.5})


def test_a_pinned_mesh(derived: Any) -> None:
    found = derived(example("2d_weight_stationary"), "--mesh", "x=4")
    assert found["optimum"] == {"X": "4"}
    assert same(found["at_optimum"], "2*B*L*(E/4 + 4*F/n)/bandwidth")
    whole = derived(example("2d_weight_stationary"), "--mesh", "x=4,y=4,z=4")
    assert whole["on_chips"]["elements"] == 7_962_624
    alone = derived(example("2d_weight_stationary"), "--mesh", "x=1")
    assert alone["communication"] == "2*B*L*E/bandwidth"


def test_padding_is_mentioned(derived: Any) -> None:
    found = derived(example("2d_weight_stationary"), "--chips", "4096")["on_chips"]
    assert "E_xyz" in found["undivided"]


@pytest.mark.parametrize("name", ["ffn", "figure2b", "swiglu", "stack", "ffn_bias"])
def test_holes_are_refused(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert main(["derive", str(EXAMPLES / f"{name}.layout")]) == 1
    error = capsys.readouterr().err
    assert "is a hole; derive takes an explicit program" in error
    assert "layoutc compile" in error
    assert "layoutc regimes" in error


def test_a_refusal_as_a_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["derive", str(EXAMPLES / "ffn.layout"), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["errors"][0]["line"] == 9


def test_no_mesh_of_so_many_chips(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["derive", example("2d_weight_stationary"), "--mesh", "x=3", "--chips", "8"]) == 1
    assert "error" in capsys.readouterr().err


def test_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["derive", example("2d_weight_stationary"), "--chips", "8"]) == 0
    text = capsys.readouterr().out
    assert "2*B*L*(E/X + F/(Y*Z))/bandwidth, K large" in text
    assert "X = sqrt(E*n/F), Y*Z = sqrt(F*n/E)" in text
    assert "6.1 % more than if sizes were not whole" in text


def test_for_latex(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["derive", example("2d_weight_stationary"), "--latex"]) == 0
    assert r"X = \sqrt{\frac{E n}{F}}" in capsys.readouterr().out
