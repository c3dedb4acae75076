"""Models of which a `.layout` file would be another model, and why."""

from __future__ import annotations

from layoutc.dsl.models.keys import Keys
from layoutc.dsl.words import did_you_mean, listed

EXPERTS = "a mixture of experts, and the notation can't say which token goes to which of them"
TWO_STACKS = "an encoder with a decoder, and only decoders are written here"
ENCODER = "an encoder, and only decoders are written here"
STATE = "a state-space or recurrent model, whose scan is no operation of the notation"

KINDS: dict[str, tuple[str, ...]] = {
    EXPERTS: (
        "mixtral", "qwen2_moe", "qwen3_moe", "deepseek_v2", "deepseek_v3", "dbrx", "olmoe",
        "phimoe", "granitemoe", "llama4", "llama4_text", "gpt_oss", "grok-1", "arctic", "minimax",
        "glm4_moe", "ernie4_5_moe", "jetmoe", "switch_transformers", "nllb-moe",
    ),
    TWO_STACKS: (
        "t5", "mt5", "umt5", "bart", "mbart", "marian", "pegasus", "whisper", "blenderbot",
        "m2m_100", "led", "t5gemma",
    ),
    ENCODER: (
        "bert", "roberta", "xlm-roberta", "distilbert", "albert", "electra", "deberta",
        "deberta-v2", "modernbert", "vit", "clip", "siglip",
    ),
    STATE: (
        "mamba", "mamba2", "falcon_mamba", "rwkv", "jamba", "bamba", "zamba", "zamba2",
        "recurrent_gemma", "falcon_h1", "granitemoehybrid", "nemotron_h", "qwen3_next",
    ),
}  # fmt: skip
"""The model types that are told apart by name."""

EXPERT_KEYS = ("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts")
"""The keys that count experts; 0 and 1 are none."""


def refuse(keys: Keys, known: tuple[str, ...]) -> bool:
    """Keeps every reason why this is no decoder that can be written; true if there is one."""
    before = len(keys.errors)
    kind = keys.word("model_type", required="which says what the other keys mean")
    why = _why(kind)
    if why:
        keys.wrong("model_type", f"{kind} is {why}")
    for key in EXPERT_KEYS:
        if keys.size(key, 0, least=0) > 1 and why != EXPERTS:
            keys.wrong(key, f"this is {EXPERTS}")
    if keys.flag("is_encoder_decoder", False) and not why:
        keys.wrong("is_encoder_decoder", f"this is {TWO_STACKS}")
    if len(keys.errors) == before and kind not in known:
        hint = did_you_mean(kind, known) or f"there are {listed(known)}"
        keys.wrong("model_type", f"model_type is {kind!r}, which is not known", hint)
    return len(keys.errors) > before


def unwritten(name: str) -> str:
    """Why a model of this name is not in the catalogue, where its model type says so."""
    for why, kinds in KINDS.items():
        if any(f"{name}-".startswith(f"{kind.replace('_', '-')}-") for kind in kinds):
            return f"{name} is {why}"
    return ""


def _why(kind: str) -> str:
    return next((why for why, kinds in KINDS.items() if kind in kinds), "")
