"""The page of `plan --html`: in order, whole in itself, escaped, and true to the document."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from itertools import combinations, pairwise
from math import log
from pathlib import Path
from typing import Any

import pytest
from pages import Node, read
from studies import denser, study

from layoutc.cli import main
from layoutc.figures.boxes import Box
from layoutc.serving.document import point
from layoutc.serving.page.html import element, verbatim
from layoutc.serving.page.labels import Labels
from layoutc.serving.page.page import SECTIONS, page
from layoutc.serving.page.scales import over
from layoutc.serving.page.shown import spread
from layoutc.serving.said import went
from layoutc.serving.studied import Studied
from layoutc.solver.units import duration, size

WORDS = "gpt2 --hardware tpu-v4 --chips 4,8 --batch 1,8,64 --prompt 64 --generate 16"
HOSTILE = '<script>alert("it\'s")</script>&amp;'


@pytest.fixture(scope="module")
def found() -> Studied:
    return study(f"{WORDS} --latency 1us --budget 1000/Mtok")


@pytest.fixture(scope="module")
def made(found: Studied) -> Node:
    return read(page(found))


@pytest.fixture(scope="module")
def many(found: Studied) -> Studied:
    """1,600 points."""
    return denser(found, 40, 20)


# In order.


def test_sections_come_in_order_and_are_linked(made: Node) -> None:
    headings = [(h.attributes["id"], h.text) for h in made.all("h2")]
    assert headings == list(SECTIONS.items())
    assert [a.attributes["href"] for a in made.one("nav").all("a")] == [f"#{n}" for n in SECTIONS]


def test_ids_are_unique_and_what_is_referred_to_is_there(made: Node) -> None:
    ids = [node.attributes["id"] for node in made.all() if "id" in node.attributes]
    assert len(set(ids)) == len(ids)
    for node in made.all():
        wanted = node.attributes.get("aria-labelledby", "").split()
        wanted += re.findall(r"url\(#([^)]*)\)", node.attributes.get("fill", ""))
        wanted += [node.attributes["href"].removeprefix("#")] if node.tag == "a" else []
        assert set(wanted) <= set(ids), node


def test_figures_tables_and_drawings_say_what_they_are(made: Node) -> None:
    assert made.one("html").attributes["lang"] == "en"
    for figure in made.all("figure"):
        assert figure.one("figcaption").text
    for cell in made.all("th"):
        assert cell.attributes["scope"] in ("col", "row")
    for row in (row for body in made.all("tbody") for row in body.all("tr")):
        assert [cell.attributes["scope"] for cell in row.all("th")] == ["row"]
    for drawing in made.all("svg"):
        first = next(drawing.all())
        assert drawing.attributes.get("aria-hidden") == "true" or first.tag == "title"
    assert [bool(one.one("desc").text) for one in made.all("svg", "scatter")] == [True] * 3


# Whole in itself.


def test_nothing_is_loaded(made: Node) -> None:
    for node in made.all():
        assert not {"src", "srcset", "data", "style"} & set(node.attributes), node
        assert not any(name.startswith("on") for name in node.attributes), node
        assert node.attributes.get("href", "#").startswith("#")
        assert node.tag not in ("link", "img", "iframe", "base", "object", "use")
    own = made.one("style").text + made.one("script").text
    assert not re.search(r"url\(|@import|https?:|fetch|import\(", own)


def test_browsers_run_our_script_alone(made: Node) -> None:
    """The policy names the style and the script by their sums, and allows nothing else."""
    (policy,) = (
        m.attributes["content"]
        for m in made.all("meta")
        if m.attributes.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    for tag in ("style", "script"):
        digest = b64encode(sha256(made.one(tag).text.encode()).digest()).decode()
        assert rules[f"{tag}-src"] == f"'sha256-{digest}'"


def test_names_from_files_are_text(found: Studied) -> None:
    machine = found.query.machine
    figures = tuple(replace(figure, source=HOSTILE, unit=HOSTILE) for figure in machine.figures)
    hostile = replace(machine, name=HOSTILE, figures=figures)
    asked = replace(found.query, model=HOSTILE, machine=hostile, whose=HOSTILE)
    text = page(replace(found, query=asked))
    made = read(text)
    assert made.one("h1").text == f"{HOSTILE} on {HOSTILE}"
    assert len(list(made.all("script"))) == 1
    assert HOSTILE not in text


def test_elements_escape_text_and_attributes() -> None:
    assert str(element("a", '<b>&"', href="\"'<>")) == (
        '<a href="&quot;&#x27;&lt;&gt;">&lt;b&gt;&amp;&quot;</a>'
    )
    assert str(element("i", ["x", element("b", None)], hidden=True, id=None)) == (
        "<i hidden>x<b></b></i>"
    )


def test_a_script_can_not_end_itself() -> None:
    with pytest.raises(AssertionError):
        verbatim("script", "'</SCRIPT>'")


# What the document says.


def rows(made: Node, table: str) -> list[Node]:
    return list(next(made.all("table", table)).one("tbody").all("tr"))


def test_the_table_has_the_documents_figures(found: Studied, made: Node) -> None:
    head = [cell.text for cell in next(made.all("table", "points")).one("thead").all("th")]
    listed = rows(made, "points")
    assert len(listed) == len(found.study)
    for line in listed:
        document = point(found, int(line.attributes["id"].removeprefix("point-")))
        cells = dict(zip(head, (c for c in line.children if isinstance(c, Node)), strict=True))
        figures = {
            "front": document["on_front"],
            "chips": document["chips"],
            "batch": document["batch"],
            "prefill": document["prefill"]["seconds"],
            "prefill MFU": document["prefill"]["mfu"],
            "step": document["decode"]["step_seconds"],
            "request": document["request_seconds"],
            "$/Mtok": document["dollars_per_million_tokens"],
            "a chip holds": document["memory_bytes"],
            "room for": document["max_context"],
        }
        for name, value in figures.items():
            assert float(cells[name].attributes["data-value"]) == value, name
        assert cells["request"].text == duration(document["request_seconds"])
        assert cells["decode layout"].text.startswith(document["decode"]["layout"])


def test_answers_come_first_with_their_ranges(found: Studied, made: Node) -> None:
    """1 µs can't be met, and 1000 dollars can: one card says so, the other is an answer."""
    unmet, met = made.one("div", "cards").all("article")
    assert "unmet" in unmet.attributes["class"]
    assert "unmet" not in met.attributes["class"]
    assert "a step of decode within 1us can't be met" in unmet.text.lower()
    seconds = found.study.columns.step_seconds
    assert duration(float(seconds.min())) in unmet.text
    low, high = found.query.reached.low * seconds.min(), found.query.reached.high * seconds.min()
    assert f"({duration(low)} to {duration(high)})" in unmet.text


