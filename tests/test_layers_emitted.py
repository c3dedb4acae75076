"""A Transformer layer's operations as they are emitted: values on every layout, and arguments."""

from __future__ import annotations

import emitted
import jax
import layered
import numpy as np
import padded
import pytest
from checking import one
from texts import read

from layoutc.codegen import sizes

# Each operation, whole and split.

EMBED = """
dims B=6 L=5 V={V} E=6
mesh x y
dtype f32
input ids : B{b}L int32
weight table : {table}
e  : B{b}LE{e}{partial} = embed[V](table, ids)
{rest}
"""


@pytest.mark.parametrize(
    ("V", "b", "e", "table", "reduced"),
    [
        (7, "_x", "_y", "VE_y", ""),
        (6, "_x", "", "V_yE", "y"),
        (12, "", "", "V_yxE", "xy"),
        (12, "", "_y", "E_yV_x", "x"),
    ],
)
def test_embed(V: int, b: str, e: str, table: str, reduced: str) -> None:
    partial = f"(partialsum-{reduced})" if reduced else ""
    rest = f"y : B{b}LE{e} = all-reduce({reduced}) e\noutput y" if reduced else "output e"
    text = EMBED.format(V=V, b=b, e=e, table=table, partial=partial, rest=rest)
    layered.hold(text, {"x": 2, "y": 3})


def test_a_number_of_no_row_gives_zeros_wherever_the_rows_are() -> None:
    whole = EMBED.format(V=6, b="", e="", table="VE", partial="", rest="output e")
    split = EMBED.format(
        V=6, b="", e="", table="V_yE", partial="(partialsum-y)",
        rest="y : BLE = all-reduce(y) e\noutput y",
    )  # fmt: skip
    ids = np.arange(-15, 15).reshape(6, 5)
    for text in (whole, split):
        layered.hold(text, {"x": 1, "y": 3}, {"ids": ids})


def test_the_dims_of_a_lookup_stand_as_written() -> None:
    text = """
    dims B=6 L=3 V=7 E=4
    mesh x y
    input ids : B_xL int32
    weight table : VE_y
    e : LE_yB_x = embed[V](table, ids)
    output e
    """
    layered.hold(text, {"x": 3, "y": 2}, within=2e-2)


NORMS = """
dims B=6 L=1 H=7 E=5
mesh x y
dtype f32
input  x : B_xLE
input  u : HEB_y
weight s : E
weight b : E
weight r : HB
n1 = rmsnorm[E](x)
n2 = rmsnorm[E, eps=0.5](x, s)
n3 = rmsnorm[E](u, s)
n4 = rmsnorm[H](u, r)
n6 = layernorm[E](x)
n7 = layernorm[E](x, s)
n8 = layernorm[E, eps=0.1](u, s, b)
output n1, n2, n3, n4, n6, n7, n8
"""


def test_norms() -> None:
    layered.hold(NORMS, {"x": 2, "y": 3})


@pytest.mark.parametrize(("kept", "stored"), [("f32", "bf16"), ("bf16", "f32")])
def test_a_statistic_is_computed_in_f32_and_stored_as_it_says(kept: str, stored: str) -> None:
    text = f"""
    dims B=2 E=512
    mesh x
    dtype {kept}
    input x : B_xE
    n : B_xE {stored} = rmsnorm[E](x)
    p : B_xE {stored} = softmax[E](x)
    output n, p
    """
    layered.hold(text, {"x": 2}, within=1e-5 if stored == "f32" else 4e-3)


ROPE = """
dims B=6 L={L} K=2 Q=6
mesh x y
dtype f32
input  q  : B_xL_yKQ
input  u  : QB_xK
input  o  : BL int32
input  p  : B int32
input  m  : LB_x int32
r1 = rope[Q](q, p)
r2 = rope[Q, theta=100](q, m)
r3 = rope[Q](q, 3)
r4 = rope[Q](u, p)
r5 = rope[Q](u, 2)
r6 = rope[Q](q, o)
output r1, r2, r3, r4, r5, r6
"""


@pytest.mark.parametrize("L", [3, 6])
def test_rope_by_the_chips_own_places(L: int) -> None:
    places = {"p": [0, 1, 5, 9, 2, 40], "o": np.arange(6)[:, None] + np.arange(L)}
    layered.hold(ROPE.format(L=L), {"x": 2, "y": 3}, places)


def test_rope_of_a_partial_sum_is_one() -> None:
    text = """
    dims B=6 L=5 E=6 Q=4
    mesh x y
    dtype f32
    input  x : BLE_x
    input  p : B int32
    weight w : E_xQ
    q  : BLQ(partialsum-x) = x * w
    q1 : BLQ(partialsum-x) = rope[Q](q, p)
    q2 : BLQ(partialsum-x) = scale[Q](q1)
    y  : B_xLQ = reduce-scatter(x) q2
    output y
    """
    layered.hold(text, {"x": 2, "y": 1})


