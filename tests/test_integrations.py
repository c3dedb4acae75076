"""Orbax checkpoints are restored straight into a plan's shards; Flax's rules give its layouts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import flax.linen as nn
import jax
import numpy as np
import orbax.checkpoint as ocp
import pytest
from flax import nnx

import layoutc

FFN = Path(__file__).parent.parent / "examples" / "ffn.layout"
B, E, F = 32, 128, 512


@pytest.fixture(scope="module")
def plan() -> layoutc.Compiled:
    """Both weights are split over all axes, E and F each in one way."""
    plan = layoutc.compile(FFN, 16, dtype="f32", B=B, E=E, F=F)
    assert plan.logical_axis_rules() == (("E", "x"), ("F", ("y", "z")))
    return plan


def whole(plan: layoutc.Compiled, seed: int = 0) -> dict[str, Any]:
    """Every argument unsharded."""
    arrays = plan.load().make_inputs(seed)
    return {n: np.asarray(a) for n, a in zip(plan.arguments, arrays, strict=True)}


def close(one: Any, other: Any) -> None:
    largest = np.max(np.abs(other))
    np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=0, atol=1e-5 * largest)


# Orbax.


def restored(folder: Path, weights: dict[str, Any], target: dict[str, Any]) -> dict[str, Any]:
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(folder / "weights", weights)
    with ocp.StandardCheckpointer() as checkpointer:
        found: dict[str, Any] = checkpointer.restore(folder / "weights", target)
        return found


def transposed(weights: dict[str, Any]) -> dict[str, Any]:
    """On another mesh, of other axes, split otherwise."""
    mesh = jax.make_mesh((8, 2), ("a", "b"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
    spec = jax.sharding.PartitionSpec(("b", "a"))
    return jax.device_put(weights, jax.sharding.NamedSharding(mesh, spec))


@pytest.mark.parametrize("saved", [dict, transposed], ids=["whole", "sharded"])
def test_a_checkpoint_is_restored_into_shards(
    saved: Any, plan: layoutc.Compiled, tmp_path: Path
) -> None:
    arrays = whole(plan)
    x = arrays.pop("x")
    weights = restored(tmp_path, saved(arrays), plan.weights)
    assert weights.keys() == plan.weights.keys()
    for name, array in weights.items():
        assert array.sharding == plan.in_shardings[name]
        shape = plan.weights[name].sharding.shard_shape(array.shape)
        assert shape == (64, 64)
        for shard in array.addressable_shards:
            assert shard.data.shape == shape
            np.testing.assert_array_equal(shard.data, arrays[name][shard.index])
    program = plan.load()
    close(
        program(jax.device_put(x, plan.in_shardings["x"]), **weights),
        program.reference(x, **arrays),
    )


def test_a_stack_is_restored_into_shards(tmp_path: Path) -> None:
    path = FFN.with_name("stack.layout")
    plan = layoutc.compile(path, 8, dtype="f32", repeat=3, B=16, E=64, F=256)
    arrays = whole(plan)
    weights = restored(tmp_path, {n: arrays[n] for n in plan.weights}, plan.weights)
    assert weights["w_in"].shape == (3, 64, 256)
    assert all(a.sharding == plan.in_shardings[name] for name, a in weights.items())
    program = plan.load()
    x = jax.device_put(arrays["x"], plan.in_shardings["x"])
    close(program(x, **weights), program.reference(*arrays.values()))


# Flax.


class Layer(nn.Module):
    """The feedforward layer, its kernels' dims called after the notation's."""

    @nn.compact
    def __call__(self, x: Any) -> Any:
        h = _dense(F, ("E", "F"), "w_in")(x)
        return _dense(E, ("F", "E"), "w_out")(nn.gelu(h))


def _dense(features: int, dims: tuple[str, str], name: str) -> nn.Dense:
    init = nn.with_logical_partitioning(nn.initializers.lecun_normal(), dims)
    return nn.Dense(features, use_bias=False, kernel_init=init, name=name)


def kernels(variables: Any) -> dict[str, Any]:
    return {name: leaf["kernel"] for name, leaf in variables["params"].items()}


def test_a_linen_module_has_the_plans_shardings(plan: layoutc.Compiled) -> None:
    program, rules = plan.load(), plan.logical_axis_rules()
    layer, key = Layer(), jax.random.key(0)
    x = jax.device_put(jax.random.normal(key, (B, 1, E)), plan.in_shardings["x"])
    specs = nn.get_partition_spec(jax.eval_shape(layer.init, key, x))
    shardings = nn.logical_to_mesh_sharding(specs, program.mesh, rules)
    weights = {name: plan.in_shardings[name] for name in plan.weights}
    assert kernels(shardings) == weights
    variables = nn.unbox(jax.jit(layer.init, out_shardings=shardings)(key, x))
    made = kernels(variables)
    assert {name: array.sharding for name, array in made.items()} == weights
    close(program(x, **made), layer.apply(variables, x))


def test_rules_hold_in_flaxs_context(plan: layoutc.Compiled) -> None:
    with nn.logical_axis_rules(plan.logical_axis_rules()):
        assert nn.logical_to_mesh_axes(("E", "F")) == plan.in_shardings["w_in"].spec
        # The first dim of a stack, as `nn.scan` calls it, has no rule and is not split.
        assert tuple(nn.logical_to_mesh_axes(("layers", "E", "F"))) == (None, "x", ("y", "z"))


def test_an_nnx_module_has_the_plans_shardings(plan: layoutc.Compiled) -> None:
    init = nnx.with_partitioning(nnx.initializers.lecun_normal(), ("E", "F"))
    rules = nnx.logical_axis_rules(plan.logical_axis_rules())
    with jax.set_mesh(plan.load().mesh), rules:
        made = nnx.Linear(E, F, use_bias=False, kernel_init=init, rngs=nnx.Rngs(0))
    assert made.kernel.get_value().sharding == plan.in_shardings["w_in"]
