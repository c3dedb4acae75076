"""Feedforward layers in plain JAX, of no mesh and no layout: for `layoutc verify --against`.

    layoutc verify examples/ffn_2d_weight_stationary.layout --chips 64 --against mlp:feedforward

Each takes the arguments of a `.layout` file of this folder, in its order.
"""

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P


def feedforward(x, w_in, w_out):
    """`ffn*.layout`."""
    h = jnp.einsum("ble,ef->blf", x, w_in)
    g = jax.nn.gelu(h)
    return jnp.einsum("blf,fe->ble", g, w_out)


def pinned(x, w_in, w_out):
    """`ffn_2d_weight_stationary.layout`, with a hint: h is held as the file holds its h1.

    Between the products that is the best layout there is. But the hint says nothing of how to get
    there, and the partitioner would rather hold the weights in another way.
    """
    h = jnp.einsum("ble,ef->blf", x, w_in)
    h = jax.lax.with_sharding_constraint(h, P(None, None, ("y", "z", "x")))
    g = jax.nn.gelu(h)
    return jnp.einsum("blf,fe->ble", g, w_out)


def stack(x, w_in, w_out):
    """`stack.layout`: a layer after another, each with its residual."""

    def layer(x, weights):
        return x + feedforward(x, *weights), None

    return jax.lax.scan(layer, x, (w_in, w_out))[0]


def swiglu(x, w_gate, w_up, w_down):
    """`swiglu.layout`."""
    act = jax.nn.silu(x @ w_gate)
    return (act * (x @ w_up)) @ w_down


def fused(x, w_gate, w_up, w_down):
    """The same with one product for two, as it is often written to spare a call.

    Side by side, the two weights are one that is twice as wide, and is cut in other places.
    """
    both = x @ jnp.concatenate([w_gate, w_up], axis=1)
    gate, up = jnp.split(both, 2, axis=-1)
    return (jax.nn.silu(gate) * up) @ w_down
