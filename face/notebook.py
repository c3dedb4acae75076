"""How a plan looks in a notebook: a table in HTML, equations in LaTeX.

Nothing is fetched, everything is escaped, and colours are those of the page, light or dark.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from layoutc.solver.units import duration, size

if TYPE_CHECKING:
    from layoutc.costs import Costs
    from layoutc.solver.plan import Pass, Plan
    from layoutc.table import Rows

STYLE = """\
.layoutc table { border-collapse: collapse; margin: 0.6em 0; color: inherit; }
.layoutc th, .layoutc td { border: 0; border-bottom: 1px solid rgba(128, 128, 128, 0.35);
  padding: 0.15em 0.8em 0.15em 0; text-align: left; background: transparent; }
.layoutc td { font-family: monospace; white-space: pre-wrap; }
.layoutc .number { text-align: right; white-space: nowrap; }
.layoutc caption { caption-side: top; text-align: left; font-weight: bold; color: inherit; }"""

STATEMENTS = ["value", "layout", "statement", "received", "time"]


def html(plan: Plan) -> str:
    """The plan as its report has it: tensors, the explicit program with its prices, totals."""
    from layoutc.report import overall, report

    head, *_ = report(plan).splitlines()
    parts = [f"<p>{escape(head)}</p>"]
    for part in plan.passes:
        parts += _phase(part, len(plan.passes) > 1)
    parts.append(_table("in total", [], overall(plan)))
    return "\n".join([f'<div class="layoutc"><style>{STYLE}</style>', *parts, "</div>"])


def _phase(part: Pass, several: bool) -> Iterator[str]:
    from layoutc.report import pass_totals, phase, statements, tensors

    names, *held = tensors(part)
    program = [[cell.removeprefix(": ").removeprefix("= ") for cell in r] for r in statements(part)]
    if several:
        yield f"<p>{escape(phase(part))}</p>"
    yield _table("on each chip", names, held, numbers=(3,))
    yield _table("a pass", STATEMENTS, program, numbers=(3, 4))
    yield _table("its time", [], pass_totals(part))


def _table(caption: str, names: Sequence[str], rows: Rows, numbers: Sequence[int] = ()) -> str:
    lines = [f"<table>\n<caption>{escape(caption)}</caption>"]
    if names:
        cells = "".join(_cell("th", n, i in numbers) for i, n in enumerate(names))
        lines.append(f"<thead><tr>{cells}</tr></thead>")
    width = max(len(row) for row in rows)
    body = "\n".join(f"<tr>{''.join(_cells(row, width, numbers))}</tr>" for row in rows)
    return "\n".join([*lines, f"<tbody>\n{body}\n</tbody>\n</table>"])


def _cells(row: Sequence[str], width: int, numbers: Sequence[int]) -> Iterator[str]:
    """A row of one cell, the line of a block, runs across all columns."""
    if len(row) == 1:
        yield f'<td colspan="{width}">{escape(row[0])}</td>'
        return
    yield from (_cell("td", text, i in numbers) for i, text in enumerate(row))


def _cell(tag: str, text: str, number: bool) -> str:
    scope = ' scope="col"' if tag == "th" else ""
    kind = ' class="number"' if number else ""
    return f"<{tag}{scope}{kind}>{escape(text)}</{tag}>"


# LaTeX.


def equations(costs: Costs) -> str:
    """The time of the communication in closed form, and what a pass comes to on one chip."""
    large, exact = costs.latex
    received = rf"{_number(costs.elements)}\ \text{{elements}} = {_quantity(size(costs.bytes))}"
    work = rf"{_quantity(duration(costs.compute_seconds))}\ \text{{for}}\ {_power(costs.flops)}"
    rows = [
        rf"T_{{\text{{communication}}}} &\approx {large},\quad K\ \text{{large}}",
        f"&= {exact}",
        f"&= {_quantity(duration(costs.communication_seconds))}",
        rf"\text{{received}} &= {received}",
        rf"T_{{\text{{compute}}}} &= {work}",
        rf"T_{{\text{{pass}}}} &= {_quantity(duration(costs.seconds))}",
        rf"\text{{held at most}} &= {_quantity(size(costs.memory))}",
    ]
    return "$$\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}$$"


def _quantity(text: str) -> str:
    """A number and its unit: "59.0 µs"."""
    number, _, unit = text.replace(",", "{,}").replace("µ", r"\mu ").partition(" ")
    return rf"{number}\,\mathrm{{{unit}}}"


def _number(count: int) -> str:
    return f"{count:,}".replace(",", "{,}")


def _power(flops: int) -> str:
    """Three digits and a power of ten: 2.17 times ten to the 10."""
    digits, _, exponent = f"{flops:.2e}".partition("e")
    return rf"{digits} \times 10^{{{int(exponent)}}}\,\mathrm{{FLOP}}"
