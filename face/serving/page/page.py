"""The page: its head, which lets nothing be loaded, and its sections from the answer down."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from importlib.resources import files

from layoutc import __version__
from layoutc.serving import said
from layoutc.serving.page.answers import answered, asked
from layoutc.serving.page.bars import held, keys, taken
from layoutc.serving.page.fronts import fronts
from layoutc.serving.page.html import Markup, element, joined, verbatim
from layoutc.serving.page.patterns import patterns
from layoutc.serving.page.pieces import heading
from layoutc.serving.page.points import points
from layoutc.serving.page.shown import Shown, shown
from layoutc.serving.page.statements import figures, layouts
from layoutc.serving.studied import Studied

SECTIONS = {
    "answer": "Answer", "front": "Latency and cost", "points": "Points",
    "time": "Where the time goes", "memory": "Memory", "layouts": "Layouts",
    "figures": "Figures and constants",
}  # fmt: skip
"""The sections in order, by their ids."""


def page(found: Studied) -> str:
    """A whole file of HTML, ending in a newline."""
    here = shown(found)
    title = f"{said.title(found)}: layoutc plan"
    style, script = _own("style.css"), _own("script.js")
    html = element("html", _head(title, style, script), _body(here, script), lang="en")
    return f"<!doctype html>\n{html}\n"


def _own(name: str) -> str:
    return (files("layoutc.serving.page") / name).read_text(encoding="utf-8")


def _head(title: str, style: str, script: str) -> Markup:
    """Nothing is loaded, and no script runs but ours: browsers hold the page to it."""
    policy = (
        f"default-src 'none'; style-src {_hashed(style)}; script-src {_hashed(script)}; "
        "base-uri 'none'; form-action 'none'"
    )
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        verbatim("style", style),
    )


def _hashed(text: str) -> str:
    """What a policy calls a style or a script that stands in the page."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _body(here: Shown, script: str) -> Markup:
    sections = zip(SECTIONS.items(), _sections(here), strict=True)
    main = [
        element("section", heading(title, name), content, aria_labelledby=name)
        for (name, title), content in sections
    ]
    return element(
        "body", patterns(), _header(here), element("main", *main), _footer(here),
        verbatim("script", script),
    )  # fmt: skip


def _header(here: Shown) -> Markup:
    links = [
        element("li", element("a", title, href=f"#{name}")) for name, title in SECTIONS.items()
    ]
    return element(
        "header",
        element("h1", said.title(here.found)),
        asked(here.found),
        element("nav", element("ul", *links), aria_label="Sections"),
    )


def _sections(here: Shown) -> Iterator[Markup]:
    """What is in each of the sections."""
    yield answered(here)
    yield fronts(here)
    yield points(here)
    yield joined([keys(), taken(here, "prefill"), taken(here, "decode")])
    yield held(here)
    yield layouts(here)
    yield figures(here)


def _footer(here: Shown) -> Markup:
    made = f"Made by layoutc {__version__}. Everything here is predicted, not measured."
    return element("footer", element("p", " ".join([*said.constants(here.found), made])))
