"""The values of a configuration, each of its kind, or an error at its place.

What is wrong is kept, and something harmless given in its stead, so that all errors are found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from layoutc.dsl.errors import Diagnostic
from layoutc.dsl.models.json_text import Document, Path

LARGEST = 2**31
"""Sizes beyond it are slips."""

SHOWN = 40
"""How much of a text is shown in a message, in characters."""


def shown(value: object) -> str:
    """A value as a message shows it: as in JSON, on one line, and short whatever it is."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            return repr(value) if len(value) <= SHOWN else f"{value[:SHOWN]!r}…"
        case dict():
            return "an object"
        case list():
            return "an array"
        case int() if value.bit_length() > 128:
            return "a huge number"
        case _:
            return str(value)


@dataclass(slots=True)
class Keys:
    """Reads the keys of the object at `path`, by their usual names or by those in `names`.

    A key that is missing, or null, is what `defaults` has, else what the caller gives.
    """

    document: Document
    table: Mapping[str, object]
    path: Path = ()
    names: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, object] = field(default_factory=dict)
    errors: list[Diagnostic] = field(default_factory=list)

    def wrong(self, key: str, message: str, hint: str = "") -> None:
        """Keeps an error at a key's value, or at the object where it should be."""
        span = self.document.of((*self.path, self.called(key)))
        self.errors.append(Diagnostic(message, span, hint))

    def called(self, key: str) -> str:
        """What the configuration calls it."""
        return self.names.get(key, key)

    def get(self, key: str) -> object:
        """The value, the model type's default, or None."""
        name = self.called(key)
        found = self.table.get(name)
        return self.defaults.get(name) if found is None else found

    def null(self, key: str) -> bool:
        """Whether the configuration says that there is no value."""
        name = self.called(key)
        return name in self.table and self.table[name] is None

    def inner(self, key: str) -> Keys | None:
        """The keys of an object in this one; None where there is none."""
        found = self.get(key)
        if not isinstance(found, dict):
            return None
        return Keys(self.document, found, (*self.path, self.called(key)), errors=self.errors)

    def size(self, key: str, default: int | None = None, least: int = 1) -> int:
        """A whole number; it is needed where no default is given."""
        found = self.get(key)
        if found is None:
            if default is None:
                name = self.called(key)
                self.wrong(key, f"{name} is missing", f'"{name}": ...')
            return least if default is None else default
        number = found if isinstance(found, int | float) and not isinstance(found, bool) else 0.5
        if number % 1 == 0 and least <= number <= LARGEST:
            return int(number)
        what = "beyond any model" if number > LARGEST else f"not a whole number from {least} up"
        self.wrong(key, f"{self.called(key)} is {shown(found)}, {what}")
        return least

    def number(self, key: str, least: float, most: float, default: float | None = None) -> float:
        """A number between two, the ends included."""
        found = self.get(key)
        found = default if found is None else found
        real = isinstance(found, int | float) and not isinstance(found, bool)
        if real and isinstance(found, int | float) and least <= found <= most:
            return float(found)
        what = "is missing" if found is None else f"is {shown(found)}"
        self.wrong(key, f"{self.called(key)} {what}, not a number from {least:g} to {most:g}")
        return least

    def flag(self, key: str, default: bool | None = None) -> bool:
        """True or false."""
        found = self.get(key)
        found = default if found is None else found
        if isinstance(found, bool):
            return found
        what = "is missing" if found is None else f"is {shown(found)}"
        self.wrong(key, f"{self.called(key)} {what}, not true or false")
        return False

    def word(self, key: str, required: str = "") -> str:
        """A line of text, "" where there is none; it is `required` if that says what for."""
        found = self.get(key)
        if isinstance(found, str) and found.isprintable():
            return found
        name = self.called(key)
        if found is not None:
            self.wrong(key, f"{name} is {shown(found)}, not one line of text")
        elif required:
            self.wrong(key, f"{name} is missing, {required}", f'"{name}": "llama"')
        return ""

    def words(self, key: str) -> Sequence[str]:
        """An array of texts; none where there is no array."""
        found = self.get(key)
        if found is None:
            return ()
        if isinstance(found, list) and all(isinstance(one, str) for one in found):
            return [str(one) for one in found]
        self.wrong(key, f"{self.called(key)} is {shown(found)}, not an array of texts")
        return ()
