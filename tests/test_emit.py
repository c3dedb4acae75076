"""The emitted text: its names, its structure, and what it does as a script."""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from dataclasses import replace
from pathlib import Path

import emitted
import jax
import numpy as np
import pytest
import samples
from texts import read

from layoutc.codegen import names, spell
from layoutc.codegen.emit import emit
from layoutc.codegen.run import load, start_script
from layoutc.codegen.tree import Literal

MESH = {"x": 2, "y": 2, "z": 2}


def test_the_feedforward_layer_has_its_four_collectives_and_no_more() -> None:
    calls = Counter(
        node.func.attr
        for node in ast.walk(ast.parse(emit(read(samples.FFN, "ffn"), MESH)))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in {"all_gather", "psum_scatter", "psum", "all_to_all", "ppermute"}
    )
    assert calls == {"all_gather": 2, "psum_scatter": 2}


def test_reduce_scatter_over_x_and_no_all_reduce() -> None:
    kinds = emitted.collectives_in(read(samples.FFN), MESH)
    assert kinds["reduce-scatter", ("x",)] == 1
    assert not any(kind == "all-reduce" for kind, _ in kinds)


def test_a_line_stands_with_its_notation() -> None:
    text = emit(read(samples.FFN, "ffn"), MESH)
    line = next(line for line in text.splitlines() if line.strip().startswith("h1 = "))
    assert line.split("#")[1].strip() == "BLF_yzx"
    assert 'lax.psum_scatter(h, "x", scatter_dimension=2, tiled=True)' in line


def test_emission_is_deterministic_and_keeps_the_check_on() -> None:
    program = read(samples.BLOCKS)
    mesh = {"x": 2, "y": 2, "z": 1}
    assert emit(program, mesh) == emit(read(samples.BLOCKS), mesh)
    assert "check_vma" not in emit(program, mesh)
    assert max(map(len, emit(program, mesh).splitlines())) <= 100


