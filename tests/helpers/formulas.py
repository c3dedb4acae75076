"""Reading formulas back: what a command printed, as a number or as SymPy has it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import sympy
from sympy.parsing.sympy_parser import parse_expr

from layoutc.cli import main
from layoutc.dsl.check import check
from layoutc.dsl.parse import parse
from layoutc.dsl.program import Program

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
BANDWIDTHS = [
    f"{speed}_{axes}"
    for speed in ("bandwidth", "exchange", "permute")
    for axes in ("x", "y", "z", "xy", "xz", "yz", "xyz")
]
SWIGLU = """\
dims   B L E F
mesh   x y z

input  x      : BLE_xyz
weight w_gate : E_xF_yz
weight w_up   : E_xF_yz
weight w_down : F_yzE_x

x1 : BLE_x                = all-gather(yz) x
a  : BLF_yz(partialsum-x) = x1 * w_gate
a1 : BLF_yzx              = reduce-scatter(x) a
b  : BLF_yz(partialsum-x) = x1 * w_up
b1 : BLF_yzx              = reduce-scatter(x) b
s  : BLF_yzx              = silu(a1)
g  : BLF_yzx              = s * b1
g1 : BLF_yz               = all-gather(x) g
p  : BLE_x(partialsum-yz) = g1 * w_down
y  : BLE_xyz              = reduce-scatter(yz) p
output y -> x
"""
"""PaLM's gated feedforward layer, 2D weight-stationary."""

NAMES = {
    s: sympy.Symbol(s, positive=True)
    for s in [*map(chr, range(65, 91)), "n", "bandwidth", *BANDWIDTHS]
}


def formula(text: str) -> sympy.Expr:
    """The text of a document; its names are the positive symbols of `NAMES`."""
    return parse_expr(text, local_dict=NAMES)


def same(one: str, other: str) -> bool:
    """Whether two formulas are equal for all positive symbols."""
    return bool(sympy.simplify(formula(one) - formula(other)) == 0)


def example(name: str) -> str:
    return str(EXAMPLES / f"ffn_{name}.layout")


def program(text: str) -> Program:
    found = check(parse(text, "test.layout"))
    assert isinstance(found, Program), found
    return found


def document(capsys: pytest.CaptureFixture[str], command: Iterable[str]) -> dict[str, Any]:
    """What a command with `--json` prints."""
    status = main([*command, "--json"])
    out, err = capsys.readouterr()
    assert status == 0, out + err
    found = json.loads(out)
    assert isinstance(found, dict)
    return found
