"""The whole page: what is compared and with which constants, the chapters, and what the paper's own
numbers do not bear out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from layoutc import reached
from layoutc.solver.hardware.catalogue import load_machine, reached_of
from layoutc.solver.hardware.reached import TIMES
from layoutc.solver.units import duration, flops
from published_page.chapters import COLUMNS, WRITERS
from published_page.disagreements import disagreements
from published_page.facts import GPU, TPU
from published_page.found import CHAPTERS, Found
from published_page.predictions import Errors, Point, program_of
from published_page.words import percent, prose, table, worst


def page(found: Found) -> str:
    """All of it, as Markdown."""
    chapters = (WRITERS[name](found) for name in CHAPTERS)
    return "\n".join([_head(found), _constants(), *chapters, disagreements()])


def _head(found: Found) -> str:
    head = ("", "points", "mean absolute error", "worst")
    about = """
        What `layoutc plan` predicts, beside what Pope et al. published in [Efficiently Scaling
        Transformer Inference](https://arxiv.org/abs/2211.05102). `python benchmarks/published.py`
        writes this page. The published figures are in [`tests/data/`](../tests/data/published);
        nothing here was measured by us.
    """
    fitted = """
        Every timing is predicted in the layout in which the paper ran it; where it does not say,
        one is found. The constants of each machine were fitted on these same timings. So the errors
        say how well a few constants explain them all, and not how well others would be foretold;
        what the machines' files say of that is [below](#the-constants). Table 1, figure 3 and the
        chat of the introduction are no part of the fit.
    """
    counts = ", ".join(f"{program_of(name).parameters / 1e9:.1f} billion ({name})"
                       for name in ("palm-540b", "mt-nlg-530b", "palm-62b"))  # fmt: skip
    peaks = " and ".join(f"{flops(load_machine(name).peak_flops)} ({name})" for name in (TPU, GPU))
    shares = f"""
        MFU is the paper's: 2 operations for each parameter and token, over chips, peak and time.
        Padding and attention are no use, and do not count. The peak is {peaks}, parameters are
        those of the models as `layoutc model` writes them: {counts}. "Computed" is what the
        published time makes of it.
    """
    drawing = "![The error of every prediction, by what was published](published/all.svg)"
    paragraphs = (prose(about), prose(fitted), table(head, _errors(found), 1), drawing,
                  prose(shares))  # fmt: skip
    return "\n\n".join(["# Beside the paper", *paragraphs]) + "\n"


def _errors(found: Found) -> Iterator[list[str]]:
    """A line for each table and figure, and for each machine."""
    palm, gpu = COLUMNS[:4], COLUMNS[4:]
    yield _line("tables 2 and 3", found.of("table 2", "table 3"))
    yield from (_line(f"table D.2, {name}", found.series(name)) for name in palm)
    yield from (_line(name, found.of(name)) for name in ("figure 6", "figure 7"))
    yield _line("**all on TPU v4**", found.tpu)
    yield from (_line(f"table D.2, {name}", found.series(name)) for name in gpu)
    yield _line("**all on A100**", found.gpu)


def _line(name: str, points: Sequence[Point]) -> list[str]:
    own = Errors.of(points)
    return [name, str(own.count), percent(own.mean), worst(own)]


def _constants() -> str:
    """What is reached of each machine, from its file."""
    machines = [load_machine(name) for name in (TPU, GPU)]
    known = [reached_of(machine)[0] for machine in machines]
    rows = (
        [f"`{key}`", meaning, *(_value(key, getattr(one, key)) for one in known)]
        for key, meaning in reached.MEANINGS.items()
    )
    documents = {machine.name: reached.document(machine) or {} for machine in machines}
    fitted = (prose(f"- {name}: {said['fitted']}") for name, said in documents.items())
    said = """
        Those of the machines' files, as [`layoutc hardware`](machines.md#what-whole-models-reach)
        shows them: one file for TPU v4 and one for the A100, the same constants for every model,
        batch and layout.
    """
    made = table(("constant", "", TPU, GPU), rows, 2)
    return "\n\n".join(["## The constants", prose(said), made, "\n".join(fitted)]) + "\n"


def _value(key: str, value: float) -> str:
    if key in TIMES:
        return duration(value)
    return "all" if key == "at_once" and not value else f"{value:g}"
