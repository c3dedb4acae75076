"""Ours beside theirs: the paper's tables and figures, predicted beside published.

    python benchmarks/published.py [-o docs/published.md] [--only tables2and3]

Writes the page and, in a folder of the same name beside it, its figures. Layouts are found for some
thirty kinds of configurations, which takes a minute or two. With --only, which may be given several
times, chapters are printed and nothing is written.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from pathlib import Path

from published_page.chapters import WRITERS
from published_page.facts import ROOT
from published_page.figures import drawn
from published_page.found import CHAPTERS, found
from published_page.page import page

PAGE = ROOT / "docs" / "published.md"


def main() -> int:
    """The page, or some of its chapters."""
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, default=PAGE, metavar="OUT.md")
    parser.add_argument("--only", action="append", choices=CHAPTERS, default=[])
    chosen = parser.parse_args()
    if chosen.only:
        some = found(chosen.only)
        print("\n".join(WRITERS[name](some) for name in CHAPTERS if name in chosen.only))
        return 0
    every = found()
    figures = drawn(every, chosen.output.with_suffix(""))
    chosen.output.write_text(page(every), encoding="utf-8")
    print(*(f"wrote {path}" for path in (*figures, chosen.output)), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
