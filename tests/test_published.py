"""What the paper published and what is predicted for it: how far apart they are, and that the page
says so. With `-s` both are printed side by side."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import published
import pytest
from published_page.contexts import VARIANTS
from published_page.facts import GPU, TPU, tables, timings
from published_page.figures import drawn
from published_page.found import Found, found
from published_page.page import page
from published_page.predictions import Errors, Point, program_of

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "published.md"

NAMED = {"palm-540b": 540e9, "mt-nlg-530b": 530e9, "palm-62b": 62e9}
"""Parameters as the models' names have them."""


@pytest.fixture(scope="module")
def every() -> Found:
    """Everything, found once."""
    return found()


def tell(points: list[Point]) -> Errors:
    """How far points are off; prints them."""
    for point in points:
        timing, both = point.timing, f"{point.predicted:9.4g} s, {point.timing.seconds:9.4g} s"
        what = f"{timing.model} {timing.phase}, {timing.chips} chips, batch {timing.batch}"
        print(f"{timing.note:30} {what:45} {both} published, {point.error:+.1%}")
    own = Errors.of(points)
    print(f"mean absolute error {own.mean:.1%}, worst {own.worst.error:+.1%}\n")
    return own


# Times.


def test_every_timing_is_there(every: Found) -> None:
    """PaLM's totals of table D.2 are beside them: its nine batches."""
    assert [p.timing for p in every.tpu[:-9]] == timings(TPU)
    assert [p.timing for p in every.gpu] == timings(GPU)
    assert [p.series for p in every.tpu[-9:]] == ["PaLM total"] * 9


def test_the_tables_and_the_timings_are_the_same_print(every: Found) -> None:
    """All eight rows of tables 2 and 3, and all 63 of table D.2, each at its seconds."""
    rows = [p for p in (*every.tpu, *every.gpu) if p.table.startswith("table")]
    assert len(rows) == len(tables()) == 8 + 63
    for point in rows:
        assert point.printed is not None, point.timing
        assert point.printed.seconds == pytest.approx(point.timing.seconds), point.timing


def test_tpu_v4(every: Found) -> None:
    for table in ("table 2", "table 3", "table D.2", "figure 6", "figure 7"):
        tell(every.of_tpu(table))
    own = tell(list(every.tpu))
    assert own.count == 49 + 9
    assert own.mean <= 0.06
    assert abs(own.worst.error) <= 0.25, own.worst.timing


def test_a100(every: Found) -> None:
    for series in ("TP16", "TP32", "PP3/TP8"):
        tell(every.series(series))
    own = tell(list(every.gpu))
    assert own.count == 27
    assert own.mean <= 0.05
    assert abs(own.worst.error) <= 0.25, own.worst.timing


def test_layouts_are_the_published_ones(every: Found) -> None:
    for point in (*every.tpu, *every.gpu):
        timing = point.timing
        for layout in point.layouts:
            assert layout.name == timing.layout, timing
            assert timing.attention in ("", layout.attention), timing
            assert layout.plan.chips == timing.tensor, timing


# Shares of the peak.


def test_shares_of_the_peak_are_the_papers(every: Found) -> None:
    """2 · parameters · tokens / (chips · peak · time), of every printed time, is within a point of
    what is printed: with all weights counted, and with as many as the models' names say."""
    shown = [p for p in (*every.tpu, *every.gpu) if p.printed is not None]
    assert len(shown) == 8 + 63 + 8
    for point in shown:
        assert point.printed is not None
        share, ratio = point.mfu(point.timing.seconds), NAMED[point.timing.model] / point.parameters
        assert share == pytest.approx(point.printed.mfu, abs=0.01), point.timing
        assert share * ratio == pytest.approx(point.printed.mfu, abs=0.01), point.timing


def test_a_share_by_hand(every: Found) -> None:
    """Table 2's 76 %: 512 prompts of 2,048 tokens on 64 chips in 85.2 s."""
    (point,) = (p for p in every.of("table 2") if p.timing.seconds == 85.2)
    parameters = program_of("palm-540b").parameters
    share = 2 * parameters * 512 * 2048 / (64 * 275e12 * 85.2)
    assert point.mfu(85.2) == pytest.approx(share)
    assert share == pytest.approx(0.756, abs=5e-4)


# What is not fitted.


def test_the_chat_of_the_introduction(every: Found) -> None:
    assert every.chat is not None
    print(f"the chat: {every.chat.total:.3g} s, 1.9 s published, {every.chat.error:+.1%}")
    assert every.chat.total == pytest.approx(1.9, rel=0.15)


def test_table_1(every: Found) -> None:
    """By hand, multihead at batch 128: 30 % of 64 · 32 GiB hold, of each sequence and token, keys
    and values of 118 layers with 64 heads of 128, two bytes each."""
    assert len(every.contexts) == 6
    for one in every.contexts:
        print(f"{one.variant:20} {one.batch:4} {one.found:9,.0f}, {one.printed:,} published")
        assert one.found == pytest.approx(one.printed, rel=0.02), one
        assert one.attention == VARIANTS[one.variant][1], one
    first = every.contexts[0]
    assert (first.variant, first.batch) == ("multihead", 128)
    by_hand = 0.3 * 64 * 2**35 / (128 * 2 * 118 * 64 * 128 * 2)
    assert first.found == pytest.approx(by_hand)


def test_figure_3(every: Found) -> None:
    assert len(every.volumes) == 70
    for one in every.volumes:
        assert one.counted == pytest.approx(one.drawn, rel=1e-3), one


def test_figure_3s_last_line_is_the_weights_alone(every: Found) -> None:
    """2·E·F in two bytes at any number of tokens; 2·B·L·E/64 with it would be five times that at
    the most tokens."""
    line = [one for one in every.volumes if one.layout == "XYZ-WG"]
    weights = 2 * 16384 * 65536 * 2
    assert {one.counted for one in line} == {weights}
    assert (weights + 2 * line[-1].tokens * 16384 / 64 * 2) / line[-1].drawn > 4.9


# The page.


def test_the_page_is_current(every: Found) -> None:
    """If this fails and the new figures are right: python benchmarks/published.py"""
    assert page(every) == PAGE.read_text(encoding="utf-8")


def test_figures_are_those_that_the_page_shows(every: Found, tmp_path: Path) -> None:
    made = {path.name: path.read_bytes() for path in drawn(every, tmp_path)}
    assert made.keys() == set(re.findall(r"\]\(published/([^)]+)\)", PAGE.read_text()))
    assert all(data.lstrip().startswith(b"<?xml") for data in made.values())
    again = {path.name: path.read_bytes() for path in drawn(every, tmp_path / "again")}
    assert made == again


def test_one_chapter_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["published.py", "--only", "figure3"])
    assert published.main() == 0
    out, _ = capsys.readouterr()
    assert out.startswith("## Figure 3")
    assert out.count("## ") == 1
    assert out.strip() in PAGE.read_text(encoding="utf-8")
