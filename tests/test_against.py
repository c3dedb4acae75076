"""Plain functions left to the partitioner: what became of them, and what is said of wrong ones."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import layoutc
from layoutc.against import Against, against, document, report
from layoutc.codegen.against.function import WrongFunction

EXAMPLES = Path(__file__).parent.parent / "examples"
FFN = "ffn_2d_weight_stationary"


@cache
def held(name: str, called: str, **sizes: int) -> Against:
    """A function of examples/mlp.py between the layouts of an example."""
    path = EXAMPLES / f"{name}.layout"
    return against(str(path), layoutc.compile(path, chips=64, **sizes).answer.only, f"mlp:{called}")


def moves(found: Against) -> list[tuple[str, str, str, str]]:
    return [(m.kind, m.axes, m.before, m.after) for m in found.moves]


def line(text: str) -> int:
    """The line of examples/mlp.py that has this text, the first of them."""
    lines = (EXAMPLES / "mlp.py").read_text(encoding="utf-8").splitlines()
    return next(number for number, said in enumerate(lines, 1) if text in said)


# The feedforward layer.


def test_the_feedforward_layer_is_read_in_the_notation() -> None:
    assert moves(held(FFN, "feedforward")) == [
        ("all-gather", "yz", "BLE_xyz", "BLE_x"),
        ("all-reduce", "x", "BLF_yz(partialsum-x)", "BLF_yz"),
        ("all-reduce", "yz", "BLE_x(partialsum-yz)", "BLE_x"),
    ]


def test_the_feedforward_layer_moves_more() -> None:
    """x=y=z=4, B=512, E=18432, F=73728, so BE/X = 2359296 and BF/YZ = 2359296 too.

    The gather brings 15/16 of that; an all-reduce over 4 chips 2 * 3/4, one over 16 2 * 15/16:
    2359296 * (15/16 + 3/2 + 15/8) = 10174464 elements. layoutc's bring 2359296 * 2 * (15/16 + 3/4)
    = 7962624, and the same 7962624 is left if the last all-reduce, of which a sixteenth is kept,
    is a reduce-scatter.
    """
    found = held(FFN, "feedforward")
    assert found.elements == 10174464
    assert found.plan.prices.communication.elements == 7962624
    assert found.ratio == pytest.approx(10174464 / 7962624)
    assert found.bytes == 2 * 10174464
    assert found.scattered == 2 * 7962624
    assert [m.cut for m in found.moves] == [False, False, True]
    assert found.automatic.error is not None
    assert found.automatic.error <= 1e-5


def test_every_collective_has_its_reason() -> None:
    found = held(FFN, "feedforward")
    one, other = line('"ble,ef->blf", x'), line('"blf,fe->ble", g')
    gelu = one + 1
    assert [m.line for m in found.moves] == [f"mlp.py:{n}" for n in (one, one, other)]
    assert [m.why for m in found.moves] == [
        f"x, for the product at mlp.py:{one}: yz split F of w_in",
        f"E is split over x in both operands of the product at mlp.py:{one}; "
        f"mlp.py:{gelu} needs the sum itself",
        f"F is split over yz in both operands of the product at mlp.py:{other}; "
        "y leaves as BLE_xyz",
    ]
    assert found.answers == (
        ("x1 : BLE_x = all-gather(yz) x",),
        ("h1 : BLF_yzx = reduce-scatter(x) h", "g1 : BLF_yz = all-gather(x) g"),
        ("y : BLE_xyz = reduce-scatter(yz) p",),
    )


def test_the_document_has_what_the_report_says() -> None:
    found = held(FFN, "feedforward")
    said = json.loads(json.dumps(document(found)))
    assert said["function"] == "mlp:feedforward"
    assert said["elements"] == sum(c["elements"] for c in said["collectives"])
    first = said["collectives"][0]
    assert (first["op"], first["axes"], first["from"], first["to"]) == moves(found)[0]
    assert (first["dtype"], first["times"]) == ("bf16", 1)
    text = report(found)
    assert "moves   20.3 MB; layoutc moves 15.9 MB, 1.28 times as many elements\n" in text
    assert all(c["why"] in text for c in said["collectives"])


# Others.


def test_a_scan_is_gone_through_once_and_counted_as_often_as_it_runs() -> None:
    found = held("stack", "stack", repeat=6)
    assert [(*move, m.times) for move, m in zip(moves(found), found.moves, strict=True)] == [
        ("all-gather", "yz", "BLE_xyz", "BLE_x", 6),
        ("all-reduce", "x", "BLF_yz(partialsum-x)", "BLF_yz", 6),
        ("all-reduce", "yz", "BLE_x(partialsum-yz)", "BLE_x", 6),
    ]
    assert found.elements == 6 * 10174464


def test_a_pinned_layout_has_the_weights_moved() -> None:
    """Both of E·F/64 elements each, in an all-to-all over 16 chips and over 4, and more."""
    found = held(FFN, "pinned")
    assert moves(found)[:2] == [
        ("all-to-all", "yz", "F_yzE_x", "FE_xyz"),
        ("all-to-all", "x", "E_xF_yz", "EF_yzx"),
    ]
    assert found.moves[0].elements == 4608 * 4608 * 15 // 16
    assert found.moves[1].elements == 4608 * 4608 * 3 // 4
    assert [m.why.partition(",")[0] for m in found.moves[:3]] == ["w_out", "w_in", "x"]
    assert found.ratio is not None
    assert found.ratio > 10


def test_what_the_notation_can_not_say_is_shown_by_its_extents() -> None:
    """Gate and up side by side are of 2F, which is no dim of the file."""
    found = held("swiglu", "fused", B=64, E=512, F=1024)
    both = [m for m in found.moves if m.kind == "all-reduce" and None in m.shapes]
    assert both
    assert both[0].before.startswith("f32[64,1,")
    assert {m.before for m in found.moves if m.kind == "all-to-all"} & {"E_xF_yz"}
    assert found.automatic.same


def test_two_functions_of_the_same_values_are_told_apart_by_what_they_move() -> None:
    sizes = {"B": 64, "E": 512, "F": 1024}
    apart, together = held("swiglu", "swiglu", **sizes), held("swiglu", "fused", **sizes)
    assert apart.automatic.same
    assert apart.elements < together.elements


# Wrong functions.

MODULE = '''
"""Functions that are not what the program says."""

import jax
import jax.numpy as jnp

number = 3


def two(x, w):
    return x


def pair(x, w_in, w_out):
    return x, x


def narrow(x, w_in, w_out):
    return x @ w_in


def wide(x, w_in, w_out):
    return x.astype(jnp.float32)


def mismatched(x, w_in, w_out):
    return x @ w_out


def inner(x, w_in, w_out):
    return mismatched(x, w_in, w_out)


def refusing(x, w_in, w_out):
    raise ValueError("not today\\nnor tomorrow")


def deciding(x, w_in, w_out):
    return x if x.sum() > 0 else -x


def other(x, w_in, w_out):
    return jnp.tanh(x @ w_in) @ w_out


def fixed(x, w_in, w_out):
    h = x.reshape(16, 256) @ w_in
    return (h @ w_out).reshape(16, 1, 256)


def until(x, w_in, w_out):
    def layer(x):
        return jnp.tanh(x @ w_in) @ w_out

    return jax.lax.while_loop(lambda x: x.sum() > 9, layer, x)
'''

LAYOUT = """
dims   B=16  L=1  E=256  F=512
mesh   x=2 y=2
input  x     : BLE_xy
weight w_in  : E_xF_y
weight w_out : F_yE_x
h : BLF? = x * w_in
y : BLE_xy = h * w_out
output y
"""

GIVEN = "wrong gives it 3: x : BLE_xy, w_in : E_xF_y, w_out : F_yE_x"


@pytest.fixture
def tried(tmp_path: Path) -> Callable[[str], Against]:
    """A function of the module above, or of another beside the file, against the program."""
    files = {
        "wrong.layout": LAYOUT,
        "several.py": MODULE,
        "importing.py": "import no_such_module\n",
        "spelled.py": "def f(:\n",
        "dividing.py": "\n1 / 0\n",
        "leaving.py": "import sys\nsys.exit(3)\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        sys.modules.pop(name.removesuffix(".py"), None)
    path = tmp_path / "wrong.layout"

    def run(called: str) -> Against:
        return against(str(path), layoutc.compile(path).answer.only, called)

    return run


WRONG = {
    "nowhere:f": "there is no module nowhere in this folder, beside the file, or installed",
    "several": "several: a function is called module:function, as in mlp:feedforward",
    "several.py:two": "several.py:two: a module goes by its name, not its file: several:two",
    "importing:f": "importing imports no_such_module, and there is no such module",
    "spelled:f": "spelled can't be imported: spelled.py:1: SyntaxError: invalid syntax",
    "dividing:f": "dividing can't be imported: dividing.py:2: ZeroDivisionError: division by zero",
    "leaving:f": "leaving can't be imported: leaving.py:2: SystemExit: 3",
    "several:pear": "several has no pear; did you mean pair?",
    "several:zzz": "several has no zzz",
    "several:number": "several:number is no function: it is of type int",
    "several:two": f"several:two takes (x, w); {GIVEN}",
    "several:pair": "several:pair returns 2 arrays; wrong has y : BLE_xy",
    "several:narrow": "several:narrow returns bfloat16[16, 1, 512] for y; in wrong it is "
    "bfloat16[16, 1, 256], held as BLE_xy",
    "several:wide": "several:wide returns float32[16, 1, 256] for y; in wrong it is "
    "bfloat16[16, 1, 256], held as BLE_xy",
    "several:refusing": "several:refusing can't be traced: several.py:35: ValueError: not today",
    "several:deciding": "several:deciding can't be traced: several.py:39: "
    "TracerBoolConversionError: Attempted boolean conversion of traced array with shape bool[].",
}


@pytest.mark.parametrize("called", WRONG)
def test_a_wrong_function_is_told_what_is_wrong(
    called: str, tried: Callable[[str], Against]
) -> None:
    with pytest.raises(WrongFunction) as refused:
        tried(called)
    assert str(refused.value) == WRONG[called]


@pytest.mark.parametrize("called", ["several:mismatched", "several:inner"])
def test_the_line_is_the_users_innermost(called: str, tried: Callable[[str], Against]) -> None:
    with pytest.raises(WrongFunction) as refused:
        tried(called)
    start = f"{called} can't be traced: several.py:27: TypeError: dot_general requires"
    assert str(refused.value).startswith(start)


def test_other_mathematics_are_reported(tried: Callable[[str], Against]) -> None:
    found = tried("several:other")
    assert not found.automatic.same
    assert not document(found)["same"]
    assert "it does not compute what wrong says: error 0." in report(found)


def test_sizes_that_are_written_into_a_function(tried: Callable[[str], Against]) -> None:
    """It is compiled at the full sizes all the same; at small ones it can't be run."""
    found = tried("several:fixed")
    assert found.automatic.error is None
    assert found.automatic.same
    assert "not compared: at small sizes, several.py:47: TypeError:" in report(found)


def test_a_loop_that_runs_until_something_is_so(tried: Callable[[str], Against]) -> None:
    """Also what its condition moves is read: there x is summed over all dims, E split over xy."""
    found = tried("several:until")
    assert {m.times for m in found.moves} == {None}
    last = found.moves[-1]
    assert (last.kind, last.axes, last.before) == ("all-reduce", "xy", "f32[]")
    assert last.why.startswith("E is split over xy in the sum at several.py:55")
    assert "XLA does not know how often one runs" in report(found)


def test_a_module_of_this_folder_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tried: Callable[[str], Any]
) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "here.py").write_text("def product(x, a, b):\n    return x @ a @ b\n")
    monkeypatch.chdir(folder)
    assert tried("here:product").automatic.same