def width(rect: Node) -> float:
    return float(rect.attributes["width"].removesuffix("%")) / 100


def barred(made: Node, figure: str) -> list[tuple[int, Node]]:
    found = []
    for line in made.called(figure).one("tbody").all("tr"):
        link = next(line.all("a"))
        found.append((int(link.attributes["href"].removeprefix("#point-")), line.one("svg")))
    return found


@pytest.mark.parametrize(("phase", "key"), [("prefill", "seconds"), ("decode", "step_seconds")])
def test_bars_are_as_long_as_the_seconds(found: Studied, made: Node, phase: str, key: str) -> None:
    bars = barred(made, f"time-{phase}")
    assert {row for row, _ in bars} >= set(found.study.rows(found.study.front))
    for row, bar in bars:
        run = point(found, row)[phase]
        parts = went(run)
        drawn = [r for r in bar.all("rect") if "under" not in r.attributes["class"]]
        under = list(bar.all("rect", "under"))
        assert sum(map(width, drawn)) == pytest.approx(1, abs=1e-6)
        assert sum(parts.added.values()) == pytest.approx(run[key])
        for rects, seconds in ((drawn, parts.added), (under, parts.under)):
            shown = [width(rect) * run[key] for rect in rects]
            assert shown == pytest.approx(list(seconds.values()), abs=1e-6 * run[key])
        starts = [float(r.attributes["x"].removesuffix("%")) / 100 for r in drawn]
        for rect, (start, after) in zip(drawn, pairwise([*starts, 1.0]), strict=True):
            assert start + width(rect) == pytest.approx(after, abs=1e-6)


def test_memory_ends_at_its_line(found: Studied, made: Node) -> None:
    for row, bar in barred(made, "memory-bars"):
        memory = point(found, row)["memory"]
        limit = found.query.machine.memory_bytes
        end = float(bar.one("line").attributes["x1"].removesuffix("%")) / 100
        parts = [memory[name] for name in ("weights", "caches", "activations", "free")]
        assert sum(parts) == pytest.approx(limit)
        assert [width(r) / end * limit for r in bar.all("rect")] == pytest.approx(
            [part for part in parts if part], abs=1e-6 * limit
        )
        assert size(limit) in made.called("memory-bars").one("figcaption").text


