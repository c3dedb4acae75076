"""What the tests of a layer's operations share: tensors in many layouts, and the last error."""

from __future__ import annotations

from checking import wrong

from layoutc.dsl.errors import Diagnostic

HEAD = """\
dims   B=8 L=4 M=64 E=32 F=64 V=128 K=4 G=2 Q=16
mesh   x y z
input  ids   : BL int32
input  ids_x : B_xL int32
input  pos   : B int32
input  pos_x : B_x int32
input  many  : BMVQ int32
weight table : VE
weight t_xy  : V_xyE
weight t_e   : VE_x
weight g     : E
weight g_x   : E_x
weight g_yx  : E_yx
weight w     : E_xF
input  a     : BLE
input  a_x   : BLE_x
input  a_xy  : B_zLE_xy
input  q     : BLKGQ
input  q_x   : BLK_yGQ_x
input  k     : BLKQ
input  k_x   : B_xLK_yQ
input  k_l   : BL_xKQ
input  k_f32 : BLKQ f32
cache  kc    : BMKQ
cache  kc_x  : B_xMK_yQ
cache  kc_m  : BM_xKQ
input  s     : BLKGM
input  s_x   : B_yLKGM_x
p : BLF(partialsum-x) = a_x * w
m = max[E](a_x)
"""


def source(text: str) -> str:
    """A file in which a test's lines follow on the head's."""
    return f"{HEAD}{text}\noutput a\n"


def last(text: str) -> Diagnostic:
    """The last of a file's errors."""
    return wrong(source(text))[-1]


def second(text: str) -> str:
    """The name that is defined where the second place stands, "" where there is none."""
    error = last(text)
    if not error.notes:
        return ""
    ((place, _),) = error.notes
    line = source(text).splitlines()[place.line - 1]
    return line.partition(":" if ":" in line else "=")[0].split()[-1]
