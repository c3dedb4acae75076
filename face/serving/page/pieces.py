"""What several sections of a page are made of."""

from __future__ import annotations

from layoutc.serving.page.html import Markup, element


def heading(text: str, name: str) -> Markup:
    """The heading of a section that can be linked to."""
    return element("h2", text, id=name)


def wide(table: Markup, label: str) -> Markup:
    """What may be wider than the window: it scrolls by itself, by keys too."""
    return element("div", table, class_="wide", role="region", aria_label=label, tabindex="0")


def remark(text: str) -> Markup:
    """A small line of text."""
    return element("p", text, class_="remark")


def percent_of(share: float) -> str:
    """A length as a share of what it is in."""
    return f"{100 * share:.5f}%"
