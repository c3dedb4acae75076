"""The model types of `config.json` files: what their keys are called, and what is not said in them.

Where a key is missing, its model type's own default counts; where there is no key for something,
the model type's code decides. Both are as in Transformers 4.4x, `models/*/configuration_*.py` and
`models/*/modeling_*.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from layoutc.dsl.models.architecture import Activation, Bias, Norm, Positions

ACTIVATIONS: dict[str, Activation] = {
    "silu": "silu",
    "swish": "silu",
    "gelu": "gelu_erf",
    "gelu_new": "gelu",
    "gelu_fast": "gelu",
    "gelu_pytorch_tanh": "gelu",
    "relu": "relu",
}
"""What a configuration calls an activation, in the notation. Its "gelu" is the one with erf."""


@dataclass(frozen=True, slots=True)
class Family:
    """What a model type means.

    `names` has other names of keys, by their usual ones; `defaults` values of keys that may be
    missing; `switches` the keys that add biases where they are true. `parallel` is true, false, or
    the key that says which, and `multi_query` the key that says that there is one head of keys.
    """

    norm: Norm
    gated: bool
    names: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, object] = field(default_factory=dict)
    biases: tuple[Bias, ...] = ()
    switches: Mapping[str, tuple[Bias, ...]] = field(default_factory=dict)
    positions: Positions = "rotary"
    more_places: int = 0  # rows of a table of positions that stand before the first
    parallel: bool | str = False
    norms: int = 2
    head_norms: bool = False
    multi_query: str = ""
    embedding_scaled: bool = False
    rotary_share: str = ""  # the key that says what share of a head is turned
    rotary_size: str = ""  # the key that says how much of a head is turned
    rotary_neighbours: bool = False
    norms_offset: bool = False
    window_switch: str = ""  # the key that must be true for a window
    window_every: int = 1  # of so many layers, all but the last have the window; 1 for all


BOTH: tuple[Bias, ...] = ("qkv", "o")
EVERYWHERE: tuple[Bias, ...] = ("qkv", "o", "ffn", "norms")

RMS: Mapping[str, object] = {
    "hidden_act": "silu",
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0,
    "tie_word_embeddings": False,
}
TIED_GELU: Mapping[str, object] = {
    "hidden_act": "gelu_pytorch_tanh",
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0,
    "tie_word_embeddings": True,
    "head_dim": 256,
}
GPT2_NAMES = {
    "num_hidden_layers": "n_layer",
    "hidden_size": "n_embd",
    "intermediate_size": "n_inner",
    "num_attention_heads": "n_head",
    "max_position_embeddings": "n_positions",
    "hidden_act": "activation_function",
    "norm_eps": "layer_norm_epsilon",
}
GPT2_DEFAULTS: Mapping[str, object] = {
    "activation_function": "gelu_new",
    "layer_norm_epsilon": 1e-5,
    "n_positions": 1024,
    "tie_word_embeddings": True,
}
LAYER_EPS = {"norm_eps": "layer_norm_eps"}

LLAMA = Family(
    "rmsnorm", True,
    defaults={**RMS, "max_position_embeddings": 2048},
    switches={"attention_bias": BOTH, "mlp_bias": ("ffn",)},
)  # fmt: skip
GEMMA = Family(
    "rmsnorm", True,
    # Its code goes by this key, and takes the tanh form whatever the other one says.
    names={"hidden_act": "hidden_activation"},
    defaults={**TIED_GELU, "hidden_activation": "gelu_pytorch_tanh",
              "max_position_embeddings": 8192},
    switches={"attention_bias": BOTH},
    embedding_scaled=True,
    norms_offset=True,
)  # fmt: skip

FAMILIES: Mapping[str, Family] = {
    "llama": LLAMA,
    "mistral": Family(
        "rmsnorm", True,
        defaults={**RMS, "max_position_embeddings": 131072, "num_key_value_heads": 8},
    ),
    "qwen2": Family(
        "rmsnorm", True,
        defaults={**RMS, "max_position_embeddings": 32768, "use_sliding_window": False},
        biases=("qkv",),
        window_switch="use_sliding_window",
    ),
    "qwen3": Family(
        "rmsnorm", True,
        defaults={**RMS, "max_position_embeddings": 32768, "use_sliding_window": False,
                  "head_dim": 128},
        switches={"attention_bias": BOTH},
        head_norms=True,
        window_switch="use_sliding_window",
    ),
    "phi3": Family(
        "rmsnorm", True,
        defaults={**RMS, "rms_norm_eps": 1e-5, "max_position_embeddings": 4096},
        rotary_share="partial_rotary_factor",
    ),
    "gemma": GEMMA,
    "gemma2": Family(
        "rmsnorm", True,
        names=GEMMA.names,
        defaults={**GEMMA.defaults, "query_pre_attn_scalar": 256, "sliding_window": 4096,
                  "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0},
        switches=GEMMA.switches,
        norms=4,
        embedding_scaled=True,
        norms_offset=True,
        window_every=2,
    ),
    "gemma3_text": Family(
        "rmsnorm", True,
        names=GEMMA.names,
        defaults={**GEMMA.defaults, "query_pre_attn_scalar": 256, "sliding_window": 4096,
                  "rope_theta": 1e6, "max_position_embeddings": 131072,
                  "num_attention_heads": 8, "num_key_value_heads": 4, "vocab_size": 262208},
        switches=GEMMA.switches,
        norms=4,
        head_norms=True,
        embedding_scaled=True,
        norms_offset=True,
        window_every=6,
    ),
    "gpt2": Family(
        "layernorm", False,
        names=GPT2_NAMES,
        defaults=GPT2_DEFAULTS,
        biases=EVERYWHERE,
        positions="learned",
    ),
    "gpt_bigcode": Family(
        "layernorm", False,
        names=GPT2_NAMES,
        defaults={**GPT2_DEFAULTS, "activation_function": "gelu_pytorch_tanh",
                  "multi_query": True},
        biases=EVERYWHERE,
        positions="learned",
        multi_query="multi_query",
    ),
    "gptj": Family(
        "layernorm", False,
        names=GPT2_NAMES,
        defaults={**GPT2_DEFAULTS, "n_positions": 2048, "rotary_dim": 64,
                  "tie_word_embeddings": False},
        biases=("ffn", "norms", "logits"),
        parallel=True,
        norms=1,
        rotary_size="rotary_dim",
        rotary_neighbours=True,
    ),
    "gpt_neox": Family(
        "layernorm", False,
        names={**LAYER_EPS, "rope_theta": "rotary_emb_base"},
        defaults={"hidden_act": "gelu", "layer_norm_eps": 1e-5, "rotary_emb_base": 10000.0,
                  "rotary_pct": 0.25, "max_position_embeddings": 2048, "attention_bias": True,
                  "use_parallel_residual": True, "tie_word_embeddings": False},
        biases=("ffn", "norms"),
        switches={"attention_bias": BOTH},
        parallel="use_parallel_residual",
        rotary_share="rotary_pct",
    ),
    "phi": Family(
        "layernorm", False,
        names=LAYER_EPS,
        defaults={"hidden_act": "gelu_new", "layer_norm_eps": 1e-5, "rope_theta": 10000.0,
                  "partial_rotary_factor": 0.5, "max_position_embeddings": 2048,
                  "tie_word_embeddings": False},
        biases=(*EVERYWHERE, "logits"),
        parallel=True,
        norms=1,
        rotary_share="partial_rotary_factor",
    ),
    "starcoder2": Family(
        "layernorm", False,
        names={"norm_eps": "norm_epsilon"},
        defaults={"hidden_act": "gelu_pytorch_tanh", "norm_epsilon": 1e-5, "use_bias": True,
                  "rope_theta": 10000.0, "max_position_embeddings": 4096,
                  "tie_word_embeddings": True},
        biases=("norms",),
        switches={"use_bias": ("qkv", "o", "ffn")},
    ),
    "opt": Family(
        "layernorm", False,
        names={"intermediate_size": "ffn_dim", "hidden_act": "activation_function"},
        defaults={"activation_function": "relu", "max_position_embeddings": 2048,
                  "tie_word_embeddings": True, "enable_bias": True, "norm_eps": 1e-5},
        biases=("norms",),
        switches={"enable_bias": ("qkv", "o", "ffn")},
        positions="learned",
        more_places=2,
    ),
    "falcon": Family(
        "layernorm", False,
        names={"norm_eps": "layer_norm_epsilon", "intermediate_size": "ffn_hidden_size",
               "num_key_value_heads": "num_kv_heads", "hidden_act": "activation"},
        defaults={"activation": "gelu", "layer_norm_epsilon": 1e-5, "rope_theta": 10000.0,
                  "max_position_embeddings": 2048, "multi_query": True, "parallel_attn": True,
                  "tie_word_embeddings": True, "bias": False},
        biases=("norms",),
        switches={"bias": ("qkv", "o", "ffn")},
        parallel="parallel_attn",
        multi_query="multi_query",
    ),
}  # fmt: skip
