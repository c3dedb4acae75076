"""A plan on devices: its shardings, its shapes, its callables; its layouts as Flax's rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import samples

import layoutc

FFN = Path(__file__).parent.parent / "examples" / "ffn.layout"


@pytest.fixture(scope="module")
def plan() -> layoutc.Compiled:
    return layoutc.compile(FFN, 16, dtype="f32", B=16, E=64, F=256)


@pytest.fixture(scope="module")
def blocks() -> layoutc.Compiled:
    """A stack of weights, a cache, labels on axes, two outputs."""
    return layoutc.compile_text(samples.BLOCKS, name="blocks", mesh={"x": 2, "y": 2, "z": 1})


def close(one: Any, other: Any) -> None:
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        largest = np.max(np.abs(b))
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=0, atol=1e-5 * largest)


def test_the_program_is_its_reference(plan: layoutc.Compiled) -> None:
    program = plan.load()
    arrays = program.make_inputs(seed=3)
    named = dict(zip(program.names, arrays, strict=True))
    expected = program.reference(*map(np.asarray, arrays))
    close(program(*arrays), expected)
    close(program(arrays[0], w_out=named["w_out"], w_in=named["w_in"]), expected)
    assert program.functions == {"main": program.function}
    assert dict(program.mesh.shape) == plan.mesh
    assert repr(program).startswith("<ffn on 16 cpu devices, mesh x=")


def test_what_was_jitted_stays_so(plan: layoutc.Compiled) -> None:
    assert plan.load().function is plan.load().function


def test_arguments_are_each_taken_once(plan: layoutc.Compiled) -> None:
    program = plan.load()
    x, w_in, w_out = program.make_inputs()
    for arrays, named in (((x,), {}), ((x, w_in, w_out), {"x": x}), ((x, w_in), {"w": w_out})):
        with pytest.raises(TypeError, match="ffn takes x, w_in, w_out, each once"):
            program(*arrays, **named)


def test_inputs_have_the_sizes_that_are_asked_for(plan: layoutc.Compiled) -> None:
    x, *_ = plan.load().make_inputs(dtype=jnp.bfloat16, B=32)
    assert (x.shape, x.dtype) == ((32, 1, 64), jnp.bfloat16)
    with pytest.raises(ValueError, match="Q is not one of B, L, E, F"):
        plan.load().make_inputs(Q=3)


def test_a_dict_of_arrays_is_laid_out(plan: layoutc.Compiled) -> None:
    generator = np.random.default_rng(0)
    whole = {
        name: generator.normal(size=struct.shape).astype(struct.dtype)
        for name, struct in plan.arguments.items()
    }
    assert list(plan.in_shardings) == ["x", "w_in", "w_out"]
    arrays = jax.device_put(whole, plan.in_shardings)
    for name, array in arrays.items():
        assert array.sharding == plan.in_shardings[name]
        assert array.addressable_shards[0].data.shape == array.sharding.shard_shape(array.shape)
    program = plan.load()
    output = program(**arrays)
    close(output, program.reference(*whole.values()))
    assert output.sharding.is_equivalent_to(plan.out_shardings["y"], output.ndim)


def test_it_is_lowered_without_arrays(plan: layoutc.Compiled) -> None:
    done = plan.load().function.lower(*plan.arguments.values()).compile()
    (taken, _), structs = done.input_shardings, plan.arguments.values()
    for sharding, struct in zip(taken, structs, strict=True):
        assert sharding.is_equivalent_to(struct.sharding, len(struct.shape))


def test_stacks_caches_and_labels(blocks: layoutc.Compiled) -> None:
    spec = jax.sharding.PartitionSpec
    assert list(blocks.arguments) == ["x", "s", "w_in", "w_out", "c"]
    assert list(blocks.weights) == ["s", "w_in", "w_out"]
    assert blocks.weights["w_in"].shape == (3, 24, 24)
    assert blocks.in_shardings["w_in"].spec == spec(None, "data", ("model", "z"))
    assert list(blocks.out_shardings) == ["x", "y1", "c"]
    assert blocks.mesh == {"x": 2, "y": 2, "z": 1}
    program = blocks.load()
    assert program.mesh.axis_names == ("data", "model", "z")
    outputs = program(*program.make_inputs())
    for output, sharding in zip(outputs, blocks.out_shardings.values(), strict=True):
        assert output.sharding.is_equivalent_to(sharding, output.ndim)


def test_devices_can_be_given(plan: layoutc.Compiled) -> None:
    last = jax.devices()[-16:]
    assert set(plan.load(last).mesh.devices.flat) == set(last)
    with pytest.raises(layoutc.WrongCall, match="JAX has 1 cpu device; to simulate 16") as caught:
        plan.load(last[:1])
    assert "XLA_FLAGS=--xla_force_host_platform_device_count=16" in str(caught.value)
    assert "jax.config.update('jax_num_cpu_devices', 16)" in str(caught.value)


def test_more_chips_than_devices() -> None:
    plan = layoutc.compile(FFN, 256)
    with pytest.raises(ValueError, match="ffn is for 256 chips and JAX has 64 cpu devices"):
        _ = plan.in_shardings


# Flax's rules, which need no Flax.


def test_rules_are_of_the_weights_or_of_what_is_named(blocks: layoutc.Compiled) -> None:
    plan = layoutc.compile(FFN, 64)
    assert plan.logical_axis_rules() == (("E", "x"), ("F", ("y", "z")))
    assert plan.logical_axis_rules("x") == (("B", None), ("L", None), ("E", ("x", "y", "z")))
    assert blocks.logical_axis_rules("w_in") == (("E", "data"), ("F", ("model", "z")))


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (["w_in", "x"], "E is held in two ways, in w_in : E_xF_yz and in x : BLE_xyz"),
        (["w"], "ffn has no w; it has x, w_in, w_out"),
        (["h"], r"h : BLF_yz\(partialsum-x\) is a partial sum"),
    ],
)
def test_rules_that_can_not_be(names: list[str], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        layoutc.compile(FFN, 64).logical_axis_rules(*names)