def shape(mark: Node) -> tuple[float, float]:
    """Where the middle of a mark is."""
    drawn = [n for n in mark.all() if n.tag in ("circle", "rect")][-1].attributes
    if "cx" in drawn:
        return float(drawn["cx"]), float(drawn["cy"])
    half = float(drawn["width"]) / 2
    return float(drawn["x"]) + half, float(drawn["y"]) + half


def test_marks_lie_where_the_logarithms_of_their_figures_do(found: Studied, made: Node) -> None:
    marks = made.called("front-request").all("a", "mark")
    at = {int(m.attributes["href"].removeprefix("#point-")): shape(m) for m in marks}
    assert set(at) >= set(found.study.rows(found.study.front))
    columns = found.study.columns
    for axis, values in enumerate((columns.request_seconds, columns.per_token)):
        (a, b), *others = combinations(at, 2)
        scale = (at[a][axis] - at[b][axis]) / log(values[a] / values[b])
        for one, other in others:
            apart = scale * log(values[one] / values[other])
            assert at[one][axis] - at[other][axis] == pytest.approx(apart, abs=1e-2)
        assert scale > 0 if axis == 0 else scale < 0


def test_statements_and_figures_are_there(found: Studied, made: Node) -> None:
    section = next(s for s in made.all("section") if s.attributes["aria-labelledby"] == "figures")
    for figure in found.query.machine.figures:
        assert figure.name in section.text
        assert figure.source in section.text
    layouts = next(s for s in made.all("section") if s.attributes["aria-labelledby"] == "layouts")
    assert {cell.text for cell in layouts.all("td")} >= {"matmul", "weights", "latency"}
    assert len(list(layouts.all("pre"))) == 2 * len(list(layouts.all("article")))


# Sizes.


def test_many_points_are_a_small_page(many: Studied) -> None:
    assert len(many.study) == 1600
    text = page(many)
    assert len(text.encode()) < 1_000_000
    made = read(text)
    front = int(many.study.front.sum())
    caption = next(made.all("table", "points")).one("caption").text
    assert caption.startswith(f"Of 1,600 points those on the front of latency and cost, {front}")
    listed = {int(line.attributes["id"].removeprefix("point-")) for line in rows(made, "points")}
    assert listed >= set(many.study.rows(many.study.front))
    dots = made.called("front-request").one("path", "faint").attributes["d"].count("M")
    assert dots == int(many.study.columns.fits.sum()) - len(listed)


def test_what_is_too_much_is_left_out_evenly() -> None:
    assert spread([3, 1, 2], 3) == [3, 1, 2]
    assert spread(range(101), 5) == [0, 25, 50, 75, 100]


# Axes and labels.


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([1.0, 1000.0], [1, 3, 10, 30, 100, 300, 1000]),
        ([2e-6, 5e-6], [2e-6, 2.5e-6, 3e-6, 3.5e-6, 4e-6, 4.5e-6, 5e-6]),
        ([10.0], [7, 8, 9, 10, 15]),
        ([1e-9, 1e9], [1e-10, 1e-7, 1e-4, 1e-1, 1e2, 1e5, 1e8]),
    ],
)
def test_ticks_are_round_and_few(values: list[float], ticks: list[float]) -> None:
    assert over(values, 0, 100).ticks() == ticks


def test_an_axis_is_logarithmic_and_leaves_room() -> None:
    axis = over([1.0, 100.0], 400, 0)
    assert axis.at(10) == pytest.approx(200)
    assert 0 < axis.at(100) < axis.at(1) < 400


def test_labels_cover_nothing() -> None:
    labels = Labels(Box(0, 0, 200, 100))
    places = [(50.0, 50.0), (60.0, 55.0), (70.0, 60.0)]
    for place in places:
        labels.keep_clear(*place)
    found = [labels.place("C64 B16", *place) for place in places]
    assert any(found)
    assert not any(one.meets(other) for one, other in combinations(labels.covered[3:], 2))
    assert not any(one.meets(other) for one in labels.covered[:3] for other in labels.covered[3:])
    assert Labels(Box(0, 0, 20, 10)).place("C64 B16", 10, 5) is None


# The command.


def test_the_command_writes_it(
    found: Studied, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    def known(*_: Any) -> Studied:
        return found

    monkeypatch.setattr("layoutc.serving.command.studied", known)
    path = tmp_path / "plan.html"
    assert main(["plan", *WORDS.split(), "--html", str(path)]) == 0
    assert path.read_text(encoding="utf-8") == page(found)
    assert capsys.readouterr().out.endswith(f"wrote {path}\n")
