"""Which names there are, what is known of each, and where it came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from layoutc.dsl import syntax
from layoutc.dsl.errors import Span
from layoutc.dsl.header import Header
from layoutc.dsl.program import DeclareKind, Type
from layoutc.dsl.refusal import Held
from layoutc.dsl.words import RESERVED

NEAR = 300
"""How many of the latest names are asked whether one of them was meant."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A name, and what is known of it.

    `type` is None where the definition was refused: then its uses are not looked into.
    `text` is the shape as it was written, if it was; `block` is the number of the `repeat`
    that the name stands in, 0 outside of any. `because` says what made it a partial sum; `cache`
    is the cache that it is, as declared or as written; `weight` is the int8 weight that it is, as
    declared or as moved.
    """

    name: str
    kind: DeclareKind | None
    type: Type | None
    span: Span
    text: syntax.ShapeText | None
    block: int
    because: str = ""
    cache: str = ""
    weight: str = ""

    @property
    def place(self) -> Span:
        """Where to point when something is said about how the name is held."""
        if self.text is None:
            return self.span
        return self.text.partial.span if self.text.partial else self.text.span

    @property
    def held(self) -> Held | None:
        if self.type is None:
            return None
        return Held(self.name, self.type.shape, self.type.dtype)


@dataclass(frozen=True, slots=True)
class Use:
    """Where an int8 weight is multiplied, and the dims of it that are not summed there."""

    dims: tuple[str, ...]
    span: Span


@dataclass(slots=True)
class Scope:
    """The names defined so far, and where those stand that are defined further down."""

    header: Header
    later: Mapping[str, Span]
    names: dict[str, Definition] = field(default_factory=dict)
    block: int = 0
    missing: set[str] = field(default_factory=set)
    spent: dict[str, Definition] = field(default_factory=dict)
    """What each cache that was written to goes by since then."""
    scaled: dict[str, Use] = field(default_factory=dict)
    """The first use of each int8 weight: the others keep the same dims."""

    def add(self, definition: Definition) -> None:
        """Define a name; refuses one that is taken already, or is a word of the language."""
        name, span = definition.name, definition.span
        first = self.names.setdefault(name, definition)
        if name in RESERVED:
            message = f"{name} is a word of the language, not a name"
            self.header.refuse(message, span, "choose another name")
        elif first is not definition:
            notes = (first.span, "first here")
            self.header.refuse(f"{name} is defined twice", span, "choose another name", notes)

    def find(self, word: syntax.Word) -> Definition | None:
        """The definition that a use means; refuses the use where there is none."""
        found = self.names.get(word.text)
        if found is None:
            self._undefined(word)
        elif found.block not in {0, self.block}:
            message = f"{word.text} is defined inside a repeat and not seen outside of it"
            hint = "what leaves a block is what `next` carries"
            self.header.refuse(message, word.span, hint, (found.span, "defined here"))
            return None
        elif word.text in self.spent:
            now = self.spent[word.text]
            while now.name in self.spent:
                now = self.spent[now.name]
            message = f"{word.text} was written to: it is {now.name} from there on"
            self.header.refuse(message, word.span, f"write {now.name}", (now.span, "written here"))
        return found

    def _undefined(self, word: syntax.Word) -> None:
        if word.text in self.missing:
            return
        self.missing.add(word.text)
        place = self.later.get(word.text)
        if place == word.span or (place and place.line == word.span.line):
            self.header.refuse(f"{word.text} is defined by itself", word.span)
        elif place:
            message = f"{word.text} is defined only further down"
            self.header.refuse(message, word.span, "", (place, "here"))
        elif word.text in RESERVED:
            message = f"{word.text} is a word of the language, not a name"
            self.header.refuse(message, word.span)
        else:
            hint = self.header.guess(word.text, list(self.names)[-NEAR:])
            self.header.refuse(f"{word.text} is not defined", word.span, hint)


def start(file: syntax.File, header: Header) -> Scope:
    """The scope of a file of which no line has been checked yet."""
    later: dict[str, Span] = {}
    for statement in file.statements:
        if isinstance(statement, syntax.DeclareLine | syntax.DefineLine):
            later.setdefault(statement.name.text, statement.name.span)
    return Scope(header, later)
