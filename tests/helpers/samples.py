"""Hand-written explicit programs that between them have every operation and every move."""

from __future__ import annotations

FFN = """
dims   B=4  L=1  E=24  F=48
mesh   x y z
dtype  f32
input  x     : BLE_xyz
weight w_in  : E_xF_yz
weight w_out : F_yzE_x
x1 : BLE_x                = all-gather(yz) x
h  : BLF_yz(partialsum-x) = x1 * w_in
h1 : BLF_yzx              = reduce-scatter(x) h
g  : BLF_yzx              = gelu(h1)
g1 : BLF_yz               = all-gather(x) g
p  : BLE_x(partialsum-yz) = g1 * w_out
y  : BLE_xyz              = reduce-scatter(yz) p
output y -> x
"""

BLOCKS = """
dims   B=4  L=2  E=24  F=24
mesh   x:data y:model z
dtype  f32
input  x : BLE_xyz
weight s : E
repeat 3 {
weight w_in  : E_xF_yz
weight w_out : F_yzE_x
cache  c : BE_xyz
x1 : BLE_x                = all-gather(yz) x
h  : BLF_yz(partialsum-x) = x1 * w_in
h1 : BLF_yzx              = reduce-scatter(x) h
g  : BLF_yzx              = silu(h1)
g1 : BLF_yz               = all-gather(x) g
p  : BLE_x(partialsum-yz) = g1 * w_out
q  : BLE_xyz              = reduce-scatter(yz) p
r  : BLE_xyz              = q * s
t  : BLE_xyz              = r + c
y  : BLE_xyz              = x + t
next x = y
}
y1 : BLE_x = all-gather(yz) x
output x, y1
"""

NO_WEIGHTS = """
dims B=6 E=12
mesh x y
dtype f32
input a : B_xE_y
input b : B_xE_y
old : B_xE_y = a
repeat 5 {
c : B_xE_y = a * 0.5
d : B_xE_y = c + b
next a = d
next b = c
}
output a, b, old
"""

MOVES = """
dims B=60 E=60 H=60
mesh x y z
dtype f32
input a : B_xE_zyH
input b : BEH
a1 : BEH               = all-gather(xyz) a
a2 : B_xEH_yz          = all-to-all(yz) a
a3 : B_xyzEH           = all-to-all(yz) a2
a4 : B_yzxEH           = permute(xyz) a3
a5 : B_yEH_xz          = all-to-all(xz) a4
b1 : BE_zxH            = slice(xz) b
b2 : BH(partialsum-xz) = sum[E](b1)
b3 : BH_zx             = reduce-scatter(xz) b2
b4 : B_zxH             = all-to-all(xz) b3
b5 : BH(partialmax-xz) = max[E](b1)
b6 : BH(partialmax-x)  = all-reduce(z) b5
b7 : BH                = all-reduce(x) b6
b8 : BH(partialsum-xz) = mean[E](b1)
b9 : BH                = all-reduce(xz) b8
output a1, a5, b4, b7, b9
"""

ARITHMETIC = """
dims B=12 E=12 F=6
mesh x y
dtype f32
input  a : B_xE_y
input  b : E_y
input  w : FE
input  v : EB
c  : B_xE_y = a + b
d  : B_xE_y = c - v
s  : E_y    = sigmoid(b)
e  : E_yB_x = d / s
f  : B_xE_y = e * a
g  : B_xE_yF = f * w
h  : B_xF(partialsum-y) = f * w
i  : B_xF(partialsum-y) = h * -0.5
j  : B_xF(partialsum-y) = neg(i)
k  : B_xF(partialsum-y) = j + h
l  : B_xF_y = reduce-scatter(y) k
m  : B_xF_y = 1 - l
n  : F_y(partialsum-x) = mean[B](m)
o  : F_y = all-reduce(x) n
p  : B_xE_yF = square(g)
q  : B_x(partialsum-y) = sum[E, F](p)
r  : B_x = all-reduce(y) q
t  : B_x bf16 = cast(r)
u  : B_x f32 = cast(t)
output m, o, r
"""

FUNCTIONS = """
dims B=6
mesh x
dtype f32
input a : B_x
b : B_x = sigmoid(a)
c1 : B_x = relu(a)
c2 : B_x = gelu(a)
c3 : B_x = gelu_erf(a)
c4 : B_x = silu(a)
c5 : B_x = tanh(a)
c6 : B_x = exp(a)
c7 : B_x = exp2(a)
c8 : B_x = log(b)
c9 : B_x = sqrt(b)
d1 : B_x = rsqrt(b)
d2 : B_x = square(a)
d3 : B_x = neg(a)
d4 : B_x = abs(a)
output c1, c2, c3, c4, c5, c6, c7, c8, c9, d1, d2, d3, d4
"""
