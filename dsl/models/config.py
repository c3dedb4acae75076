"""From the text of a Hugging Face `config.json` to a `Model`, or to every error in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from layoutc.dsl.errors import Diagnostic, in_order
from layoutc.dsl.models.architecture import Activation, Architecture, Bias, Model
from layoutc.dsl.models.families import ACTIVATIONS, FAMILIES, Family
from layoutc.dsl.models.json_text import Document, read_json
from layoutc.dsl.models.keys import Keys, shown
from layoutc.dsl.models.refused import refuse
from layoutc.dsl.words import did_you_mean, listed

Fields = dict[str, Any]
"""Of an architecture, by their names."""

NESTED = ("text_config", "llm_config")
"""Where a model of several kinds of input keeps its decoder."""


def read_config(text: str, name: str, source: str) -> Model | list[Diagnostic]:
    """The model that a configuration describes, or all its errors in the order of the file.

    `name` is what the program is called, and `source` says where the text is from.
    """
    document = read_json(text)
    if isinstance(document, Diagnostic):
        return [document]
    keys, remarks = _decoder(document)
    if refuse(keys, tuple(FAMILIES)):
        return in_order(keys.errors)
    kind = keys.word("model_type")
    reader = _Reader(keys, FAMILIES[kind], kind)
    architecture = reader.architecture()
    if architecture is None:
        return in_order(keys.errors)
    title = _title(document) or f"A model of type {kind}"
    return Model(name, title, source, architecture, (*remarks, *reader.remarks()))


def _decoder(document: Document) -> tuple[Keys, tuple[str, ...]]:
    """The keys of the decoder, wherever they stand, and what is around it."""
    top = Keys(document, document.values)
    for key in NESTED:
        inner = top.inner(key)
        if inner:
            tied = top.get("tie_word_embeddings")
            inner.table = {"tie_word_embeddings": tied, **inner.table}
            return inner, ("what is not text is taken in by parts that are not written here",)
    return top, ()


def _title(document: Document) -> str:
    """What the configuration calls itself, where that can stand in a comment."""
    found = document.values.get("_name_or_path")
    plain = isinstance(found, str) and found.isprintable() and 0 < len(found) <= 80
    return str(found) if plain else ""


class _Reader:
    """Reads keys as a family means them. Each part gives some of an architecture's fields."""

    def __init__(self, keys: Keys, family: Family, kind: str) -> None:
        self.keys, self.family, self.kind = keys, family, kind
        keys.names, keys.defaults = family.names, family.defaults
        self.rope = keys.inner("rope_parameters") or keys.inner("rope_scaling")

    def architecture(self) -> Architecture | None:
        """The architecture; None where something is wrong."""
        sizes = self.sizes()
        heads = self.heads(sizes["d_model"])
        fields = {
            **sizes,
            **heads,
            **self.feedforward(sizes["d_model"]),
            **self.norms(),
            **self.scores(),
            **self.positions(sizes["context"], heads["head_size"]),
            **self.window(sizes["context"], sizes["layers"]),
            "biases": self.biases(),
            "tied": self.keys.flag("tie_word_embeddings"),
            "embedding_scaled": self.family.embedding_scaled,
        }
        self.as_usual()
        return None if self.keys.errors else Architecture(**fields)

    def sizes(self) -> Fields:
        return {
            "layers": self.keys.size("num_hidden_layers"),
            "d_model": self.keys.size("hidden_size"),
            "vocabulary": self.keys.size("vocab_size"),
            "context": self.keys.size("max_position_embeddings"),
        }

    def heads(self, d_model: int) -> Fields:
        heads = self.keys.size("num_attention_heads")
        kv_heads = self.kv_heads(heads)
        head_size = self.keys.size("head_dim", d_model // heads or 1)
        own = self.keys.get("head_dim") is not None
        if not own and d_model % heads:
            message = f"{heads} heads don't divide {self.keys.called('hidden_size')}={d_model}"
            self.keys.wrong("num_attention_heads", message, '"head_dim": ...  says what a head has')
        elif self.family.positions == "rotary" and head_size % 2:
            message = f"a head of {head_size} can't be turned by its position, which takes pairs"
            self.keys.wrong("head_dim" if own else "num_attention_heads", message)
        return {"heads": heads, "kv_heads": kv_heads, "head_size": head_size}

    def kv_heads(self, heads: int) -> int:
        """One under multi-query attention; as many as heads where nothing is said."""
        shared = "" if self.newer() else self.family.multi_query
        if shared:
            return 1 if self.keys.flag(shared) else heads
        null = self.keys.null("num_key_value_heads")
        found = heads if null else self.keys.size("num_key_value_heads", heads)
        if heads % found:
            name = self.keys.called("num_key_value_heads")
            message = f"{name} is {found}, which does not divide the {heads} heads of queries"
            self.keys.wrong("num_key_value_heads", message)
        return found

    def newer(self) -> bool:
        """Falcon's second form, with grouped heads and two norms."""
        return self.kind == "falcon" and self.keys.flag("new_decoder_architecture", False)

    def feedforward(self, d_model: int) -> Fields:
        return {
            "d_ff": self.keys.size("intermediate_size", None if self.family.gated else 4 * d_model),
            "activation": self.activation(),
            "gated": self.family.gated,
        }

    def activation(self) -> Activation:
        found = self.keys.word("hidden_act", "of the feedforward layer")
        if found in ACTIVATIONS or not found:
            return ACTIVATIONS.get(found, "silu")
        hint = did_you_mean(found, ACTIVATIONS) or f"there are {listed(ACTIVATIONS)}"
        name = self.keys.called("hidden_act")
        self.keys.wrong("hidden_act", f"{name} is {shown(found)}, which is not known", hint)
        return "silu"

    def norms(self) -> Fields:
        parallel = self.family.parallel
        if isinstance(parallel, str):
            parallel = self.newer() or self.keys.flag(parallel)
        number = self.family.norms
        if self.kind == "falcon":
            one = self.keys.size("num_ln_in_parallel_attn", 2) == 1
            number = 2 if not parallel or (self.newer() and not one) else 1
        eps = "rms_norm_eps" if self.family.norm == "rmsnorm" else "norm_eps"
        return {
            "norm": self.family.norm,
            "eps": self.keys.number(eps, 1e-30, 1),
            "parallel": parallel,
            "norms": number,
            "head_norms": self.family.head_norms,
            "norms_offset": self.family.norms_offset,
        }

    def scores(self) -> Fields:
        keys = {
            "score_size": "query_pre_attn_scalar",
            "score_cap": "attn_logit_softcapping",
            "logits_cap": "final_logit_softcapping",
        }
        there = {name: key for name, key in keys.items() if self.keys.get(key) is not None}
        return {name: self.keys.number(key, 1e-3, 1e9) for name, key in there.items()}

    def biases(self) -> frozenset[Bias]:
        switched = self.family.switches.items()
        added = (bias for key, some in switched if self.keys.flag(key, False) for bias in some)
        return frozenset((*self.family.biases, *added))

    # Positions.

    def positions(self, context: int, head_size: int) -> Fields:
        if self.family.positions == "learned":
            return {"positions": "learned", "places": context + self.family.more_places}
        if self.kind == "falcon" and self.keys.flag("alibi", False):
            return {"positions": "alibi"}
        return {
            "positions": "rotary",
            "theta": self.theta(),
            "rope_scaling": self.rope_scaling(),
            "rotary_share": self.rotary_share(head_size),
            "rotary_neighbours": self.family.rotary_neighbours,
        }

    def theta(self) -> float:
        """At the top, or beside what rescales positions, where newer configurations have it."""
        beside = self.rope and self.rope.get("rope_theta") is not None
        keys = self.rope if self.rope and beside else self.keys
        return keys.number("rope_theta", 1, 1e30, 10000.0)

    def rope_scaling(self) -> str:
        """The kind of what rescales positions, "" for none."""
        if self.rope is None:
            return ""
        kind = self.rope.word("rope_type") or self.rope.word("type")
        return "" if kind == "default" else kind

    def rotary_share(self, head_size: int) -> float:
        if self.family.rotary_size:
            return min(1.0, self.keys.size(self.family.rotary_size) / head_size)
        share = self.family.rotary_share
        return self.keys.number(share, 1e-3, 1, 1.0) if share else 1.0

    def window(self, context: int, layers: int) -> Fields:
        """How many tokens are seen, in how many layers; nothing where it leaves no token out."""
        switch = self.family.window_switch
        if (switch and not self.keys.flag(switch)) or self.keys.get("sliding_window") is None:
            return {}
        window, some = self.keys.size("sliding_window"), self.window_layers(layers)
        return {"window": window, "window_layers": some} if some and window < context else {}

    def window_layers(self, layers: int) -> int:
        """Those that `layer_types` names, else those from `max_window_layers` on, or all but each
        last one of so many."""
        named = self.keys.words("layer_types")
        if named:
            return named.count("sliding_attention")
        if self.family.window_switch:
            return layers - min(layers, self.keys.size("max_window_layers", 28, least=0))
        every = self.keys.size("sliding_window_pattern", self.family.window_every)
        return layers if every == 1 else layers - layers // every

    # What a file does not say.

    def as_usual(self) -> None:
        """What some files of these types have, and would be another model."""
        usual: dict[str, tuple[object, str]] = {
            "do_layer_norm_before": (True, "norms stand after attention, which is not written"),
            "word_embed_proj_dim": (
                self.keys.get("hidden_size"),
                "embeddings are projected, which is not written",
            ),
            "scale_attn_weights": (True, "scores are not scaled, which is not written"),
            "scale_attn_by_inverse_layer_idx": (False, "layers differ, which is not written"),
            "qk_layernorm": (False, "queries and keys are normed, which is not written of phi"),
            "add_cross_attention": (False, "there is attention to an encoder"),
        }
        for key, (value, message) in usual.items():
            found = self.keys.get(key)
            if found is not None and found != value:
                self.keys.wrong(key, message)

    def remarks(self) -> Iterator[str]:
        if self.family.more_places:
            yield (
                f"the first {self.family.more_places} rows of the table of positions are for "
                f"padding: at is {self.family.more_places} more than pos"
            )
        if self.kind == "gemma3_text":
            theta = self.keys.number("rope_local_base_freq", 1, 1e30, 10000.0)
            yield f"rotary positions have theta={theta:g} in the layers with a window"
