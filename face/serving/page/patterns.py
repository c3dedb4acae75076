"""What bars are filled with: each thing has a colour and a pattern of its own, so that neither
print nor colour-blind readers lose anything. What is hidden under another is hatched."""

from __future__ import annotations

from layoutc.serving.page.html import Markup, element

KINDS = {
    "computing": "compute", "reading weights": "memory", "gathering weights": "gathered",
    "attention": "attention", "communication": "communication", "latency": "latency",
    "waiting": "waiting", "weights": "memory", "caches": "attention", "activations": "compute",
    "free": "waiting",
}  # fmt: skip
"""The pattern of all that bars are made of: what is stored has that of what reads it."""

STROKES = {
    "compute": "",
    "memory": "M-2 2l4-4M0 8l8-8M6 10l4-4",
    "gathered": "M0 0l8 8M0 8l8-8",
    "attention": "M2 2h.01M6 6h.01",
    "communication": "M0 2h8M0 6h8",
    "latency": "M2 0v8M6 0v8",
    "waiting": "M4 4h.01",
}
"""What is drawn over the colour, in a square of 8."""

HATCHED = ("compute", "memory", "gathered")


def patterns() -> Markup:
    """The patterns, in a drawing that is not seen."""
    filled = [_pattern(kind, kind, strokes, "fill") for kind, strokes in STROKES.items()]
    hatched = [
        _pattern(f"under-{kind}", kind, "M-2 2l4-4M0 8l8-8M6 10l4-4", "hatch") for kind in HATCHED
    ]
    return element(
        "svg", element("defs", *filled, *hatched),
        width="0", height="0", class_="patterns", aria_hidden="true",
    )  # fmt: skip


def _pattern(name: str, kind: str, strokes: str, how: str) -> Markup:
    return element(
        "pattern",
        element("rect", width="8", height="8", class_="ground"),
        element("path", d=strokes, class_="strokes") if strokes else None,
        id=f"pattern-{name}", width="8", height="8", patternUnits="userSpaceOnUse",
        class_=f"{how} {kind}",
    )  # fmt: skip


def filled(name: str, under: bool = False) -> str:
    """What a part of a bar is filled with, by its name."""
    return f"url(#pattern-{'under-' * under}{KINDS[name]})"


def swatch(name: str, under: bool = False) -> Markup:
    """A small piece of a pattern, for a key."""
    box = element("rect", width="100%", height="100%", fill=filled(name, under), class_="part")
    return element("svg", box, class_="swatch", aria_hidden="true")
