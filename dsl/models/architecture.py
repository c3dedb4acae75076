"""What a decoder-only Transformer is: the figures and choices that tell one from another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Activation = Literal["relu", "gelu", "gelu_erf", "silu"]
Attention = Literal["multi-head", "grouped", "multi-query"]
Bias = Literal["qkv", "o", "ffn", "norms", "logits"]
Norm = Literal["rmsnorm", "layernorm"]
Positions = Literal["rotary", "learned", "alibi"]


@dataclass(frozen=True, slots=True)
class Architecture:
    """A model's figures and choices. Those in the last part the notation can't express.

    `norms` counts the norms of a layer: two, one before attention and one before feedforward; one
    for both where they stand side by side (`parallel`); four where what they give is normed, too.

    Invariants:
      * sizes are at least 1, and `kv_heads` divides `heads`;
      * a head that is turned by its position is even;
      * one norm a layer only where attention and feedforward are parallel, four only where not;
      * learned positions have a table with at least `context` rows, others have none.

    Raises:
        ValueError: if an invariant does not hold.
    """

    layers: int
    d_model: int
    d_ff: int
    heads: int
    kv_heads: int
    head_size: int
    vocabulary: int
    context: int  # the most tokens that the model is made for
    activation: Activation
    gated: bool
    norm: Norm
    eps: float
    positions: Positions
    tied: bool  # the logits' matrix is the table of embeddings
    theta: float = 10000.0
    places: int = 0  # rows of the table of learned positions
    biases: frozenset[Bias] = frozenset()
    parallel: bool = False
    norms: int = 2
    head_norms: bool = False  # queries and keys are normed, head by head
    score_size: float = 0.0  # scores are divided by its root; 0 for the head's size
    score_cap: float = 0.0  # scores go through cap·tanh(s/cap); 0 for not
    logits_cap: float = 0.0
    embedding_scaled: bool = False  # by the root of d_model
    logits_scaled: bool = False  # by one over it
    window: int = 0  # how many tokens are seen, in `window_layers`; 0 for all
    window_layers: int = 0
    rope_scaling: str = ""  # what rescales rotary positions, where something does
    rotary_share: float = 1.0  # of a head, that rotary positions turn
    rotary_neighbours: bool = False  # they turn places 2i and 2i+1, not i and i+Q/2
    norms_offset: bool = False  # norms multiply by one more than their weights

    def __post_init__(self) -> None:
        sizes = (self.layers, self.d_model, self.d_ff, self.heads, self.kv_heads, self.head_size,
                 self.vocabulary, self.context)  # fmt: skip
        if min(sizes) < 1 or self.heads % self.kv_heads:
            raise ValueError(f"sizes are from 1 up, and kv_heads divides heads: {self}")
        if self.positions == "rotary" and self.head_size % 2:
            raise ValueError(f"a head of {self.head_size} can't be turned in pairs")
        if self.norms not in ((1, 2) if self.parallel else (2, 4)):
            raise ValueError(f"{self.norms} norms in a layer, with parallel={self.parallel}")
        if (self.positions == "learned") != (self.places >= self.context):
            raise ValueError(f"{self.places} learned positions for {self.context} tokens")

    @property
    def attention(self) -> Attention:
        """How heads of queries share those of keys and values."""
        if self.kv_heads == self.heads:
            return "multi-head"
        return "multi-query" if self.kv_heads == 1 else "grouped"


@dataclass(frozen=True, slots=True)
class Model:
    """An architecture with a name, where its figures are from, and remarks on what is left out.

    `published` is how many weights its makers say it has, 0 where they were not asked.
    """

    name: str
    title: str
    source: str
    architecture: Architecture
    remarks: tuple[str, ...] = ()
    published: float = 0.0
