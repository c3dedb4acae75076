"""What all figures have in common: their colours, lines and markers, and how they become files.

Lines differ by marker and dashes as well as by colour, so that print and colour-blind readers lose
nothing. matplotlib is imported when a figure is asked for, and draws without a display. Text stays
text in an .svg, so that it can be searched and read aloud.
"""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import TYPE_CHECKING

from layoutc.pipeline import WrongCall

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS = ("svg", "png")
"""What a figure can be written as: the end of its file's name."""

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's: told apart by all kinds of colour vision."""

MARKERS, DASHES = "os^Dv*Px", ("-", "--", "-.", (0, (1, 1.2)), (0, (5, 1, 1, 1, 1, 1)))

DPI = 160
"""Pixels of a .png to the inch."""


def kind(path: str) -> str:
    """What a file is written as, by its name. Raises `WrongCall` for another end than ours."""
    end = path.rpartition(".")[2].lower()
    if end not in KINDS:
        raise WrongCall(f"--plot {path}: a figure's name ends in .svg or .png")
    return end


def saved(form: str, draw: Callable[[], Figure]) -> bytes:
    """What `draw` draws, as a file of that kind; the same bytes each time."""
    import matplotlib

    # No name is a formula, whatever signs it has.
    settings = matplotlib.rc_context(
        {"svg.hashsalt": "layoutc", "svg.fonttype": "none", "text.parse_math": False,
         "font.size": 9.5}
    )  # fmt: skip
    with settings:
        out = BytesIO()
        metadata = {"Date": None} if form == "svg" else {"Software": None}
        draw().savefig(out, format=form, dpi=DPI, metadata=metadata)
    return out.getvalue()
