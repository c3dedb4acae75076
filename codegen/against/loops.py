"""Where ways come together: after a loop's body, after a conditional's branches."""

from __future__ import annotations

from layoutc.codegen.against.blocks import Block, Held, Unknown, unnumbered
from layoutc.codegen.against.meeting import met


def agreed(one: Held, other: Held) -> Held:
    """What is true of both; the first itself where the second says no more and no less.

    Numbers that differ are no longer known; a dim that is free in one is as the other has it.
    """
    if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
        parts = tuple(agreed(a, b) for a, b in zip(one, other, strict=True))
        return one if all(a is b for a, b in zip(parts, one, strict=True)) else parts
    if isinstance(one, Unknown):
        return one
    if not isinstance(one, Block) or not isinstance(other, Block):
        return Unknown()
    if one.equals(other):
        return one
    if one.numbers is not None or other.numbers is not None:
        return _unnumbered(one, other)
    if one.terms or other.terms:
        return Unknown()
    joined = met([one, other], "join")
    if joined is None:
        return Unknown()
    return one if joined.equals(one) else joined


def _unnumbered(one: Block, other: Block) -> Held:
    """Two counts that differ; devices go on alike if they do in both."""
    if not (one.uniform and other.uniform):
        return Unknown()
    return agreed(unnumbered(one), unnumbered(other))
