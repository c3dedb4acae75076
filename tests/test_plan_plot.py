"""The figure of `plan`: what is on it, where its labels lie, and that it is the same each time."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Annotation

from layoutc.cli import main
from layoutc.figures import scales
from layoutc.figures.drawing import saved
from layoutc.figures.fronts import decode, prefill
from layoutc.figures.labels import spread
from layoutc.figures.tradeoff import drawn, figure
from layoutc.options import parser
from layoutc.serving.asking import query
from layoutc.serving.studied import Studied
from layoutc.serving.studied import studied as found_by
from layoutc.solver.serving.study import dollars

SVG = "{http://www.w3.org/2000/svg}"


def study(*options: str) -> Studied:
    """What `plan` finds under these options."""
    return found_by(query(parser().parse_args(["plan", *options]))[1])


@pytest.fixture(scope="module")
def several() -> Studied:
    """Two kinds of weights, whose fronts lie near to each other."""
    sizes = ["--batch", "1..64", "--prompt", "128", "--weights", "bf16,int8"]
    return study("gpt2", "--hardware", "h100", "--chips", "1,2", *sizes)


@pytest.fixture(scope="module")
def prompts() -> Studied:
    return study("gpt2", "--hardware", "h100", "--chips", "1", "--batch", "2",
                 "--prompt", "32..256")  # fmt: skip


@pytest.fixture(scope="module")
def picture(several: Studied) -> Figure:
    return as_saved(several)


def as_saved(found: Studied) -> Figure:
    """The figure of which a file is made, under the same settings."""
    kept: list[Figure] = []

    def draw() -> Figure:
        kept.append(drawn(found))
        return kept[0]

    saved("png", draw)
    return kept[0]


def labels(made: Figure) -> list[list[Annotation]]:
    """Of each of the four axes."""
    return [[t for t in axes.texts if isinstance(t, Annotation)] for axes in made.axes[:4]]


def words(made: bytes) -> list[str]:
    """Every text of an .svg."""
    return [text.text or "" for text in ET.fromstring(made).iter(f"{SVG}text")]


# What is on it.


def test_the_text_of_an_svg(several: Studied) -> None:
    said = words(figure(several, "svg"))
    for wanted in (
        "latency of a step (ms)", "cost (chip-ms per token)",
        "MFU (share of the data sheet's peak)",
        "cost (chip-ms per token of a prompt)", "dollars per million tokens",
        "bf16 weights", "int8 weights", "weights on every chip", "also fits",
        "C:1, B:1", "C:1, B:64",
    ):  # fmt: skip
        assert wanted in said
    assert any(text.startswith("latency of a prefill (") for text in said)
    assert any("gpt2 on h100: prompt 128 tokens" in text for text in said)


def test_an_image(several: Studied) -> None:
    assert figure(several, "png").startswith(b"\x89PNG\r\n")


@pytest.mark.parametrize("form", ["svg", "png"])
def test_the_same_bytes_each_time(form: str, prompts: Studied) -> None:
    assert figure(prompts, form) == figure(prompts, form)


def test_fronts_are_what_nothing_beats(several: Studied) -> None:
    fits = several.study.columns.fits
    stored = np.array([several.study.served(r)[0].service.weights for r in range(len(fits))])
    for phase in (decode(several), prefill(several)):
        assert [front.name for front in phase.fronts] == ["bf16 weights", "int8 weights"]
        for front in phase.fronts:
            here = fits & (stored == front.weights)
            for row in np.flatnonzero(here):
                faster = phase.seconds <= phase.seconds[row]
                cheaper = phase.cost <= phase.cost[row]
                equal = (phase.seconds == phase.seconds[row]) & (phase.cost == phase.cost[row])
                beaten = (faster & cheaper & ~equal & here).any()
                assert (row in front.rows) == (not beaten)


def test_mfu_is_the_inverse_of_cost(several: Studied) -> None:
    """Otherwise a front of one would be none of the other."""
    for phase in (decode(several), prefill(several)):
        assert np.ptp(phase.cost * phase.mfu) < 1e-9 * phase.cost.max() * phase.mfu.max()


def test_a_bar_is_where_layouts_change(several: Studied, monkeypatch: pytest.MonkeyPatch) -> None:
    phase = decode(several)
    front = phase.fronts[0]
    points = [*front.points[:-2], *(replace(p, layout="another") for p in front.points[-2:])]
    changed = replace(front, points=points)
    assert changed.switches == [len(points) - 2]
    monkeypatch.setattr(
        "layoutc.figures.tradeoff.decode", lambda _: replace(phase, fronts=[changed])
    )
    made = as_saved(several)
    (bar,) = (line for line in made.axes[0].lines if line.get_linewidth() == 1.6)
    ends = np.asarray(bar.get_xdata(), dtype=float)
    before, after = phase.seconds[front.rows][[-3, -2]] * 1e3
    # Points may lie upon each other, up to rounding.
    assert before * (1 - 1e-9) <= ends.mean() <= after * (1 + 1e-9)
    names = [text.get_text() for text in made.legends[0].get_texts()]
    assert {"weights on every chip", "another", "the layout changes"} <= set(names)


def test_weights_are_told_apart_without_colour(picture: Figure) -> None:
    lines = [line for line in picture.axes[0].lines if line.get_marker() != "."]
    fronts = [line for line in lines if line.get_linestyle() != "None"]
    marked = [line for line in lines if line.get_marker() != "None"]
    assert [line.get_linestyle() for line in fronts] == ["-", "--"]
    assert [line.get_markerfacecolor() == "white" for line in marked] == [False, True]


def test_dollars_are_on_the_second_scale(several: Studied, picture: Figure) -> None:
    axes = picture.axes[0]
    (right,) = axes.child_axes
    low, high = axes.get_ylim()
    each = dollars(1e-3, several.query.price)
    assert right.get_ylim() == pytest.approx((low * each, high * each))
    assert len([t for t in right.get_yticks() if low * each <= t <= high * each]) >= 2


def test_without_a_price_there_is_one_scale(several: Studied) -> None:
    free = replace(several, query=replace(several.query, price=0.0))
    assert "dollars per million tokens" not in words(figure(free, "svg"))


def test_prompts_lie_along_a_line(prompts: Studied) -> None:
    """As in the paper's figure B.1, where batch and chips say nothing about a point."""
    phase = prefill(prompts)
    assert [p.label for p in phase.fronts[0].points] == [
        f"C:1, S:{s}" for s in prompts.study.columns.prompt[phase.fronts[0].rows]
    ]
    assert [front.name for front in decode(prompts).fronts] == [
        f"bf16 weights, context {s}" for s in (32, 64, 128, 256)
    ]


