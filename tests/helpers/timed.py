"""A small model of one axis, timings of it, and what they would be with given constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from layoutc.dsl.check import Settings, check
from layoutc.dsl.parse import parse
from layoutc.dsl.program import Program
from layoutc.solver.hardware.reached import Reached
from layoutc.solver.serving.runs import Run, together
from layoutc.solver.serving.timings import Timing, read_timings

MODEL = """\
dims   B=8  L=1  M=1024  E=4096  F=16384  H=32  Q=128
mesh   x
input  ids : BLE?
input  pos : B? int32
x : BLE? = gelu(ids)
repeat 16 {
  weight wq   : EHQ!
  weight wk   : EQ?
  weight wo   : HQE!
  weight w_in : EF!
  weight w_out : FE!
  cache  kc   : BMQ?
  q  : BLHQ? = x * wq
  k  : BLQ?  = x * wk
  qr         = rope[Q, theta=10000](q, pos)
  kr         = rope[Q, theta=10000](k, pos)
  k1         = write[M](kc, kr, pos)
  s  : BLHM? = qr * k1
  p          = softmax[M](s)
  o  : BLHQ? = p * k1
  a  : BLE?  = o * wo
  h  : BLF?  = x * w_in
  g          = gelu(h)
  f  : BLE?  = g * w_out
  b          = a + f
  y  : BLE?  = x + b
  next x = y
}
output x -> ids
"""

HEAD = "model,phase,chips,batch,prompt,generate,context,attention,seconds"

ROWS = [
    *(f"small,decode,4,{batch},,8,1024,batch,1" for batch in (8, 32, 128, 512)),
    *(f"small,decode,4,{batch},,8,16384,batch,1" for batch in (16, 128, 512)),
    *(f"small,prefill,4,{batch},32,,32,heads,1" for batch in (1, 8, 64, 512)),
    *(f"small,prefill,4,{batch},4096,,4096,batch,1" for batch in (4, 16)),
    *(f"small,request,8,{batch},256,16,256,,1" for batch in (2, 16, 64)),
]


def timings(rows: Sequence[str] = ROWS) -> list[Timing]:
    """Rows as they are read; a second each."""
    found = read_timings("\n".join([HEAD, *rows]))
    return [one for one in found if isinstance(one, Timing)]


@cache
def program(name: str = "small") -> Program:
    """The model."""
    found = check(parse(MODEL, f"{name}.layout"), Settings())
    assert isinstance(found, Program), found
    return found


def measured(runs: Sequence[Run], known: Reached, noise: float = 0.0, seed: int = 0) -> list[Run]:
    """The runs as they would have been timed, each off by about so much."""
    off = np.exp(noise * np.random.default_rng(seed).standard_normal(len(runs)))
    seconds = together(runs).seconds(known) * off
    return [
        replace(one, timing=replace(one.timing, seconds=float(took)))
        for one, took in zip(runs, seconds, strict=True)
    ]
