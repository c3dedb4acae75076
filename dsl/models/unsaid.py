"""What the notation can't express of a model, in words."""

from __future__ import annotations

from collections.abc import Iterator

from layoutc.dsl.models.architecture import Architecture, Model


def unsaid(model: Model) -> tuple[str, ...]:
    """What the model's `.layout` file leaves out, a clause each; none where it is the model."""
    return (*_unsaid(model.architecture), *model.remarks)


def _unsaid(a: Architecture) -> Iterator[str]:
    if a.window:
        layers = "all" if a.window_layers == a.layers else f"{a.window_layers} of {a.layers}"
        yield (
            f"in {layers} layers a token sees the last {a.window:,} alone; here it sees all before "
            f"it, which is the same up to M={a.window}"
        )
    if a.rope_scaling:
        yield f"rotary positions are rescaled for long contexts, by {a.rope_scaling}; not here"
    if a.rotary_share != 1:
        yield f"rotary positions turn {a.rotary_share:.4g} of a head; here they turn all of it"
    if a.rotary_neighbours:
        yield (
            "rotary positions turn places 2i and 2i+1 of a head, here i and i+Q/2: the same, with "
            "the columns of wq and wk in another order"
        )
    if a.positions == "alibi":
        yield "scores are lowered by distance (ALiBi); here tokens have no positions"
    if a.norms_offset:
        yield "norms multiply by one more than the published weights: add 1 to them"
