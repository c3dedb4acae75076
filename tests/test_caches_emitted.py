"""Caches as they are emitted: attention over them, tokens one after another, stacks, memory."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

import emitted
import jax
import layered
import numpy as np
import pytest
import verified
from attention import attention
from texts import read

import layoutc
from layoutc.codegen.emit import emit
from layoutc.codegen.run import load

# Attention, in layouts of its own.

SPLIT = {
    "heads": attention(heads="xy", batch="z"),
    "batch": attention(batch="zxy", B=8, L=1, M=5, K=3),
    "context": attention(context="yxz", K=1),
    "all three": attention(batch="z", heads="x", context="y", L=5, M=6, K=2),
    "one request": attention(context="xy", heads="z", B=1, L=7, M=12, K=2),
}


@pytest.mark.parametrize("split", SPLIT)
def test_attention(split: str) -> None:
    layered.hold(SPLIT[split], {"x": 2, "y": 2, "z": 2})


def test_attention_in_bf16() -> None:
    text = attention(batch="z", heads="x", context="y", dtype="bf16")
    module, _ = emitted.module_of(read(text), {"x": 2, "y": 2, "z": 2})
    assert module.main([]) == 0


# Tokens that come one after another.

TOKENS = "mesh x y z\nphase six : L=6\nphase four : L=4\nphase two : L=2\nphase one : L=1"


@pytest.fixture(scope="module")
def decoder() -> ModuleType:
    text = attention(batch="z", heads="x", context="y", M=10, K=2).replace("mesh x y z", TOKENS)
    return load(emit(read(text).passes, {"x": 2, "y": 2, "z": 2}), "decoder")


@pytest.mark.parametrize("parts", [["four", "one", "one"], ["two", "two", "one", "one"]])
def test_one_pass_over_all_tokens_is_several_over_some(
    decoder: ModuleType, parts: Sequence[str]
) -> None:
    """Some places of the cache stay free; each sequence begins at a place of its own."""
    mesh = decoder.make_mesh()
    x, _, *weights, kc, vc = decoder.make_inputs(mesh, phase="six")
    first, caches = np.array([0, 1, 3, 4], np.int32), [np.asarray(kc), np.asarray(vc)]
    y, *after = decoder.six(x, first, *weights, kc, vc)
    pieces, done, step = [], 0, caches
    for part in parts:
        phase = decoder.called(part)
        tokens = phase.dims["L"]
        piece, *step = phase.run(x[:, done : done + tokens], first + done, *weights, *step)
        pieces.append(np.asarray(piece))
        done += tokens
    np.testing.assert_allclose(np.concatenate(pieces, 1), y, atol=1e-5)
    for got, wanted in zip(step, after, strict=True):
        np.testing.assert_allclose(got, wanted, atol=1e-5)


def test_positions_are_arguments_so_that_the_next_token_compiles_nothing(
    decoder: ModuleType, caplog: pytest.LogCaptureFixture
) -> None:
    x, pos, *weights, kc, vc = decoder.make_inputs(decoder.make_mesh(), phase="one")
    step, caches, compiled = decoder.called("one").run, [kc, vc], []
    step.clear_cache()
    for place in range(4):
        caplog.clear()
        first = jax.device_put(np.full_like(pos, place), pos.sharding)
        with jax.log_compiles(), caplog.at_level("WARNING"):
            _, *caches = step(x, first, *weights, *caches)
        compiled.append(any("Compiling" in record.message for record in caplog.records))
    assert compiled == [True, False, False, False]


# Stacks of layers.

STACK = """
dims B=4 L=2 M=8 E=6 K=2 Q=4
mesh x y z
dtype f32
input  x        : B_xLE
input  pos      : B_x int32
input  kc_stack : B_xLE
weight len      : E
x0 : B_xLE = kc_stack
x2 : B_xLE = x + x0
x1 : B_xLE = x2
repeat 3 {
weight wk   : EK_yQ
cache  kc   : B_xM_zK_yQ
cache  idle : E_y
cache  once : B_xM_zE
n  = rmsnorm[E](x1, len)
k  : B_xLK_yQ = n * wk
k1 = rope[Q](k, pos)
a  : B_xLK_yM_z = k1 * kc
k2 = write[M](kc, k1, pos)
k3 = write[M](k2, k, 7)
o  = write[M](once, n, pos)
b  : B_xLK_yM_z = k1 * k3
c  = a + b
d  = scale[Q](c)
e  = causal[L, M](d, pos)
m  = max[M](e)
m1 = all-reduce(z) m
f  = e - m1
g  = exp(f)
h  : B_xLE{partial}
i  = all-reduce(yz) h
j  = x1 + i
next x1 = j
}
output x1
"""
STACK = STACK.replace("{partial}", "(partialsum-yz) = g * vc").replace(
    "cache  idle", "weight vc   : M_zK_yE\ncache  idle"
)


def test_the_caches_of_a_repeat() -> None:
    """One is read before it is written, and twice written; one is never written, one never read."""
    layered.hold(STACK, {"x": 2, "y": 2, "z": 2}, {"pos": [0, 3, 6, 7]})
    module, function = emitted.module_of(read(STACK), {"x": 2, "y": 2, "z": 2})
    before = module.make_inputs(module.make_mesh(), repeat=5)
    _, _, idle, _ = function(*before)
    assert idle.shape == (5, 6)
    kept = [tensor.cache for tensor in module.ARGUMENTS.values()]
    assert [array.is_deleted() for array in before] == kept


def test_the_text_of_a_block_with_caches() -> None:
    text = emit(read(STACK), {"x": 2, "y": 2, "z": 2})
    assert "@functools.partial(jax.jit, donate_argnums=(6, 7, 8))" in text
    assert "(x1, kc, once), _ = lax.scan(" in text
    assert text.count("kc = lax.dynamic_index_in_dim(kc_stack_, layer, keepdims=False)") == 2
    assert text.count("dynamic_index_in_dim") == 4
    assert max(map(len, text.splitlines())) <= 100


def test_caches_lie_where_they_lay() -> None:
    """The whole stack is never held twice: what a pass takes beside its arguments is less."""
    module, function = emitted.module_of(read(STACK), {"x": 2, "y": 2, "z": 2})
    arrays = module.make_inputs(module.make_mesh(), M=1024, repeat=8)
    usage = function.lower(*arrays).compile().memory_analysis()
    shards = [a.addressable_shards[0].data.nbytes for a in arrays]
    caches = sum(n for n, t in zip(shards, module.ARGUMENTS.values(), strict=True) if t.cache)
    assert usage.alias_size_in_bytes == caches
    assert usage.temp_size_in_bytes < caches / 2


def test_what_is_predicted_is_what_runs() -> None:
    found = verified.verdict(read(STACK), {"x": 2, "y": 2, "z": 2})
    assert found.equal
    assert found.memory.exact
    assert found.values is not None
    assert found.values.sizes["repeat"] == 2


def test_a_loaded_program_hands_its_caches_on() -> None:
    text = attention(heads="x", batch="y").replace("mesh x y z", "mesh x=2 y=2 z=1")
    program = layoutc.compile_text(text, 4, name="attention").load()
    *arrays, kc, vc = program.make_inputs()
    first, *caches = program(*arrays, kc, vc)
    second, *_ = program(*arrays, *caches)
    assert kc.is_deleted()
    assert program.returned == ("y", "kc", "vc")
    assert program.out_shardings["kc"].spec == program.in_shardings["kc"].spec
    np.testing.assert_allclose(first, second, atol=1e-6)