WRITE = """
dims B=6 L=3 M=6 K=2 Q=2
mesh x y z
dtype f32
input  k  : BLKQ
input  n  : {new}
input  p  : B int32
input  pk : {pos} int32
cache  c1 : B_xM_yK_zQ
cache  c2 : M_yB_xKQ
cache  c3 : KM_yxB_zQ
d1 = write[M](c1, k, p)
d2 = write[M](c2, k, 4)
d3 = write[M](c3, n, pk)
d4 = write[M](d1, k, 0)
output k
"""


@pytest.mark.parametrize(("new", "pos"), [("BKLQ", "KB"), ("QLKB_z", "B_zK"), ("LKBQ", "K")])
def test_what_is_written_lies_at_its_places_and_past_the_end_nowhere(new: str, pos: str) -> None:
    places = {"p": [0, 1, 2, 3, 5, 9], "pk": np.arange(-2, 10).reshape(2, 6)}
    if pos == "B_zK":
        places["pk"] = np.arange(-2, 10).reshape(6, 2)
    if pos == "K":
        places["pk"] = np.array([4, -1])
    text = WRITE.format(new=new, pos=pos)
    layered.hold(text, {"x": 2, "y": 3, "z": 1}, places)
    layered.hold(text, {"x": 1, "y": 3, "z": 2}, places)


SCORES = """
dims B=3 L={L} M={M} Q=6 N=6 R=25
mesh x y
dtype f32
input  q  : B{l}Q
input  k  : B{m}Q
input  p  : B int32
input  pl : BL int32
input  n  : B int32
s        : B{l}{m} = q * k
s1       = scale[Q](s)
s2       = scale[R](s)
c1       = causal[L, M](s1, p)
c2       = causal[L, M](s1, 2)
c3       = causal[L, M](s1, pl)
v1       = valid[M](s, n)
v2       = valid[M](s, 4)
{more}
output s2, c1, c2, c3, v1, v2{outputs}
"""


@pytest.mark.parametrize(
    ("L", "M", "l", "m", "more"),
    [
        (5, 7, "L", "M", True),
        (1, 6, "L", "M_xy", False),
        (6, 7, "L_yx", "M", True),
        (2, 3, "L_x", "M_y", False),
    ],
)
def test_scores_are_scaled_and_masked(L: int, M: int, l: str, m: str, more: bool) -> None:  # noqa: E741
    spelled = "a1 = softmax[M](c1)\na2 = softmax[M](v1)" if more else ""
    outputs = ", a1, a2" if more else ""
    text = SCORES.format(L=L, M=M, l=l, m=m, more=spelled, outputs=outputs)
    given = {"p": [0, 1, 4], "n": [0, 1, M], "pl": np.arange(3)[:, None] + np.arange(L)[::-1]}
    layered.hold(text, {"x": 2, "y": 3}, given)


def test_softmax_of_what_is_all_masked_is_no_nan() -> None:
    text = """
    dims B=4 M=7
    mesh x
    dtype bf16
    input s : B_xM
    input n : B int32
    v = valid[M](s, n)
    p = softmax[M](v)
    output p
    """
    module, function = emitted.module_of(read(text), {"x": 2})
    s, n = module.make_inputs(module.make_mesh())
    got = np.asarray(function(s, jax.device_put(np.zeros_like(n), n.sharding)), np.float32)
    np.testing.assert_allclose(got, 1 / 7, rtol=1e-2)


def test_the_size_of_a_split_dim_is_read_off() -> None:
    text = """
    dims B=3 L=4 Q=6 M=4
    mesh x y
    dtype f32
    input  q : BLQ_x
    s  : BL(partialsum-x) = sum[Q](q)
    s1 : BL(partialsum-x) = scale[Q](s)
    s2 : BL               = all-reduce(x) s1
    k  : BMQ_x            = rename[L -> M](q)
    t                     = scale[M](k)
    output s2, t
    """
    layered.hold(text, {"x": 3, "y": 1})
    module, function = emitted.module_of(read(text), {"x": 3, "y": 1})
    (q,) = module.make_inputs(module.make_mesh(), Q=12, L=5)
    s2, t = function(q)
    np.testing.assert_allclose(s2, np.sum(q, -1) / np.sqrt(12), atol=1e-5)
    np.testing.assert_allclose(t, np.asarray(q) / np.sqrt(5), atol=1e-5)


