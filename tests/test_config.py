"""Hugging Face configurations: what is read of right ones, and what is said of wrong ones.

The files in `data/configs` were written after the published ones, with the keys that say what a
model computes.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from layoutc.dsl.errors import Diagnostic, Span
from layoutc.dsl.models.architecture import Architecture, Model
from layoutc.dsl.models.catalogue import model_named
from layoutc.dsl.models.config import read_config
from layoutc.dsl.models.layout import spelled
from layoutc.dsl.models.unsaid import unsaid

CONFIGS = Path(__file__).parent / "data" / "configs"

LLAMA = {
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 8,
    "vocab_size": 512,
}


def model(text: str) -> Model:
    found = read_config(text, "mine", "mine.json")
    assert isinstance(found, Model), found
    return found


def published(name: str) -> Model:
    return model((CONFIGS / f"{name}.json").read_text())


def changed(**keys: Any) -> Architecture:
    """Of the small Llama, with other keys."""
    return model(json.dumps({**LLAMA, **keys})).architecture


def wrong(text: str) -> list[Diagnostic]:
    found = read_config(text, "mine", "mine.json")
    assert isinstance(found, list)
    return found


def said(**keys: Any) -> list[str]:
    """What is wrong with the small Llama with other keys."""
    return [error.message for error in wrong(json.dumps({**LLAMA, **keys}))]


# What is right.


@pytest.mark.parametrize(
    "name",
    ["llama-2-7b", "llama-3.1-8b", "llama-3.2-1b", "mistral-7b", "mistral-small-24b", "qwen2-7b",
     "gemma-7b", "gemma-2-27b", "gpt2"],
)  # fmt: skip
def test_a_configuration_is_the_model_of_the_catalogue(name: str) -> None:
    """The reader and the catalogue agree. Both were written by hand, so that this shows a slip
    in one of them, and not a figure that is wrong in both."""
    assert published(name).architecture == model_named(name).architecture


@pytest.mark.parametrize(
    ("name", "heads", "weights"),
    [
        ("falcon-7b", (71, 1, 64), 6.92e9),
        ("falcon-40b", (128, 8, 64), 41.3e9),
        ("gemma-3-4b", (8, 4, 256), 3.88e9),
        ("gpt-j-6b", (16, 16, 256), 6_050_882_784),
        ("opt-6.7b", (32, 32, 128), 6_658_473_984),
        ("phi-2", (32, 32, 80), 2.78e9),
        ("phi-3-mini", (32, 32, 96), 3.82e9),
        ("pythia-6.9b", (32, 32, 128), 6_857_302_016),
        ("qwen3-8b", (32, 8, 128), 8.19e9),
        ("santacoder", (16, 1, 128), 1.12e9),
        ("starcoder2-3b", (24, 2, 128), 3.03e9),
    ],
)
def test_other_families_have_as_many_weights_as_published(
    name: str, heads: tuple[int, int, int], weights: float
) -> None:
    found = published(name)
    a = found.architecture
    assert (a.heads, a.kv_heads, a.head_size) == heads
    assert spelled(found).parameters == pytest.approx(weights, rel=0.005)


def test_all_configurations_are_read_here() -> None:
    text = Path(__file__).read_text()
    assert all(f'"{path.stem}"' in text for path in CONFIGS.glob("*.json"))


def test_layers_in_which_norms_and_branches_are_placed_otherwise() -> None:
    placed = {
        name: (published(name).architecture.parallel, published(name).architecture.norms)
        for name in ("falcon-7b", "falcon-40b", "pythia-6.9b", "gpt-j-6b", "gemma-3-4b", "phi-2")
    }
    assert placed == {
        "falcon-7b": (True, 1),
        "falcon-40b": (True, 2),
        "pythia-6.9b": (True, 2),
        "gpt-j-6b": (True, 1),
        "gemma-3-4b": (False, 4),
        "phi-2": (True, 1),
    }


def test_a_head_is_as_said_else_a_share_of_the_model() -> None:
    assert changed().head_size == 8
    assert changed(head_dim=None).head_size == 8
    assert changed(head_dim=32).head_size == 32


def test_heads_of_keys_are_as_many_as_of_queries_unless_said() -> None:
    assert changed().kv_heads == 8
    assert changed().attention == "multi-head"
    assert changed(num_key_value_heads=None).kv_heads == 8
    mistral = {**LLAMA, "model_type": "mistral", "num_attention_heads": 16}
    assert model(json.dumps(mistral)).architecture.kv_heads == 8, "as its own code has it"
    null = {**mistral, "num_key_value_heads": None}
    assert model(json.dumps(null)).architecture.kv_heads == 16
    assert changed(num_key_value_heads=2).attention == "grouped"
    assert changed(num_key_value_heads=1).attention == "multi-query"


def test_tied_embeddings_follow_the_model_type() -> None:
    assert not changed().tied
    assert changed(tie_word_embeddings=True).tied
    around = {"model_type": "llava", "tie_word_embeddings": True, "text_config": LLAMA}
    assert model(json.dumps(around)).architecture.tied, "said around it"
    assert published("gemma-7b").architecture.tied
    assert published("gpt2").architecture.tied
    assert not published("gpt-j-6b").architecture.tied


@pytest.mark.parametrize(
    ("called", "in_the_notation"),
    [("silu", "silu"), ("gelu", "gelu_erf"), ("gelu_new", "gelu"), ("gelu_pytorch_tanh", "gelu"),
     ("relu", "relu")],
)  # fmt: skip
def test_activations(called: str, in_the_notation: str) -> None:
    assert changed(hidden_act=called).activation == in_the_notation


def test_gemma_takes_the_tanh_form_whatever_it_says() -> None:
    """`hidden_act` is "gelu" in its file, and `hidden_activation` null."""
    assert published("gemma-7b").architecture.activation == "gelu"


def test_biases() -> None:
    assert changed().biases == set()
    assert changed(attention_bias=True).biases == {"qkv", "o"}
    assert changed(mlp_bias=True).biases == {"ffn"}
    assert published("qwen2-7b").architecture.biases == {"qkv"}
    assert published("falcon-7b").architecture.biases == {"norms"}
    assert published("phi-2").architecture.biases == {"qkv", "o", "ffn", "norms", "logits"}


def test_rotary_positions() -> None:
    assert changed().theta == 10000
    assert changed(rope_theta=500000.0).theta == 500000
    assert changed(rope_parameters={"rope_theta": 1e6, "rope_type": "default"}).theta == 1e6
    assert changed(rope_scaling={"type": "yarn", "factor": 4.0}).rope_scaling == "yarn"
    assert changed(rope_scaling={"rope_type": "default"}).rope_scaling == ""


def test_a_window_that_leaves_no_token_out_is_none() -> None:
    mistral = {**LLAMA, "model_type": "mistral", "max_position_embeddings": 4096}
    sized = {size: model(json.dumps({**mistral, "sliding_window": size})) for size in (1024, 4096)}
    assert [one.architecture.window for one in sized.values()] == [1024, 0]
    assert published("qwen2-7b").architecture.window == 0, "it is switched off"


def test_layers_with_a_window_are_counted() -> None:
    gemma = json.loads((CONFIGS / "gemma-2-27b.json").read_text())
    assert model(json.dumps(gemma)).architecture.window_layers == 23
    kinds = ["sliding_attention", "full_attention", "full_attention"]
    again = model(json.dumps({**gemma, "num_hidden_layers": 3, "layer_types": kinds}))
    assert again.architecture.window_layers == 1


def test_qwens_first_layers_have_no_window() -> None:
    qwen = json.loads((CONFIGS / "qwen2-7b.json").read_text())
    windowed = {**qwen, "use_sliding_window": True, "sliding_window": 4096, "max_window_layers": 21}
    found = model(json.dumps(windowed)).architecture
    assert (found.window, found.window_layers) == (4096, 28 - 21)
    every = model(json.dumps({**windowed, "max_window_layers": 28})).architecture
    assert (every.window, every.window_layers) == (0, 0)


def test_what_the_notation_lacks_is_named() -> None:
    assert unsaid(published("qwen2-7b")) == ()
    assert unsaid(published("pythia-6.9b")) == (
        "rotary positions turn 0.25 of a head; here they turn all of it",
    )
    window, scaling, norms, around, theta = unsaid(published("gemma-3-4b"))
    assert window.startswith("in 29 of 34 layers a token sees the last 1,024 alone; here")
    assert scaling == "rotary positions are rescaled for long contexts, by linear; not here"
    assert norms == "norms multiply by one more than the published weights: add 1 to them"
    assert around == "what is not text is taken in by parts that are not written here"
    assert theta == "rotary positions have theta=10000 in the layers with a window"


def test_falcon_with_alibi_has_no_positions() -> None:
    falcon = {**json.loads((CONFIGS / "falcon-7b.json").read_text()), "alibi": True}
    found = model(json.dumps(falcon))
    assert unsaid(found) == (
        "scores are lowered by distance (ALiBi); here tokens have no positions",
    )
    assert "rope[" not in spelled(found).text


# What is wrong.


def test_all_errors_have_their_places() -> None:
    text = """{
  "model_type": "llama",
  "hidden_size": 64, "intermediate_size": -3,
  "num_attention_heads": "8",
  "num_hidden_layers": 2.5,
  "hidden_act": "silus",
  "rms_norm_eps": 0,
  "tie_word_embeddings": 1
}"""
    assert wrong(text) == [
        Diagnostic("vocab_size is missing", Span(1, 1, 2), '"vocab_size": ...'),
        Diagnostic(
            "intermediate_size is -3, not a whole number from 1 up", Span(3, 43, 45)
        ),
        Diagnostic("num_attention_heads is '8', not a whole number from 1 up", Span(4, 26, 29)),
        Diagnostic("num_hidden_layers is 2.5, not a whole number from 1 up", Span(5, 24, 27)),
        Diagnostic(
            "hidden_act is 'silus', which is not known", Span(6, 17, 24), "did you mean silu?"
        ),
        Diagnostic("rms_norm_eps is 0, not a number from 1e-30 to 1", Span(7, 19, 20)),
        Diagnostic("tie_word_embeddings is 1, not true or false", Span(8, 26, 27)),
    ]  # fmt: skip


def test_an_error_in_a_nested_configuration_is_there() -> None:
    text = """{
  "model_type": "llava",
  "text_config": {
    "model_type": "llama", "hidden_size": 4096
  }
}"""
    errors = wrong(text)
    assert {error.span for error in errors} == {Span(3, 18, 19)}
    assert [error.message for error in errors] == [
        f"{key} is missing"
        for key in ("num_hidden_layers", "vocab_size", "num_attention_heads", "intermediate_size")
    ]


def test_heads_that_do_not_go_together() -> None:
    assert said(num_key_value_heads=3) == [
        "num_key_value_heads is 3, which does not divide the 8 heads of queries"
    ]
    assert said(num_attention_heads=7) == ["7 heads don't divide hidden_size=64"]
    assert said(head_dim=5) == [
        "a head of 5 can't be turned by its position, which takes pairs"
    ]  # fmt: skip


def test_sizes_beyond_any_model() -> None:
    assert said(vocab_size=2**40) == [f"vocab_size is {2**40}, beyond any model"]
    assert said(vocab_size=10**400) == ["vocab_size is a huge number, beyond any model"]
    assert said(rope_theta=10**400) == ["rope_theta is a huge number, not a number from 1 to 1e+30"]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            {"model_type": "mixtral", "num_local_experts": 8},
            "mixtral is a mixture of experts, and the notation can't say which token goes to which "
            "of them",
        ),
        (
            {"num_experts": 64},
            "this is a mixture of experts, and the notation can't say which token goes to which of "
            "them",
        ),
        ({"model_type": "t5"}, "t5 is an encoder with a decoder, and only decoders are written "
                               "here"),
        (
            {"is_encoder_decoder": True},
            "this is an encoder with a decoder, and only decoders are written here",
        ),
        ({"model_type": "bert"}, "bert is an encoder, and only decoders are written here"),
        (
            {"model_type": "mamba"},
            "mamba is a state-space or recurrent model, whose scan is no operation of the notation",
        ),
        ({"model_type": None}, "model_type is missing, which says what the other keys mean"),
        ({"model_type": "lama"}, "model_type is 'lama', which is not known"),
        ({"model_type": "opt", "do_layer_norm_before": False, "ffn_dim": 9},
         "norms stand after attention, which is not written"),
    ],
)  # fmt: skip
def test_what_would_be_another_model_is_refused(keys: dict[str, Any], message: str) -> None:
    assert said(**keys) == [message]


def test_one_expert_is_none() -> None:
    assert changed(num_experts=0) == changed(num_experts=1) == changed()


@pytest.mark.parametrize(
    ("text", "message", "span"),
    [
        ("", "the file is empty", Span(1, 1, 1)),
        ('{"a": 1', "a comma or a closing bracket is missing here", Span(1, 8, 8)),
        ('{"a": 1\n "b": 2}', "a comma or a closing bracket is missing here", Span(2, 2, 5)),
        ('{"a" 1}', "a colon is missing here, between a key and its value", Span(1, 6, 7)),
        ('{"a": }', "a value is missing here", Span(1, 7, 8)),
        ('{"a": tru}', "a value is missing here", Span(1, 7, 10)),
        ("{a: 1}", "a key is missing here, in double quotes", Span(1, 2, 3)),
        ('{"a": "b\n}', "a text has a line break or another control character", Span(1, 9, 9)),
        ('{"a": "b', "this text does not end on its line", Span(1, 7, 8)),
        ("{} {}", "something stands after the end", Span(1, 4, 5)),
        ("[1, 2]", "a configuration is an object", Span(1, 1, 2)),
        ("[" * 101, "brackets stand more than 100 deep in each other", Span(1, 101, 102)),
        ("[" * 100_000, "brackets stand more than 100 deep in each other", Span(1, 101, 102)),
        ('{"a": ' + "9" * 5000 + "}", "a number has more digits than any size", Span(1, 1, 1)),
    ],
)
def test_broken_json_has_its_place(text: str, message: str, span: Span) -> None:
    (error,) = wrong(text)
    assert (error.message, error.span) == (message, span)


def test_values_of_other_kinds_never_fall_through() -> None:
    """Every key that is read, with values of every kind: an answer or errors, and no exception."""
    for name in ("gemma-2-27b", "falcon-40b", "gpt-j-6b"):
        config = json.loads((CONFIGS / f"{name}.json").read_text())
        for key in config:
            for value in (None, True, -1, 0, 1, 3, 1.5, 1e400, 10**30, "", "x\n", [], [1], {}):
                found = read_config(json.dumps({**config, key: value}), "mine", "mine.json")
                if isinstance(found, Model):
                    assert spelled(found).parameters > 0
