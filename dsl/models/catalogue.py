"""The published models that come with the compiler: a TOML file for each line of models.

A file has what its models have in common, and a table `[NAME]` for each of them. Every model says
in `source` where its figures are from.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any

from layoutc.dsl.models.architecture import Architecture, Model
from layoutc.dsl.models.refused import unwritten

ABOUT = ("title", "source", "published", "remarks")
"""What is said of a model beside its architecture."""


class UnknownModel(LookupError):
    """No model of the catalogue has this name; the message is for the person who asked."""


@cache
def catalogue() -> dict[str, Model]:
    """The models by name, line by line, each from its smallest to its largest."""
    folder = files("layoutc.dsl.models")
    lines = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".toml"))
    texts = (folder.joinpath(name).read_text(encoding="utf-8") for name in lines)
    return {model.name: model for text in texts for model in _models(text)}


def model_named(name: str) -> Model:
    """The model of that name. Raises `UnknownModel`."""
    found = catalogue().get(name)
    if found:
        return found
    why = unwritten(name)
    if why:
        raise UnknownModel(why)
    near = get_close_matches(name[:40], catalogue(), 1)
    hint = f"did you mean {near[0]}?" if near else "layoutc model lists those there are"
    raise UnknownModel(f"there is no model called {name}; {hint}")


def _models(text: str) -> Iterator[Model]:
    document = tomllib.loads(text)
    common = {key: value for key, value in document.items() if not isinstance(value, dict)}
    for name, own in document.items():
        if isinstance(own, dict):
            yield _model(name, {**common, **own})


def _model(name: str, said: dict[str, Any]) -> Model:
    figures = {key: value for key, value in said.items() if key not in ABOUT}
    figures["biases"] = frozenset(figures.get("biases", ()))
    return Model(
        name=name,
        title=said["title"],
        source=said["source"],
        architecture=Architecture(**figures),
        remarks=tuple(said.get("remarks", ())),
        published=said["published"],
    )
