"""Figures that are known from pencil and paper, exact to the element.

Sizes are PaLM 540B's; counts are elements that one chip receives in a pass, the (K-1)/K kept.
"""

from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
E, F = 18_432, 73_728


def elements(document: dict[str, Any]) -> int:
    count = document["phases"]["main"]["communication"]["elements"]
    assert isinstance(count, int)
    return count


def moved(document: dict[str, Any]) -> list[str]:
    return [c["op"] for c in document["phases"]["main"]["collectives"]]


def test_the_feedforward_layer_on_64_chips(compiled: Any) -> None:
    document = compiled(EXAMPLES / "ffn.layout", "--chips", "64")
    assert document["mesh"] == {"x": 4, "y": 4, "z": 4}
    # Two gathers and two reductions: x over yz to BLE_x, g over x to BLF_yz, and back.
    assert elements(document) == 2 * (512 * E // 4 * 15 // 16 + 512 * F // 16 * 3 // 4) == 7_962_624
    assert sorted(moved(document)) == ["all-gather"] * 2 + ["reduce-scatter"] * 2
    layouts = document["phases"]["main"]["layouts"]
    assert {name: layouts[name] for name in ("x", "w_in", "w_out", "y")} == {
        "x": "BLE_xyz",
        "w_in": "E_xF_yz",
        "w_out": "F_yzE_x",
        "y": "BLE_xyz",
    }


def test_figure_2b_as_printed_is_the_2d_layout(compiled: Any) -> None:
    document = compiled(EXAMPLES / "figure2b.layout", "--chips", "64")
    assert document["mesh"] == {"x": 4, "y": 4, "z": 4}
    assert elements(document) == 7_962_624
    assert document["phases"]["main"]["layouts"]["h1"] in ("BLF_yzx", "BLF_zyx")


@pytest.mark.parametrize(
    ("stem", "tokens", "activations", "weights"),
    [
        # Of each side: the larger end of the collective on a chip, its (K-1)/K, times two.
        ("ffn_1d_weight_stationary", 512, E * 63 // 64, 0),
        ("ffn_2d_weight_stationary", 512, E // 4 * 15 // 16 + F // 16 * 3 // 4, 0),
        ("ffn_x_weight_gathered", 512 * 128, E // 4 * 15 // 16, E * F // 16 * 3 // 4),
        ("ffn_xy_weight_gathered", 512 * 256, E // 16 * 3 // 4, E * F // 4 * 15 // 16),
        ("ffn_xyz_weight_gathered", 512 * 8192, 0, E * F * 63 // 64),
    ],
)
def test_the_papers_five_layouts(
    stem: str, tokens: int, activations: int, weights: int, compiled: Any
) -> None:
    """`activations` is per token."""
    document = compiled(EXAMPLES / f"{stem}.layout", "--mesh", "x=4,y=4,z=4")
    assert elements(document) == 2 * (tokens * activations + weights)


PINNED = """\
dims   B=512  L=1  E=18432  F=73728
mesh   x=4 y=4 z=4

input  x     : {activations}
weight w_in  : E_xF_{{yz}}
weight w_out : F_{{yz}}E_x

h : BLF? = x * w_in
g        = gelu(h)
y : {activations} = g * w_out
output y -> x
"""


@pytest.mark.parametrize(
    ("batch", "received", "gathered_over"),
    [
        (512, 7_962_624, 1),
        (16_384, 254_803_968, 1),
        (65_536, 721_944_576, 4),
        (131_072, 934_281_216, 16),
        (4_194_304, 5_053_612_032, 64),
    ],
)
def test_weights_that_stay_are_gathered_as_the_batch_grows(
    batch: int, received: int, gathered_over: int, compiled: Any, tmp_path: Path
) -> None:
    """Weights, x and y rest as in the 2D weight-stationary layout, at every batch."""
    path = tmp_path / "pinned.layout"
    path.write_text(PINNED.format(activations="BLE_{xyz}"))
    document = compiled(path, "--set", f"B={batch}", "--minimize", "communication")
    assert elements(document) == received
    over = {
        c["operand"]: 4 ** len(c["axes"])
        for c in document["phases"]["main"]["collectives"]
        if c["operand"] in ("w_in", "w_out")
    }
    assert over == ({} if gathered_over == 1 else dict.fromkeys(("w_in", "w_out"), gathered_over))


def test_an_order_that_does_not_fit_costs_two_permutes(compiled: Any, tmp_path: Path) -> None:
    path = tmp_path / "pinned.layout"
    path.write_text(PINNED.format(activations="BLE_zyx"))
    document = compiled(path, "--minimize", "communication")
    assert elements(document) == 7_962_624 + 2 * 512 * E // 64 == 8_257_536
    assert moved(document).count("permute") == 2
