"""Norms and softmaxes over a dim that chips share, spelled out in statements."""

from __future__ import annotations

from inspect import signature

import pytest
from checking import right
from head_of_layer import last, source

from layoutc.codegen.fixed import layers
from layoutc.dsl.longhand import EPS
from layoutc.dsl.operation import Move
from layoutc.dsl.program import Define
from layoutc.dsl.signatures import example


@pytest.mark.parametrize(
    ("operation", "message", "gather"),
    [
        (
            "softmax[M](s_x)",
            "softmax[M](s_x) needs all of M on a chip, and s_x is split over x there",
            "s_x1 : B_yLKGM = all-gather(x) s_x",
        ),
        (
            "rmsnorm[E](a_xy)",
            "rmsnorm[E](a_xy) needs all of E on a chip, and a_xy is split over xy there",
            "a_xy1 : B_zLE = all-gather(xy) a_xy",
        ),
        (
            "rmsnorm[E, eps=1e-5](a_x, g)",
            "rmsnorm[E, eps=1e-5](a_x, g) needs all of E on a chip, and a_x is split over x there",
            "a_x1 : BLE = all-gather(x) a_x",
        ),
        (
            "layernorm[E](a_xy, g, g)",
            "layernorm[E](a_xy, g, g) needs all of E on a chip, and a_xy is split over xy there",
            "a_xy1 : B_zLE = all-gather(xy) a_xy",
        ),
    ],
)
def test_either_fix_is_right(operation: str, message: str, gather: str) -> None:
    """Either fix, as it is told, makes an explicit program with the result that was wanted."""
    error = last(f"y = {operation}")
    assert error.span.start == len("y = ") + operation.index("(") + 2
    assert error.message == message
    first, between, *steps = error.hint.splitlines()
    assert first == f"add before it:  {gather}"
    assert between == "or write in its place:"

    name, new = gather.rpartition(" ")[2], gather.partition(" ")[0]
    gathered = right(source(f"{gather}\ny = {operation.replace(f'({name}', f'({new}')}"))
    spelled = right(source("\n".join(steps).replace("NAME", "y   ")))
    assert gathered.explicit
    assert spelled.explicit
    assert spelled.types["y"].shape == spelled.types[name].shape
    assert spelled.types["y"].dtype == gathered.types["y"].dtype == "bf16"
    assert gathered.types["y"].shape.names == spelled.types["y"].shape.names


def test_the_statements_of_a_softmax() -> None:
    assert last("y = softmax[M](s_x)").hint.splitlines()[2:] == [
        "  s_x_max                   = max[M](s_x)",
        "  s_x_max1                  = all-reduce(x) s_x_max",
        "  s_x_less : B_yLKGM_x f32  = s_x - s_x_max1",
        "  s_x_exp                   = exp(s_x_less)",
        "  s_x_sum                   = sum[M](s_x_exp)",
        "  s_x_sum1                  = all-reduce(x) s_x_sum",
        "  NAME     : B_yLKGM_x bf16 = s_x_exp / s_x_sum1",
    ]


def test_the_statements_of_a_norm_are_reduced_in_f32() -> None:
    steps = "\n".join(last("y = layernorm[E, eps=1e-3](a_x, g, g_x)").hint.splitlines()[2:])
    program = right(source(steps.replace("NAME", "y")))
    reduced = [
        (str(item.type.shape), item.type.dtype)
        for item, _ in program.walk()
        if isinstance(item, Define) and isinstance(item.operation, Move)
    ]
    assert reduced == [("BL", "f32"), ("BL", "f32")]
    assert "+ 0.001" in steps


def test_where_no_dim_would_remain_all_of_it_is_gathered() -> None:
    assert last("y = softmax[E](g_x)").hint == "add before it:  g_x1 : E = all-gather(x) g_x"


def test_what_is_added_where_nothing_is_said_is_the_same_in_emitted_code() -> None:
    for kind, eps in EPS.items():
        assert signature(getattr(layers, kind)).parameters["eps"].default == eps.value
        assert f"{kind}[E, eps={eps.text}]" in example(kind)  # type: ignore[arg-type]
