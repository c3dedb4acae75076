"""Programs as they are served: int8 weights, heads with room to be divided, caches stored once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from served import EXAMPLES, WRITTEN, example
from texts import read

from layoutc.dsl.models.catalogue import catalogue, model_named
from layoutc.dsl.models.layout import spelled
from layoutc.dsl.printer import print_program
from layoutc.dsl.program import Declare, Program, Repeat
from layoutc.solver.serving.variants import padded, sized, spread, with_weights


def model(name: str) -> Program:
    return spelled(model_named(name)).program


def declared(program: Program, kind: str) -> dict[str, Declare]:
    return {
        item.name: item
        for item, _ in program.walk()
        if isinstance(item, Declare) and item.kind == kind
    }


def dtypes(program: Program) -> dict[str, str]:
    return {name: item.type.dtype for name, item in declared(program, "weight").items()}


# int8.


def test_only_the_matrices_of_layers_are_stored_in_int8() -> None:
    """Not the table, nor the logits' matrix, nor what norms multiply by."""
    found = dtypes(with_weights(model("llama-3-8b"), "int8"))
    matrices = {name for name, dtype in found.items() if dtype == "int8"}
    assert matrices == {"wq", "wk", "wv", "wo", "w_gate", "w_up", "w_down"}
    assert {found[name] for name in found.keys() - matrices} == {"bf16"}


def test_biases_stay_as_they_are() -> None:
    found = dtypes(with_weights(model("qwen2-7b"), "int8"))
    assert found["wq"] == "int8"
    assert {dtype for name, dtype in found.items() if not name.startswith("w")} == {"bf16"}


LINES = {name.split("-")[0]: name for name in catalogue()}
"""A model of each line."""


@pytest.mark.parametrize("name", LINES.values())
def test_a_model_in_int8_can_be_printed_and_read(name: str) -> None:
    found = replace(with_weights(model(name), "int8"), name="int8")
    assert read(print_program(found), "int8") == found


@pytest.mark.parametrize("stem", [*WRITTEN, "palm_layer", "encoder_layer", "stack"])
def test_an_example_in_int8_can_be_printed_and_read(stem: str) -> None:
    """Without a block, all weights that are multiplied are the layer's. What is gathered before it
    is multiplied comes in int8 too."""
    program = example(stem, L=64)
    found = replace(with_weights(program, "int8"), name="int8")
    assert read(print_program(found), "int8") == found
    assert "int8" in dtypes(found).values()
    assert all(dtype == "int8" for name, dtype in dtypes(found).items() if name.startswith("w"))


def test_bf16_is_the_program_itself() -> None:
    program = model("palm-8b")
    assert with_weights(program, "bf16") is program


# Heads.


@pytest.mark.parametrize(
    ("name", "chips", "heads"),
    [
        ("palm-540b", 16, {}),
        ("palm-540b", 64, {"H": (48, 64)}),
        ("palm-540b", 128, {"H": (48, 64)}),
        ("palm-540b", 1, {}),
        ("llama-3-70b", 8, {}),
        ("llama-3-70b", 64, {}),
        ("llama-3.1-405b", 256, {}),
        # 8 groups of 3: 24 heads go on 2, 4 and 8 chips. On 16, 32 do, on 64 as well.
        ("llama-3.2-3b", 2, {}),
        ("llama-3.2-3b", 8, {}),
        ("llama-3.2-3b", 16, {"G": (3, 4)}),
        ("llama-3.2-3b", 64, {"G": (3, 4)}),
        # 8 groups of 5, 40 heads: 48 are a fifth more, 64 would be more than a third.
        ("qwen2.5-14b", 2, {}),
        ("qwen2.5-14b", 16, {"G": (5, 6)}),
        ("qwen2.5-14b", 64, {}),
        # 12 heads: 16 are a third more.
        ("gpt2", 8, {"H": (12, 16)}),
    ],
)
def test_heads_take_the_room_that_chips_divide(
    name: str, chips: int, heads: dict[str, tuple[int, int]]
) -> None:
    found = padded(model(name), chips)
    assert {d: (size, found.dims[d]) for d, size in found.useful.items()} == heads


def test_what_a_file_pads_is_left_alone() -> None:
    program = read((EXAMPLES / "palm_layer.layout").read_text(), "palm_layer")
    assert program.useful == {"H": 48}
    assert padded(program, 128) is program


def test_a_program_without_heads_is_left_alone() -> None:
    program = example("stack")
    assert padded(program, 7) is program


# Caches.


CACHES = """\
dims  B=4 L=1 M=8 Q=4
mesh  x y
input q : BLQ?
cache open   : BMQ?
cache begun  : B_xMQ?
cache once   : BMQ!
cache split  : B_xM_yQ
s : BLM? = q * open
t : BLM? = q * begun
u : BLM? = q * once
v : BLM? = q * split
st = s + t
uv = u + v
a  = st + uv
output a
"""


def test_only_what_is_open_of_a_cache_is_spread() -> None:
    """What is said of it stays; so do activations."""
    program = read(CACHES)
    found = spread(program)
    shapes = {name: str(item.type.shape) for name, item in declared(found, "cache").items()}
    assert shapes == {"open": "BMQ!", "begun": "B_xMQ!", "once": "BMQ!", "split": "B_xM_yQ"}
    for name, held in found.types.items():
        if name not in shapes:
            assert held == program.types[name]
    assert spread(found) == found


def test_caches_of_a_block_are_spread_too() -> None:
    found = spread(model("llama-3-8b"))
    (block,) = (item for item in found.items if isinstance(item, Repeat))
    caches = [item for item in block.body if isinstance(item, Declare) and item.kind == "cache"]
    assert {str(cache.type.shape) for cache in caches} == {"BMKQ!"}


def test_explicit_programs_have_nothing_to_spread() -> None:
    program = example(WRITTEN[0])
    assert spread(program) == program


# Sizes.


def test_sizes_that_a_program_has() -> None:
    program = example("swiglu")
    found = sized(program, B=3, L=5, M=7)
    assert (found.sizes["B"], found.sizes["L"]) == (3, 5)
    assert "M" not in found.dims


def test_a_size_takes_the_place_of_phases() -> None:
    found = sized(model("palm-8b"), B=3, L=5, M=7)
    assert found.phases == ()
    assert found.passes == (found,)
