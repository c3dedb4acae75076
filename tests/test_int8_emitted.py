"""Int8 weights run: values against NumPy, collectives and memory as predicted, pairs everywhere."""

from __future__ import annotations

from typing import Any

import dense
import emitted
import jax
import numpy as np
import pytest
from int8_programs import CUBE, EVERY, HOLES, STACK, STATIONARY
from texts import read
from verified import pass_of, verdict

import layoutc
from layoutc.codegen.body import arguments
from layoutc.codegen.emit import emit
from layoutc.dsl.program import Program
from layoutc.dsl.scales import scaled
from layoutc.solver.hardware.catalogue import load_machine
from layoutc.solver.solve import solve


def dequantized(program: Program, arrays: tuple[Any, ...]) -> dict[str, np.ndarray[Any, Any]]:
    """The arguments by name, each int8 weight as its numbers times its scales."""
    dims, found = scaled(program), {}
    for declare, array in zip(arguments(program), arrays, strict=True):
        if declare.name not in dims:
            found[declare.name] = np.asarray(array)
            continue
        numbers, scales = map(np.asarray, array)
        assert numbers.dtype == np.int8
        assert scales.dtype == np.float32
        names = declare.type.shape.names
        gone = [i - len(names) for i, d in enumerate(names) if d not in dims[declare.name]]
        found[declare.name] = numbers * np.expand_dims(scales.astype(np.float64), gone)
    return found


def useful(program: Program, array: Any, name: str) -> Any:
    dims = program.types[name].shape.names
    return array[(..., *(slice(program.useful.get(d)) for d in dims))]


@pytest.mark.parametrize("text", EVERY.values(), ids=EVERY)
def test_it_is_the_dequantized_product(text: str) -> None:
    program = read(text)
    module, function = emitted.module_of(program, CUBE)
    arrays = module.make_inputs(module.make_mesh())
    whole = dequantized(program, arrays)
    wanted = dense.run(program, {n: useful(program, a, n) for n, a in whole.items()})
    for results in (
        function(*arrays),
        module.reference(*module.whole(module.called(None), 0, np.float32, {})),
    ):
        for output, got, want in zip(
            program.outputs, jax.tree.leaves(results), wanted, strict=True
        ):
            gap = np.abs(np.asarray(useful(program, got, output.name), np.float64) - want)
            assert np.max(gap) < 1e-5 * np.max(np.abs(want))
    assert emitted.collectives_in(program, CUBE) == emitted.collectives_of(program)


@pytest.mark.parametrize("text", EVERY.values(), ids=EVERY)
def test_predicted_is_what_runs(text: str) -> None:
    """With garbage in the padding, of numbers and of scales, where there is some."""
    found = verdict(read(text), CUBE)
    assert found.agrees, found
    assert found.values is not None
    assert found.values.tolerance == 1e-5
    rows = {row.expected.define.name: row for row in found.matched.rows}
    assert all(rows[name].dtype == "s8" for name in {"w1", "w2"} & rows.keys())


def test_what_the_search_fills_is_what_runs() -> None:
    """At sizes where a repetition's weights, which XLA widens on the CPU, would show as memory."""
    plan = solve(read(HOLES.replace("E=64  F=256", "E=512  F=2048"), "stack"), 8, load_machine())
    found = verdict(plan.only.program, plan.mesh)
    assert found.agrees
    assert found.memory.aside.copies >= 4 * 512 * 2048 // 8


@pytest.mark.parametrize("flag", [[], ["--dtype", "bf16"], ["--dtype", "f16"]])
def test_main_with_dtypes(flag: list[str]) -> None:
    module, _ = emitted.module_of(read(STACK), CUBE)
    assert module.main(flag) == 0


def test_dtype_leaves_int8_weights_alone() -> None:
    module, _ = emitted.module_of(read(STATIONARY), CUBE)
    x, (numbers, scales), _ = module.make_inputs(module.make_mesh(), dtype=module.FLOATS["bf16"])
    assert [str(a.dtype) for a in (x, numbers, scales)] == ["bfloat16", "int8", "float32"]
    assert module.NARROWEST == ()


def test_numbers_use_all_of_int8_and_weights_keep_activations_as_large_as_they_are() -> None:
    program = read(STATIONARY.replace("E=24  F=48", "E=96  F=192"))
    module, _ = emitted.module_of(program, CUBE)
    arrays = module.make_inputs(module.make_mesh(), seed=1)
    numbers, scales = map(np.asarray, arrays[1])
    assert (numbers.min(), numbers.max()) == (-127, 127)
    assert len(set(scales.tolist())) == 192
    weight = dequantized(program, arrays)["w_in"]
    assert np.var(weight) == pytest.approx(1 / 96, rel=0.1)


def test_scales_are_where_specs_say() -> None:
    module, _ = emitted.module_of(read(STACK), CUBE)
    axes = (None, None, "x", ("y", "z"))
    assert module.SPECS["w_in"] == (module.P(*axes), module.P())
    arrays = dict(zip(module.ARGUMENTS, module.make_inputs(module.make_mesh()), strict=True))
    numbers, scales = arrays["w_in"]
    assert (numbers.shape, scales.shape) == ((3, 2, 24, 48), (3, 2, 48))
    assert scales.sharding.is_fully_replicated


def test_without_int8_weights_a_module_speaks_of_none() -> None:
    text = emit(read(STATIONARY.replace(" int8", "")), CUBE)
    assert "with_scales" not in text
    assert "with_scales" in emit(read(STATIONARY), CUBE)


# From Python.


def test_a_plan_has_pairs(tmp_path: Any) -> None:
    plan = layoutc.compile_text(STATIONARY, mesh=CUBE)
    program = plan.load()
    arrays = dict(zip(program.names, program.make_inputs(), strict=True))
    whole = jax.tree.map(np.asarray, arrays)
    placed = jax.device_put(whole, plan.in_shardings)
    assert jax.tree.map(lambda a: a.sharding, placed) == plan.in_shardings
    structs = plan.weights["w_in"]
    assert [(s.shape, str(s.dtype)) for s in structs] == [((24, 48), "int8"), ((48,), "float32")]
    np.testing.assert_array_equal(program(**placed), program(**arrays))
    assert plan.costs.traffic == pass_of(read(STATIONARY), CUBE).prices.memory.traffic_bytes
