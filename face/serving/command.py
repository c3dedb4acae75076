"""The command `plan`."""

from __future__ import annotations

import argparse
import sys

from layoutc import asked, document
from layoutc.figures import drawing
from layoutc.pipeline import Source, WrongCall, WrongFile, refusals
from layoutc.serving.asking import query
from layoutc.serving.studied import Studied, studied


def run(chosen: argparse.Namespace) -> int:
    """What serving a model takes; 1 where nothing that was asked for fits."""
    _known_endings(chosen)
    source, what = query(chosen)
    with refusals(source):
        found = studied(what)
    if not found.study.columns.fits.any():
        raise _nothing_fits(chosen.model, found)
    _written(chosen, found)
    if chosen.csv == "-":
        return 0
    if chosen.json:
        from layoutc.serving.document import document as made

        sys.stdout.write(document.dumped(made(found)))
        return 0
    from layoutc.serving.report import report

    sys.stdout.write(report(found, explain=chosen.explain))
    for path in filter(None, (chosen.plot, chosen.html, chosen.csv)):
        print(f"wrote {path}")
    return 0


def _known_endings(chosen: argparse.Namespace) -> None:
    """Raises `WrongCall`, before long work, for a file whose kind can't be told."""
    if chosen.plot:
        drawing.kind(chosen.plot)
    if chosen.html and not chosen.html.endswith(".html"):
        raise WrongCall(f"--html {chosen.html}: it ends in .html")


def _written(chosen: argparse.Namespace, found: Studied) -> None:
    """The files that were asked for."""
    if chosen.csv:
        from layoutc.serving.csv_rows import rows

        if chosen.csv == "-":
            sys.stdout.write(rows(found))
        else:
            asked.write(chosen.csv, rows(found))
    if chosen.plot:
        from layoutc.figures.tradeoff import figure

        asked.write(chosen.plot, figure(found, drawing.kind(chosen.plot)))
    if chosen.html:
        from layoutc.serving.page.page import page

        asked.write(chosen.html, page(found))


def _nothing_fits(model: str, found: Studied) -> WrongFile:
    from layoutc.serving.enough import refusal

    return WrongFile(Source.without_tree(model), [refusal(found)])