# Where labels lie.


def test_no_label_lies_on_another(picture: Figure) -> None:
    for texts in labels(picture):
        assert texts
        for one, other in combinations([text.get_window_extent() for text in texts], 2):
            assert not one.overlaps(other)


def test_labels_stay_within_their_axes(picture: Figure) -> None:
    for axes, texts in zip(picture.axes, labels(picture), strict=False):
        whole = axes.get_window_extent()
        for box in (text.get_window_extent() for text in texts):
            assert whole.x0 < box.x0 < box.x1 < whole.x1
            assert whole.y0 < box.y0 < box.y1 < whole.y1


def test_labels_cover_no_point_of_a_front(several: Studied, picture: Figure) -> None:
    at = picture.axes[0].transData
    phase = decode(several)
    for front in phase.fronts:
        points = np.stack([phase.seconds * 1e3, phase.cost * 1e3], axis=1)[front.rows]
        for text in labels(picture)[0]:
            box = text.get_window_extent()
            assert not any(box.contains(x, y) for x, y in at.transform(points))


def test_a_single_point() -> None:
    made = as_saved(study("gpt2", "--hardware", "h100", "--chips", "1", "--batch", "8"))
    assert [[text.get_text() for text in texts] for texts in labels(made)] == [["C:1, B:8"]] * 4
    for axes in made.axes:
        low, high = axes.get_xlim()
        assert len([tick for tick in axes.get_xticks() if low <= tick <= high]) >= 2


@pytest.mark.parametrize("count", [1, 2, 3, 8, 17])
def test_labels_are_wanted_from_both_ends(count: int) -> None:
    order = spread(count)
    assert sorted(order) == list(range(count))
    assert order[:2] == [0, count - 1][:count]


# Scales.


@pytest.mark.parametrize(
    ("low", "high", "wanted"),
    [
        (0.9, 110.0, [1, 2, 5, 10, 20, 50, 100]),
        (0.5, 5e4, [1, 10, 100, 1000, 10000]),
        (2.75, 3.08, [2.8, 2.9, 3.0]),
        (4.5, 21.0, [5, 10, 20]),
        (75.0, 130.0, [80, 90, 100, 110, 120, 130]),
    ],
)
def test_ticks(low: float, high: float, wanted: list[float]) -> None:
    assert scales.ticks(low, high) == pytest.approx(wanted)


@pytest.mark.parametrize("span", [1.0, 1.001, 1.1, 2.0, 30.0, 1e6])
@pytest.mark.parametrize("low", [3e-7, 0.0199, 7.3, 9.99e5])
def test_every_axis_has_ticks(low: float, span: float) -> None:
    begin, end = scales.ends(np.array([low, low * span]))
    ticks = scales.ticks(begin, end)
    assert begin < low <= low * span < end
    assert 2 <= len(ticks) <= 12
    assert len({scales.written(tick) for tick in ticks}) == len(ticks)


@pytest.mark.parametrize(
    ("largest", "usual", "wanted"),
    [(0.2, "ms", "ms"), (2.0, "ms", "ms"), (4e-4, "ms", "µs"), (3.0, "s", "s"), (0.4, "s", "ms"),
     (1e-9, "s", "µs")],
)  # fmt: skip
def test_units(largest: float, usual: str, wanted: str) -> None:
    assert scales.unit(largest, usual)[0] == wanted


# The command.


def test_the_command_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "plan.SVG"
    options = ["--hardware", "h100", "--chips", "1", "--batch", "8", "--plot", str(out)]
    assert main(["plan", "gpt2", *options]) == 0
    assert f"wrote {out}" in capsys.readouterr().out
    assert "C:1, B:8" in words(out.read_bytes())


def test_an_unknown_kind_is_refused_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "gpt2", "--plot", "plan.pdf"]) == 2
    assert ".svg or .png" in capsys.readouterr().err
