"""What a norm or a softmax stands for: the statements to write where its dim is split.

Whatever moves in an explicit program is a statement of its own, so the reductions of a dim that
chips share are spelled out. As in the operations themselves, they are computed in f32.
"""

from __future__ import annotations

from layoutc.dsl.columns import Row, align
from layoutc.dsl.operation import Layer
from layoutc.dsl.refusal import Held, letters

EPS = {"rmsnorm": "1e-6", "layernorm": "1e-5"}
"""What is added to the mean of the squares where the program does not say."""

Step = tuple[str, str, str]
"""A statement: its name, how that is held ("" where it follows), its operation."""


def longhand(operation: Layer, lead: Held) -> str:
    """The statements, a line each; the last is of NAME, which is what the operation gives.

    "" where the operation is none of these, or where a reduction would leave no dim.
    """
    if len(lead.shape.dims) < 2:
        return ""
    match operation.kind:
        case "softmax":
            steps = _softmax(operation, lead)
        case "rmsnorm":
            squares = (f"{lead.name}_square", f"{lead.shape} f32", f"{lead.name} * {lead.name}")
            steps = [squares, *_norm(operation, lead, lead.name)]
        case "layernorm":
            steps = _layernorm(operation, lead)
        case _:
            return ""
    return align([Row("define", step, depth=1) for step in steps]).rstrip("\n")


def _softmax(operation: Layer, lead: Held) -> list[Step]:
    (dim,), name = operation.dims, lead.name
    return [
        (f"{name}_max", "", f"max[{dim}]({name})"),
        _reduced(operation, lead, f"{name}_max"),
        (f"{name}_less", f"{lead.shape} f32", f"{name} - {name}_max1"),
        (f"{name}_exp", "", f"exp({name}_less)"),
        (f"{name}_sum", "", f"sum[{dim}]({name}_exp)"),
        _reduced(operation, lead, f"{name}_sum"),
        ("NAME", f"{lead.shape} {lead.dtype}", f"{name}_exp / {name}_sum1"),
    ]


def _layernorm(operation: Layer, lead: Held) -> list[Step]:
    (dim,), name = operation.dims, lead.name
    return [
        (f"{name}_wide", f"{lead.shape} f32", f"cast({name})"),
        (f"{name}_mid", "", f"mean[{dim}]({name}_wide)"),
        _reduced(operation, lead, f"{name}_mid"),
        (f"{name}_less", "", f"{name}_wide - {name}_mid1"),
        (f"{name}_square", "", f"square({name}_less)"),
        *_norm(operation, lead, f"{name}_less"),
    ]


def _norm(operation: Layer, lead: Held, value: str) -> list[Step]:
    """What is left once there are squares: `value` over the root of their mean, scaled, shifted."""
    (dim,), name, wide = operation.dims, lead.name, f"{lead.shape} f32"
    eps = operation.constant.text if operation.constant else EPS[operation.kind]
    steps = [
        (f"{name}_mean", "", f"mean[{dim}]({name}_square)"),
        _reduced(operation, lead, f"{name}_mean"),
        (f"{name}_eps", "", f"{name}_mean1 + {eps}"),
        (f"{name}_root", "", f"rsqrt({name}_eps)"),
        (f"{name}_norm", wide, f"{value} * {name}_root"),
    ]
    for sign, other in zip("*+", operation.followers, strict=False):
        left = steps[-1][0]
        steps.append((f"{name}_{other}", wide, f"{left} {sign} {other}"))
    *before, (_, _, last) = steps
    return [*before, ("NAME", f"{lead.shape} {lead.dtype}", last)]


def _reduced(operation: Layer, lead: Held, name: str) -> Step:
    (dim,) = operation.dims
    return (f"{name}1", "", f"all-reduce({letters(lead.shape.split(dim))}) {name}")
