"""A model served as it would be: prompts in one by one, each handed to a place of a running batch,
then token after token; held against a forward pass in NumPy over each whole sequence."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
import serving
from hosts import by_hand, run

import layoutc
from layoutc.codegen.run import load

Array = np.ndarray[Any, Any]

MODEL = """\
dims   B={B}  L=1  M=40  E={E}  F=60  K={K}  G=6  Q=6  V={V}
mesh   {mesh}
dtype  f32
phase  prefill : B=1  L=12  M=32
phase  decode  : weight=16

input  ids     : BL? int32
input  pos     : B? int32
weight table   : VE?
weight o_scale : E?

x : BLE? = embed[V](table, ids)
repeat 2 {{
  weight a_scale : E?
  weight wq      : EKGQ?
  weight wk      : EKQ?
  weight wv      : EKQ?
  weight wo      : KGQE?
  weight f_scale : E?
  weight w_gate  : EF?
  weight w_up    : EF?
  weight w_down  : FE?
  cache  kc      : BMKQ?
  cache  vc      : BMKQ?
  n           = rmsnorm[E, eps=1e-5](x, a_scale)
  q  : BLKGQ? = n * wq
  k  : BLKQ?  = n * wk
  v  : BLKQ?  = n * wv
  qr          = rope[Q, theta=100](q, pos)
  kr          = rope[Q, theta=100](k, pos)
  k1          = write[M](kc, kr, pos)
  v1          = write[M](vc, v, pos)
  s  : BLKGM? = qr * k1
  s1          = scale[Q](s)
  s2          = causal[L, M](s1, pos)
  p           = softmax[M](s2)
  o  : BLKGQ? = p * v1
  a  : BLE?   = o * wo
  xa          = x + a
  m           = rmsnorm[E, eps=1e-5](xa, f_scale)
  g  : BLF?   = m * w_gate
  u  : BLF?   = m * w_up
  gs          = silu(g)
  h           = gs * u
  f  : BLE?   = h * w_down
  y  : BLE?   = xa + f
  next x = y
}}
xn            = rmsnorm[E, eps=1e-5](x, o_scale)
logits : BLV? = xn * table
output logits
"""

CASES = {
    "two heads of keys on four chips": {"mesh": "x=2 y=4", "B": 4, "E": 24, "K": 2, "V": 56},
    "one head of keys on three by two": {"mesh": "x=3 y=2", "B": 6, "E": 18, "K": 1, "V": 42},
}


@pytest.fixture(scope="module", params=CASES)
def source(request: pytest.FixtureRequest) -> str:
    """The emitted module of a case."""
    return layoutc.compile_text(MODEL.format(**CASES[request.param]), name="model").source


def forward(weights: Mapping[str, Array], ids: Sequence[int]) -> Array:
    """The logits behind each token of one sequence, in float64 and without a cache."""

    def normed(x: Array, scale: Array) -> Array:
        return x / np.sqrt(np.mean(x**2, -1, keepdims=True) + 1e-5) * scale

    def turned(x: Array) -> Array:
        half = x.shape[-1] // 2
        angle = np.arange(len(x))[:, None] * 100.0 ** (-np.arange(half) / half)
        angle = angle.reshape(len(x), *[1] * (x.ndim - 2), half)
        both = (x[..., :half] + 1j * x[..., half:]) * np.exp(1j * angle)
        return np.concatenate([both.real, both.imag], -1)

    x = weights["table"][list(ids)]
    for layer in range(len(weights["wq"])):
        w = {name: array[layer] for name, array in weights.items() if name not in OUTSIDE}
        n = normed(x, w["a_scale"])
        q = turned(np.einsum("le,ekgq->lkgq", n, w["wq"]))
        k = turned(np.einsum("le,ekq->lkq", n, w["wk"]))
        v = np.einsum("le,ekq->lkq", n, w["wv"])
        scores = np.einsum("lkgq,mkq->kglm", q, k) / np.sqrt(q.shape[-1])
        scores = np.where(np.tri(len(ids), dtype=bool), np.exp(scores), 0)
        p = scores / scores.sum(-1, keepdims=True)
        x = x + np.einsum("kglm,mkq,kgqe->le", p, v, w["wo"])
        m = normed(x, w["f_scale"])
        gate = m @ w["w_gate"]
        x = x + (gate / (1 + np.exp(-gate)) * (m @ w["w_up"])) @ w["w_down"]
    logits: Array = normed(x, weights["o_scale"]) @ weights["table"].T
    return logits


OUTSIDE = ("table", "o_scale")


def hold(source: str, served: Sequence[tuple[Sequence[int], Array]]) -> None:
    """Every token's logits are those of the forward pass over all tokens up to it."""
    module = load(source, "whole")
    dims = module.PHASES["decode"].dims
    arrays = module.whole(module.PHASES["decode"], 0, np.float32, dims)
    weights = {n: np.asarray(a, np.float64) for n, a in zip(module.ARGUMENTS, arrays, strict=True)}
    for name in ("ids", "pos", "kc", "vc"):
        del weights[name]
    lengths = [serving.PROMPT + steps * serving.STEPS for steps in (2, 1)]
    assert [len(logits) for _, logits in served] == lengths
    for ids, logits in served:
        wanted = forward(weights, ids[:-1])
        assert np.max(np.abs(logits - wanted)) <= 1e-5 * np.max(np.abs(wanted))
        assert list(ids[serving.PROMPT :]) == list(np.argmax(wanted, -1)[serving.PROMPT - 1 :])


def test_what_is_served_is_the_model(source: str, caplog: pytest.LogCaptureFixture) -> None:
    """The second prompt comes in two chunks, into caches that the first one has left behind."""
    with jax.log_compiles(), caplog.at_level("WARNING"):
        served = serving.serve(load(source, "served"))
    hold(source, [(request.ids, np.stack(request.logits)) for request in served])
    compiled = re.findall(r"Finished XLA compilation of jit\((\w+)\)", caplog.text)
    # Prefill once for whole prompts and once for chunks; then nothing is compiled any more.
    assert [compiled.count(f) for f in ("prefill", "decode", "hand_over")] == [2, 1, 1]


def test_two_hosts_serve_the_same(source: str, tmp_path: Path) -> None:
    file, out = tmp_path / "model.py", tmp_path / "served.npz"
    file.write_text(source)
    chips = int(np.prod(list(load(source, "size").MESH.values())))
    ended = run(Path(serving.__file__), by_hand(2), chips // 2, [str(file), str(out)])
    assert [host.status for host in ended] == [0, 0], ended[0].err
    with np.load(out) as found:
        hold(source, [(found[f"ids{i}"].tolist(), found[f"logits{i}"]) for i in (0, 1)])
