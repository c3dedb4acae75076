"""The commands on whole models: `model` and `plan`."""

from __future__ import annotations

import argparse
import sys
from pathlib import PurePath
from typing import TYPE_CHECKING

from layoutc import asked, document
from layoutc.pipeline import Source, WrongCall, WrongFile, contents
from layoutc.terminal import show

if TYPE_CHECKING:
    from layoutc.dsl.models.architecture import Model


def run_model(chosen: argparse.Namespace) -> int:
    """The catalogue, or one model of it or of a configuration, as a `.layout` file."""
    from layoutc import model as said
    from layoutc.dsl.models.layout import spelled

    if chosen.name is None:
        return _list(chosen)
    if chosen.output not in (None, "-") and not chosen.output.endswith(".layout"):
        raise WrongCall(f"-o {chosen.output}: a program's file ends in .layout")
    model = model_called(chosen.name)
    made = spelled(model)
    written = chosen.output not in (None, "-")
    if written:
        asked.write(chosen.output, made.text)
    if chosen.json:
        sys.stdout.write(document.dumped(said.document(model, made)))
    elif written:
        print(f"wrote {chosen.output}; compile it: layoutc compile {chosen.output} --chips N")
    else:
        show(made.text, sys.stdout)
    return 0


def _list(chosen: argparse.Namespace) -> int:
    from layoutc import model as said
    from layoutc.dsl.models.catalogue import catalogue

    if chosen.output:
        raise WrongCall(f"-o {chosen.output}: of which model? layoutc model NAME -o FILE.layout")
    models = catalogue().values()
    made = document.dumped(said.documents(models)) if chosen.json else said.listed(models)
    sys.stdout.write(made)
    return 0


def run_plan(chosen: argparse.Namespace) -> int:
    """A whole model served, at every point that is asked for."""
    from layoutc.serving.command import run

    return run(chosen)


def model_called(name: str) -> Model:
    """The model of that name, or the one that a `config.json` describes.

    What has a slash, ends in ".json", or is "-", standard input, is a file.

    Raises:
        WrongCall: there is no model of that name.
        WrongFile: the file can't be read, or describes no model that can be written.
    """
    from layoutc.dsl.models.catalogue import UnknownModel, model_named

    if "/" in name or name.endswith(".json") or name == "-":
        return _configured(name)
    try:
        return model_named(name)
    except UnknownModel as unknown:
        raise WrongCall(str(unknown)) from None


def _configured(path: str) -> Model:
    name, text = contents(path)
    return configured(name, text, "stdin" if path == "-" else PurePath(path).stem)


def configured(name: str, text: str, stem: str) -> Model:
    """The model that a configuration's text describes; `name` stands in errors. Raises
    `WrongFile`."""
    from layoutc.dsl.models.config import read_config

    source = name if name.isprintable() else "a config.json"
    found = read_config(text, stem, source)
    if isinstance(found, list):
        raise WrongFile(Source.without_tree(name, text), found)
    return found
