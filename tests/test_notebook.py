"""A plan in a notebook: whole and escaped HTML, LaTeX that can be typeset."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import samples
from matplotlib.mathtext import MathTextParser

import layoutc

FFN = Path(__file__).parent.parent / "examples" / "ffn.layout"


class Page(HTMLParser):
    """What is open, and the cells that were closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.cells: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert {name for name, _ in attrs} <= {"class", "scope", "colspan"}
        self.open.append(tag)
        if tag in {"td", "th", "p", "caption"}:
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in {"td", "th", "p", "caption"}:
            self.cells[-1] += data


def page(plan: layoutc.Compiled) -> Page:
    read = Page()
    read.feed(plan._repr_html_())
    read.close()
    assert read.open == []
    return read


def test_a_table_has_what_the_report_has() -> None:
    plan = layoutc.compile(FFN, 64)
    words = "".join("".join(page(plan).cells).split())
    for line in str(plan).splitlines():
        parts = line.replace(" : ", " ").replace(" = ", " ") if "pass" not in line else line
        assert "".join(parts.split()) in words


def test_a_block_runs_across_the_table() -> None:
    mesh = {"x": 2, "y": 2, "z": 1}
    blocks = layoutc.compile_text(samples.BLOCKS, mesh=mesh)
    cells = page(blocks).cells
    assert "repeat 3 {" in cells
    assert "    next x = y" in cells


def test_a_table_is_escaped() -> None:
    text = "dims B=8\nmesh x\ninput x : B_x\ny = exp(x)\noutput y\n"
    plan = layoutc.compile_text(text, 2, name="<script>a&b")
    assert "<script" not in plan._repr_html_()
    assert page(plan).cells[0].startswith("<script>a&b on 2 chips")


def test_equations_are_latex() -> None:
    shown = layoutc.compile(FFN, 64).costs._repr_latex_()
    formula = r"\frac{2 B L \left(\frac{E}{X} + \frac{F}{Y Z}\right)}{\mathrm{bandwidth}}"
    assert rf"\approx {formula}," in shown
    assert r"7{,}962{,}624\ \text{elements} = 15.9\,\mathrm{MB}" in shown
    assert r"&= 59.0\,\mathrm{\mu s}" in shown
    assert shown.count("{") == shown.count("}")
    begin, *rows, end = shown.splitlines()
    assert (begin, end) == (r"$$\begin{aligned}", r"\end{aligned}$$")
    for row in rows:
        for side in row.removesuffix(r" \\").split("&"):
            if side:
                MathTextParser("path").parse(f"${side}$")


def test_nothing_moves_is_a_formula_too() -> None:
    costs = layoutc.compile_text("dims B=8\nmesh x\ninput x : B_x\noutput x\n", 2).costs
    assert (costs.elements, costs.formula) == (0, "0")
    assert r"\approx 0," in costs._repr_latex_()