def test_a_lookup_in_a_table_of_its_own_for_each_is_refused() -> None:
    head = "dims B=4 L=2 V=8 E=4\nmesh x\ninput ids : BL int32\nweight t : BVE\n"
    _, _, message = one(f"{head}e = embed[V](t, ids)\noutput e\n")
    assert message == "ids has the dim B of t; a row is looked up whole"


# Arguments and sizes.


def test_whole_numbers_are_such_that_they_make_sense() -> None:
    text = """
    dims B=64 L=4 M=9 V=11 Q=2
    mesh x
    input ids : BL_x int32
    input pos : B_x int32
    input n   : B int32
    input far : B int32
    input any : B int32
    input q   : BLQ
    input s   : BLM
    weight table : VQ
    ids1 : BL = all-gather(x) ids
    pos1 : B  = all-gather(x) pos
    e = embed[V](table, ids1)
    r = rope[Q](q, pos1)
    u = rope[Q](q, far)
    c = causal[L, M](s, pos1)
    v = valid[M](c, n)
    w = any * 2
    output e, r, u, v, w
    """
    module, _ = emitted.module_of(read(text), {"x": 2})
    made = dict(zip(module.ARGUMENTS, module.make_inputs(module.make_mesh()), strict=True))
    ends = {name: (int(a.min()), int(a.max())) for name, a in made.items() if a.dtype == np.int32}
    assert ends == {"ids": (0, 10), "pos": (0, 5), "n": (1, 9), "far": (0, 7), "any": (-4, 3)}


def test_small_sizes_go_together() -> None:
    text = """
    dims B=512 L=2048 M=4096 N=2048 K=8 Q=128
    mesh x
    phase prefill : B=1
    phase decode : L=1 N=1
    input  q   : BLK_xQ
    input  pos : B int32
    cache  kc  : BM_xKQ
    k  : BLKQ  = all-gather(x) q
    k1 = rope[Q](k, pos)
    k2 = write[M](kc, k1, pos)
    r  = rename[L -> N](k1)
    output r
    """
    prefill, decode = sizes.small(read(text).passes, {"x": 3})
    assert prefill == {"B": 1, "L": 4, "M": 9, "N": 4, "K": 6, "Q": 4}
    assert decode == {"B": 4, "L": 1, "M": 9, "N": 1, "K": 6, "Q": 4}
    turned = read(text.replace("K_xQ", "KQ_x").replace("rope[Q]", "rope[K]"))
    assert sizes.multiples(turned.passes[0], {"x": 3})["K"] == 2


# Padding.

PADDED = """
dims B=6 padded 8  L=3 padded 4  M=7 padded 8  V=5 padded 6  E=5 padded 8  K=3 padded 4  Q=6
mesh x y
dtype f32
input ids : B_xL int32
input pos : B_x int32
weight table : V_yE
weight s  : E
weight b  : E
weight wk : EK_yQ
cache  kc : {cache}
e0 : B_xLE(partialsum-y) = embed[V](table, ids)
e  : B_xLE = all-reduce(y) e0
n  = rmsnorm[E](e, s)
m  = layernorm[E](n, s, b)
t  = softmax[E](m)
k  : B_xLK_yQ = m * wk
k1 = rope[Q](k, pos)
{rest}
output n, m, t{outputs}
"""
SOME_HEADS = """
k2 = write[M](kc, k1, pos)
a  : B_xLK_yM = k1 * k2
a1 = scale[E](a)
a2 = causal[L, M](a1, pos)
a3 = valid[M](a2, 6)
p  = softmax[M](a3)
o  : B_xLK_yQ = p * k2
"""
SOME_PLACES = """
k3 : BLK_yQ = all-gather(x) k1
k4 : BLKQ   = all-gather(y) k3
at : B      = all-gather(x) pos
k2 = write[M](kc, k4, at)
c1 = write[M](k2, k4, 5)
a  : BLKM_xy = k4 * c1
o  : BLKQ(partialsum-xy) = a * c1
r  : BLKQ = all-reduce(xy) o
"""


@pytest.mark.parametrize(
    ("cache", "rest", "outputs"),
    [
        ("B_xMK_yQ", SOME_HEADS, ", p, o"),
        ("BM_xyKQ", SOME_PLACES, ", r"),
    ],
)
def test_padding_has_no_part_in_it(cache: str, rest: str, outputs: str) -> None:
    """Whatever stands there; what leaves, caches too, has zeros."""
    text = PADDED.format(cache=cache, rest=rest, outputs=outputs)
    padded.hold(read(text), {"x": 2, "y": 2})
    assert emitted.module_of(read(text), {"x": 2, "y": 2})[0].main([]) == 0
