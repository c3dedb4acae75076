"""The page of `plan --html` as Chromium shows it: wide and narrow, light and dark."""

from __future__ import annotations

import pytest
from browser import Seen, look
from studies import study

from layoutc.serving.page.page import page
from layoutc.serving.studied import Studied

LOOK = """(() => {
  const all = (query) => [...document.querySelectorAll(query)];
  const sizes = (query) => all(query).map((one) => {
    const box = one.getBoundingClientRect();
    return [box.width, box.height];
  });
  const column = (name) => all("table.points thead th").findIndex((h) => h.textContent === name);
  const values = (at) => all("table.points tbody tr").map((r) => Number(r.cells[at].dataset.value));
  const request = column("request"), button = all("table.points thead button")[request];
  const sorted = [];
  for (const _ of [1, 2]) { button.click(); sorted.push(values(request)); }
  const mark = all("#front-step .front")[0];
  mark.focus();
  return JSON.stringify({
    figures: sizes("figure"), drawings: sizes("figure svg"), bars: sizes("rect.part"),
    page: [document.documentElement.clientWidth, document.documentElement.scrollWidth],
    paper: getComputedStyle(document.body).backgroundColor,
    sorted, order: button.parentElement.getAttribute("aria-sort"),
    told: [document.querySelector("#front-step .readout").textContent,
           mark.querySelector("title").textContent],
  });
})()"""


@pytest.fixture(scope="module")
def found() -> Studied:
    return study("gpt2 --hardware tpu-v4 --chips 4,8 --batch 1,8,64 --prompt 64 --generate 16")


@pytest.fixture(scope="module", params=[(1300, False), (390, True)], ids=["wide", "narrow, dark"])
def shown(
    found: Studied, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[int, bool, Seen]:
    width, dark = request.param
    room = tmp_path_factory.mktemp("page")
    file = room / "plan.html"
    file.write_text(page(found), encoding="utf-8")
    return width, dark, look(file, room / "plan.png", LOOK, width, dark)


def test_the_console_is_silent(shown: tuple[int, bool, Seen]) -> None:
    *_, seen = shown
    assert seen.console == []


def test_everything_has_a_size(found: Studied, shown: tuple[int, bool, Seen]) -> None:
    """Three drawings of the front, bars for both phases and for memory."""
    *_, seen = shown
    assert len(seen.answer["figures"]) == 6
    points = int(found.study.front.sum())
    assert len(seen.answer["drawings"]) == 3 + 3 * points
    for wide, high in seen.answer["figures"] + seen.answer["drawings"]:
        assert wide > 150
        assert high > 15
    assert sum(wide > 1 for wide, _ in seen.answer["bars"]) > 3 * points


def test_the_page_is_no_wider_than_its_window(shown: tuple[int, bool, Seen]) -> None:
    *_, seen = shown
    has, takes = seen.answer["page"]
    assert takes <= has


def test_it_is_light_or_dark_as_the_reader_wants(shown: tuple[int, bool, Seen]) -> None:
    _, dark, seen = shown
    assert seen.answer["paper"] == ("rgb(20, 24, 28)" if dark else "rgb(255, 255, 255)")


def test_a_heading_sorts_and_a_mark_tells(found: Studied, shown: tuple[int, bool, Seen]) -> None:
    *_, seen = shown
    rising, falling = seen.answer["sorted"]
    assert rising == sorted(map(float, found.study.columns.request_seconds))
    assert falling == rising[::-1]
    assert seen.answer["order"] == "descending"
    told, title = seen.answer["told"]
    assert told == title


def test_the_picture_is_of_the_whole_page(shown: tuple[int, bool, Seen]) -> None:
    width, _, seen = shown
    assert seen.size[0] == width
    assert seen.size[1] > 3000
    assert seen.colours > 20
