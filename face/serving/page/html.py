"""Elements of a page as text. What is no `Markup` is escaped, wherever it is from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Markup:
    """Text of a page that is in order: made by this module alone."""

    text: str

    def __str__(self) -> str:
        return self.text


Child: TypeAlias = "Markup | str | Iterable[Child] | None"
Value: TypeAlias = "str | float | bool | None"

VOID = frozenset({"meta"})
"""Elements that hold nothing and have no end."""


def element(tag: str, *children: Child, **attributes: Value) -> Markup:
    """An element with what it holds. Of attributes, `class_` is spelled class, and `aria_label`
    aria-label; True is one without a value, and None and False are none."""
    said = "".join(_attribute(name, value) for name, value in attributes.items())
    if tag in VOID:
        return Markup(f"<{tag}{said}>")
    return Markup(f"<{tag}{said}>{joined(children)}</{tag}>")


def joined(children: Child) -> Markup:
    """Elements one after the other; text is escaped."""
    match children:
        case Markup():
            return children
        case None:
            return Markup("")
        case str():
            return Markup(escape(children))
    return Markup("".join(joined(child).text for child in children))


def verbatim(tag: str, text: str) -> Markup:
    """A style or a script of ours, which is not escaped. It must not hold its own end."""
    assert f"</{tag}" not in text.lower(), f"the {tag} holds its own end"
    return Markup(f"<{tag}>{text}</{tag}>")


def _attribute(name: str, value: Value) -> str:
    spelled = name.rstrip("_").replace("_", "-")
    match value:
        case None | False:
            return ""
        case True:
            return f" {spelled}"
        case str():
            return f' {spelled}="{escape(value)}"'
    return f' {spelled}="{value:.7g}"'