def test_it_imports_jax_numpy_and_the_standard_library_alone() -> None:
    tree = ast.parse(emit(read(samples.MOVES), MESH))
    imported = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    imported |= {str(n.module) for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    roots = {name.split(".")[0] for name in imported}
    assert "layoutc" not in roots
    assert {"jax", "numpy"} <= roots


def test_keywords_and_the_modules_own_names_are_respelled() -> None:
    program = read(
        """
        dims B=4
        mesh x
        dtype f32
        input lambda : B_x
        input lambda_ : B_x
        input jnp : B_x
        product : B_x = lambda + lambda_
        class : B_x = product - jnp
        dtype1 : B_x = exp(class)
        output dtype1
        """,
        "lambda",
    )
    module, function = emitted.module_of(program, {"x": 2})
    arrays = module.make_inputs(module.make_mesh())
    a, b, c = map(np.asarray, arrays)
    np.testing.assert_allclose(function(*arrays), np.exp(a + b - c), rtol=1e-5)
    assert list(module.ARGUMENTS) == ["lambda", "lambda_", "jnp"]


@pytest.mark.parametrize(
    "stem",
    ["main", "2d-ws", 'a"""b', "x\ny", "", "print", "MESH", "P", "é", "_", "__init__", "narrow"],
)
def test_a_stem_is_made_an_identifier(stem: str) -> None:
    name = names.identifier(stem)
    assert name.isidentifier()
    assert name.isascii()
    assert name not in names.fixed_names()
    assert not hasattr(builtins, name)
    program = replace(read(samples.FUNCTIONS), name=stem)
    assert callable(getattr(load(emit(program, {"x": 1}), "stem"), name))


@pytest.mark.parametrize("text", ['"', "\\", "\n", "'", '"""', "plain"])
def test_a_string_is_read_back(text: str) -> None:
    assert ast.literal_eval(spell.expression(Literal(text))) == text


def test_one_output_is_an_array_and_several_are_a_tuple_then_the_caches() -> None:
    module, function = emitted.module_of(read(samples.FFN), MESH)
    assert isinstance(function(*module.make_inputs(module.make_mesh())), jax.Array)
    module, function = emitted.module_of(read(samples.BLOCKS), {"x": 2, "y": 1, "z": 2})
    outputs = function(*module.make_inputs(module.make_mesh()))
    assert [o.shape for o in outputs] == [(4, 2, 24), (4, 2, 24), (3, 4, 24)]


def test_labels_name_the_axes_of_the_mesh() -> None:
    module, _ = emitted.module_of(read(samples.BLOCKS), {"x": 2, "y": 3, "z": 1})
    assert module.MESH == {"data": 2, "model": 3, "z": 1}
    assert module.make_mesh().axis_names == ("data", "model", "z")


def test_values_depend_on_the_seed_and_not_on_the_mesh() -> None:
    program = read(samples.FFN)
    one, _ = emitted.module_of(program, {"x": 1, "y": 1, "z": 1})
    many, _ = emitted.module_of(program, {"x": 2, "y": 3, "z": 4})
    first = [np.asarray(a) for a in one.make_inputs(one.make_mesh(), seed=3)]
    second = [np.asarray(a) for a in many.make_inputs(many.make_mesh(), seed=3)]
    other = [np.asarray(a) for a in many.make_inputs(many.make_mesh(), seed=4)]
    for a, b, c in zip(first, second, other, strict=True):
        assert (a == b).all()
        assert not (a == c).any()
    assert abs(np.var(first[1]) * 24 - 1) < 0.1


def test_sizes_are_taken_and_refused() -> None:
    module, function = emitted.module_of(read(samples.FFN), MESH)
    mesh = module.make_mesh()
    assert function(*module.make_inputs(mesh, B=2, E=16)).shape == (2, 1, 16)
    with pytest.raises(ValueError, match="E=20 is not a multiple of 8"):
        module.make_inputs(mesh, E=20)
    with pytest.raises(ValueError, match="Z is not one of"):
        module.make_inputs(mesh, Z=8)
    with pytest.raises(ValueError, match="there is no phase decode, only main"):
        module.make_inputs(mesh, phase="decode")


def test_a_stack_is_as_long_as_repeat_says() -> None:
    module, _ = emitted.module_of(read(samples.BLOCKS), {"x": 2, "y": 1, "z": 2})
    arrays = module.make_inputs(module.make_mesh(), repeat=7)
    assert [a.shape[0] for a in arrays] == [4, 24, 7, 7, 7]


@pytest.mark.parametrize("dtype", ["f32", "bf16", "f16"])
def test_main_as_a_script_simulates_what_is_missing(tmp_path: Path, dtype: str) -> None:
    path = tmp_path / "ffn.py"
    path.write_text(emit(read(samples.FFN, "ffn"), {"x": 2, "y": 2, "z": 2}))
    script = start_script(path, ["--dtype", dtype, "--set", "B=8"])
    out, err = script.communicate(timeout=120)
    assert script.returncode == 0, err
    assert "simulating 8 on the CPU" in out
    assert "(max |a-b| / max |b|), median" in out


def test_main_says_1_when_values_differ_and_2_when_a_size_is_wrong(tmp_path: Path) -> None:
    text = emit(read(samples.FFN, "ffn"), {"x": 2, "y": 1, "z": 1})
    wrong = load(text.replace("g = jax.nn.gelu(h1)", "g = jax.nn.relu(h1)"), "wrong")
    assert wrong.main([]) == 1
    assert load(text, "right").main([]) == 0
    assert load(text, "right").main(["--set", "E=3"]) == 2


NARROW = """
dims B=8 E=8 F=8
mesh x
dtype bf16
input  x : BE_x {0}
weight w : E_xF {0}
h : BF(partialsum-x) f32 = x * w
y : BF_x f32 = reduce-scatter(x) h
z : BF_x {1} = cast(y)
v : BF_x = relu(z)
output v
"""


@pytest.mark.parametrize("dtype", ["f32", "bf16", "f16", "int8", "int32", "f8e4m3", "f8e5m2"])
def test_every_dtype_runs(dtype: str) -> None:
    program = read(NARROW.format("" if dtype == "bf16" else dtype, dtype), "narrow")
    assert emitted.module_of(program, {"x": 4})[0].main([]) == 0
