"""The catalogue of models, and their files: right, canonical, and as large as published."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import layoutc
from layoutc.codegen.run import load
from layoutc.dsl.check import check
from layoutc.dsl.formatter import format_file
from layoutc.dsl.models.architecture import Architecture
from layoutc.dsl.models.catalogue import UnknownModel, catalogue, model_named
from layoutc.dsl.models.layout import Spelled, spelled
from layoutc.dsl.models.unsaid import unsaid
from layoutc.dsl.operation import operands
from layoutc.dsl.parse import parse
from layoutc.dsl.printer import print_program
from layoutc.dsl.program import Declare, Define, Program, Repeat

ROOT = Path(__file__).parent.parent

every_model = pytest.mark.parametrize("name", catalogue())


@cache
def made(name: str) -> Spelled:
    return spelled(model_named(name))


def anonymous(program: Program) -> list[str]:
    """The lines of a program, sorted, in which names are numbered as they come."""
    numbers: dict[str, str] = {}
    lines = []
    for line in print_program(program).splitlines():
        words = line.replace("(", " ( ").replace(")", " ) ").replace(",", " , ").split()
        for name in words:
            if name in program.types:
                numbers.setdefault(name, f"name{len(numbers)}")
        lines.append(" ".join(numbers.get(word, word) for word in words))
    return sorted(lines)


# The catalogue.


@every_model
def test_its_weights_are_as_many_as_published(name: str) -> None:
    assert made(name).parameters == pytest.approx(model_named(name).published, rel=0.01)


@every_model
def test_its_file_is_right_and_canonical(name: str) -> None:
    text = made(name).text
    tree = parse(text, f"{name}.layout")
    program = check(tree)
    assert isinstance(program, Program), program
    assert program == made(name).program
    assert format_file(tree) == text
    assert max(map(len, text.splitlines())) <= 100


@every_model
def test_it_says_where_its_figures_are_from_and_what_is_left_out(name: str) -> None:
    model, head = model_named(name), made(name).text.split("\n\n")[0]
    comment = " ".join(line.removeprefix("# ") for line in head.splitlines())
    assert model.title in comment
    assert model.source in comment
    assert all(f"Not expressed: {clause}." in comment for clause in unsaid(model))


def test_weights_counted_by_hand() -> None:
    """GPT-2 small, d = 768: a table of 50257 words and 1024 places; 12 layers of 4·d² in attention
    and 8·d² in feedforward, 4·d + (4·d + d) biases and two norms of 2·d; and a last norm."""
    d = 768
    layer = 4 * d**2 + 8 * d**2 + 4 * d + 5 * d + 4 * d
    assert made("gpt2").parameters == (50257 + 1024) * d + 12 * layer + 2 * d


def test_llamas_file_is_the_example() -> None:
    """Written by a person, with other names."""
    path = ROOT / "examples" / "llama.layout"
    example = check(parse(path.read_text(), path.name))
    assert isinstance(example, Program)
    assert anonymous(made("llama-3.2-1b").program) == anonymous(example)


@pytest.mark.parametrize(
    ("name", "attention", "heads"),
    [
        ("palm-540b", "multi-query", (48, 1, 256)),
        ("mt-nlg-530b", "multi-head", (128, 128, 160)),
        ("llama-3.1-405b", "grouped", (128, 8, 128)),
        ("mistral-small-24b", "grouped", (32, 8, 128)),  # and not 5120/32 = 160
        ("qwen2-7b", "grouped", (28, 4, 128)),
        ("gemma-2b", "multi-query", (8, 1, 256)),
        ("gemma-7b", "multi-head", (16, 16, 256)),  # and not 3072/16 = 192
        ("gpt2-xl", "multi-head", (25, 25, 64)),
    ],
)
def test_heads(name: str, attention: str, heads: tuple[int, int, int]) -> None:
    a = model_named(name).architecture
    assert a.attention == attention
    assert (a.heads, a.kv_heads, a.head_size) == heads


def weights(program: Program) -> dict[str, str]:
    """The dims of each weight."""
    return {
        item.name: "".join(item.type.shape.names)
        for item, _ in program.walk()
        if isinstance(item, Declare) and item.kind == "weight"
    }


def test_biases_are_weights() -> None:
    assert {name: dims for name, dims in weights(made("qwen2-7b").program).items()
            if name[0] == "b"} == {"bq": "KGQ", "bk": "KQ", "bv": "KQ"}  # fmt: skip
    megatron = weights(made("mt-nlg-530b").program)
    assert {name for name in megatron if name[0] == "b"} == {
        "bq", "bk", "bv", "bo", "b_in", "b_out",
    }  # fmt: skip
    assert {name for name in megatron if name.endswith("_bias")} == {"a_bias", "f_bias", "o_bias"}
    assert not [name for name in weights(made("llama-2-7b").program) if name[0] == "b"]


def test_a_tied_table_serves_twice() -> None:
    assert "logits : BLV? = xn * table\n" in made("llama-3.2-1b").text
    assert "logits : BLV? = xn * w_logits\n" in made("llama-3.1-8b").text
    assert "w_logits" not in weights(made("llama-3.2-1b").program)


def test_palms_branches_share_a_norm_and_its_logits_are_scaled() -> None:
    text = made("palm-540b").text
    assert text.count("layernorm[E") == 2
    assert "logits        = scale[E](l)\n" in text
    assert " = a + d\n" in text


def test_what_gemma_does_to_scores_and_logits_is_spelled_out() -> None:
    """√4608 is 67.88; of the scores' size, 144, the root is 12."""
    lines = [" ".join(line.split()) for line in made("gemma-2-27b").text.splitlines()]
    for line in ("x = e * 67.88225099390856 # the square root of E",
                 "s1 = s / 12 # the square root of 144", "s2 = s1 / 50", "s3 = tanh(s2)",
                 "s4 = s3 * 50", "l1 = l / 30", "l2 = tanh(l1)", "logits = l2 * 30"):  # fmt: skip
        assert line in lines
    assert sum(" rmsnorm[E" in line for line in lines) == 5
    assert "scale[Q](s)" in made("gemma-2-9b").text, "256 is what its head has"


