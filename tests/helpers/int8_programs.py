"""Programs with int8 weights: layouts of a feedforward layer, a stack, padding, and odd ones."""

from __future__ import annotations

CUBE = {"x": 2, "y": 2, "z": 2}

STATIONARY = """
dims   B=4  L=2  E=24  F=48
mesh   x y z
dtype  f32
input  x     : BLE_xyz
weight w_in  : E_xF_yz int8
weight w_out : F_yzE_x int8
x1 : BLE_x                = all-gather(yz) x
h  : BLF_yz(partialsum-x) = x1 * w_in
h1 : BLF_yzx              = reduce-scatter(x) h
g  : BLF_yzx              = gelu(h1)
g1 : BLF_yz               = all-gather(x) g
p  : BLE_x(partialsum-yz) = g1 * w_out
y  : BLE_xyz              = reduce-scatter(yz) p
output y -> x
"""

GATHERED = """
dims   B=8  L=2  E=24  F=48
mesh   x y z
dtype  f32
input  x     : B_xyzLE
weight w_in  : E_xF_yz int8
weight w_out : F_yzE_x int8
w1 : EF      = all-gather(xyz) w_in
h  : B_xyzLF = x * w1
g  : B_xyzLF = gelu(h)
w2 : FE      = all-gather(xyz) w_out
y  : B_xyzLE = g * w2
output y -> x
"""

STACK = """
dims   B=4  L=2  E=24  F=48  D=2
mesh   x y z
dtype  f32
input  x    : BLE_x
weight last : E_x int8
repeat 3 {
weight w_in  : DE_xF_yz int8
weight w_out : F_yzDE_x int8
weight norm : E_x
h  : DBLF_yz(partialsum-x) = x * w_in
h1 : DBLF_yz               = all-reduce(x) h
p  : BLE_x(partialsum-yz)  = h1 * w_out
p1 : BLE_x                 = all-reduce(yz) p
y  : BLE_x                 = p1 * norm
next x = y
}
s : BL(partialsum-x) = x * last
t : BL               = all-reduce(x) s
output x, t
"""

PADDED = """
dims   B=4  L=2  E=24  H=13 padded 16  Q=4
mesh   x y z
dtype  f32
input  x  : BLE_x
weight wq : E_xH_yzQ int8
weight wo : H_yzQE_x int8
q  : BLH_yzQ(partialsum-x) = x * wq
q1 : BLH_yzQ               = all-reduce(x) q
a  : BLH_yzQ               = exp(q1)
p  : BLE_x(partialsum-yz)  = a * wo
y  : BLE_x                 = all-reduce(yz) p
output q1, y
"""

ODD = """
dims   B=8  E=16  F=32  V=8
mesh   x y z
dtype  f32
input  x        : BE
input  w_scales : E_x
weight w        : E_xF_y int8
weight unused   : EV int8
weight one      : E int8
weight a        : EF_y int8
weight b        : FV_x int8
n  : BE_x                 = x * w_scales
s  : B                    = x * one
c  : EV_x(partialsum-y)   = a * b
c1 : EV_x                 = all-reduce(y) c
h  : BF_y(partialsum-x)   = x * w
h1 : BF_y                 = all-reduce(x) h
output s, n, c1, h1
"""
"""Names that clash, a weight that nothing uses, one scale for all, two weights in one product."""

EVERY = {
    "stationary": STATIONARY,
    "gathered": GATHERED,
    "stack": STACK,
    "padded": PADDED,
    "odd": ODD,
}

HOLES = """
dims   B=16  L=1  E=64  F=256
mesh   x y z
input  x : BLE?
repeat 3 {
weight w_in  : EF! int8
weight w_out : FE! int8
h : BLF? = x * w_in
g        = gelu(h)
y : BLE? = g * w_out
next x = y
}
output x
"""
