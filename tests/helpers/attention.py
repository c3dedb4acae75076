"""An attention layer as explicit programs, with its heads, its batch or its context split."""

from __future__ import annotations

from typing import Any

ATTENTION = """
dims B={B} L={L} M={M} E=6 K={K} G=2 Q=4
mesh x y z
dtype {dtype}
input  x  : B_bLE
input  pos : B int32
weight wq : EK_kGQ
weight wk : EK_kQ
weight wv : EK_kQ
weight wo : K_kGQE
cache  kc : B_bM_mK_kQ
cache  vc : B_bM_mK_kQ
q  : B_bLK_kGQ = x * wq
k  : B_bLK_kQ  = x * wk
v  : B_bLK_kQ  = x * wv
q1 = rope[Q](q, pos)
k1 = rope[Q](k, pos)
kn = write[M](kc, k1, pos)
vn = write[M](vc, v, pos)
s  : B_bLK_kGM_m = q1 * kn
s1 = scale[Q](s)
s2 = causal[L, M](s1, pos)
{softmax}
o  : B_bLK_kGQ_p = p * vn
{summed}
r  : B_bLE_r = o1 * wo
{reduced}
output y
"""
WHOLE_ROWS = "p = softmax[M](s2)"
SPELLED_OUT = """
top  : B_bLK_kG_a = max[M](s2)
top1 : B_bLK_kG   = all-reduce(m) top
d    = s2 - top1
u    = exp(d)
t    : B_bLK_kG_p = sum[M](u)
t1   : B_bLK_kG   = all-reduce(m) t
p    = u / t1
"""


def attention(batch: str = "", heads: str = "", context: str = "", **options: Any) -> str:
    """The layer with its batch, its heads and its context split over these axes."""
    values = {"B": 4, "L": 3, "M": 8, "K": 4, "dtype": "f32"} | options
    kind = {"sum": lambda a: f"(partialsum-{a})" * bool(a), "max": lambda a: f"(partialmax-{a})"}
    text = ATTENTION.format(
        **values,
        softmax=SPELLED_OUT if context else WHOLE_ROWS,
        summed="o1 : B_bLK_kGQ = all-reduce(m) o" if context else "o1 : B_bLK_kGQ = o",
        reduced="y : B_bLE = all-reduce(k) r" if heads else "y : B_bLE = r",
    )
    text = text.replace("_p ", kind["sum"](context) + " ").replace("_r ", kind["sum"](heads) + " ")
    text = text.replace("_a ", kind["max"](context) + " ")
    for letter, axes in (("b", batch), ("k", heads), ("m", context)):
        text = text.replace(f"_{letter}", f"_{axes}" if axes else "")
        text = text.replace(f"all-reduce({letter})", f"all-reduce({axes})")
    return text
