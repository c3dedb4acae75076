"""A page read back: its elements as a tree, which has to be in order to be one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta"}


@dataclass(slots=True)
class Node:
    """An element: what it is called, its attributes, and what it holds."""

    tag: str
    attributes: dict[str, str]
    children: list[Node | str] = field(default_factory=list)

    def all(self, tag: str = "", kind: str = "") -> Iterator[Node]:
        """What is inside, of a tag and of a class."""
        for child in self.children:
            if isinstance(child, Node):
                kinds = child.attributes.get("class", "").split()
                if tag in ("", child.tag) and (not kind or kind in kinds):
                    yield child
                yield from child.all(tag, kind)

    def one(self, tag: str = "", kind: str = "") -> Node:
        """The only one."""
        (found,) = self.all(tag, kind)
        return found

    def called(self, name: str) -> Node:
        """The one with an id."""
        (found,) = (node for node in self.all() if node.attributes.get("id") == name)
        return found

    @property
    def text(self) -> str:
        """All text inside."""
        return "".join(c if isinstance(c, str) else c.text for c in self.children)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open = [Node("", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(set(names)) == len(names), f"<{tag}> has an attribute twice: {names}"
        node = Node(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_endtag(self, tag: str) -> None:
        closed = self.open.pop()
        assert closed.tag == tag, f"</{tag}> closes <{closed.tag}>"

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def read(text: str) -> Node:
    """The whole page. Fails where an element is not closed, or closed twice."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    (root,) = reader.open
    return root