def test_large_matrices_have_no_copies() -> None:
    """From ten billion weights on; vectors may have some."""
    large = made("qwen2-72b").program.types
    assert {str(large[name].shape) for name in ("wq", "w_down", "table")} == {
        "EKGQ!", "FE!", "VE!",
    }  # fmt: skip
    assert {str(large[name].shape) for name in ("bq", "bk", "a_scale")} == {"KGQ?", "KQ?", "E?"}
    assert "!" not in made("gemma-7b").text


def test_learned_positions_are_looked_up() -> None:
    text = made("gpt2").text
    assert "placed : BLE? = embed[P](places, at)\n" in text
    assert "rope" not in text


def test_a_prompt_fits_the_places_that_there_are() -> None:
    prefill, decode = made("gpt2").program.passes
    assert (prefill.sizes["L"], prefill.sizes["M"], decode.sizes["M"]) == (256, 256, 1024)


def test_names_that_are_in_no_catalogue() -> None:
    for name, said in {
        "lama-3-8b": "there is no model called lama-3-8b; did you mean llama-3-8b?",
        "qwen2-70b": "there is no model called qwen2-70b; did you mean qwen2-7b?",
        "zzz": "there is no model called zzz; layoutc model lists those there are",
        "mixtral-8x7b": "mixtral-8x7b is a mixture of experts, and the notation can't say which "
        "token goes to which of them",
    }.items():
        with pytest.raises(UnknownModel) as error:
            model_named(name)
        assert str(error.value) == said


# Architectures.


@pytest.mark.parametrize(
    "change",
    [
        {"layers": 0},
        {"kv_heads": 5},
        {"head_size": 63},
        {"norms": 1},
        {"parallel": True, "norms": 4},
        {"positions": "learned"},
        {"positions": "learned", "places": 1023},
        {"places": 8192},
    ],
)
def test_no_architecture_breaks_an_invariant(change: dict[str, Any]) -> None:
    architecture = model_named("llama-3-8b").architecture
    assert replace(architecture, layers=2).layers == 2
    with pytest.raises(ValueError, match=r"\w"):
        replace(architecture, **change)


def variants() -> dict[str, Architecture]:
    """Small ones: each choice, in company that no model of the catalogue has it in."""
    base = replace(
        model_named("llama-3-8b").architecture,
        layers=2, d_model=64, d_ff=128, heads=8, kv_heads=4, head_size=8, vocabulary=32, context=64,
    )  # fmt: skip
    everywhere = frozenset({"qkv", "o", "ffn", "norms", "logits"})
    return {
        "gated_with_biases": replace(base, norm="layernorm", biases=everywhere),
        "two_norms_side_by_side": replace(base, parallel=True, head_norms=True, tied=True),
        "learned_and_scaled": replace(
            base, positions="learned", places=66, embedding_scaled=True, gated=False, norms=4
        ),
        "no_positions": replace(base, positions="alibi", kv_heads=1, score_size=9.0, score_cap=5.0),
        "one_head": replace(base, heads=1, kv_heads=1, gated=False, activation="relu"),
    }


@pytest.mark.parametrize("name", variants())
def test_other_architectures_are_programs_too(name: str) -> None:
    model = replace(model_named("llama-3-8b"), name=name, architecture=variants()[name])
    found = spelled(model)
    assert format_file(parse(found.text, name)) == found.text
    (block,) = (item for item in found.program.items if isinstance(item, Repeat))
    assert block.count == 2
    used = {
        operand
        for item, _ in found.program.walk()
        if isinstance(item, Define)
        for operand in operands(item.operation)
    }
    assert set(weights(found.program)) <= used, "every weight is used"


# What is emitted.


def test_gemma_2_computes_what_its_reference_does(capsys: pytest.CaptureFixture[str]) -> None:
    """Caps, four norms and scaled embeddings, on four chips in a row, so that the search is short:
    at small sizes the emitted program gives the reference's values, and hands its caches over."""
    text = made("gemma-2-2b").text.replace("mesh   x y z", "mesh   x")
    plan = layoutc.compile_text(text, name="gemma", mesh={"x": 4}, repeat=2)
    module = load(plan.source, "gemma")
    assert module.main(["--dtype", "f32"]) == 0
    errors = [line.split("error ")[1].split()[0] for line in capsys.readouterr().out.splitlines()
              if "error " in line]  # fmt: skip
    assert len(errors) == 3
    assert all(float(error) <= 1e-5 for error in errors)
