"""The consoles of README.md, docs/ and tests/golden/: run, compared, or written anew.

    python tests/regenerate.py

A block fenced as ```console holds `$ command` lines, each with its output below. All blocks of a
page run in one fresh folder in which `examples/` stands; a block fenced as ```layout NAME, ```toml
NAME or ```json NAME is first written there as NAME. A figure that a command draws is put beside the
page, and not compared, since versions of matplotlib differ. Only these commands are run: `layoutc`,
`python`, `cat`.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

GOLDEN = sorted((ROOT / "tests" / "golden").glob("*.txt"))
"""Each is one console, whose commands run where the repository is."""

FENCE = re.compile(r"^```(?P<head>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
LAYOUTC = [sys.executable, "-c", "import sys; from layoutc.cli import main; sys.exit(main())"]
PROGRAMS = {"layoutc": LAYOUTC, "python": [sys.executable], "cat": ["cat"]}


def run(command: str, folder: Path) -> str:
    """What `command` says, output and errors together, where measured times read `T`."""
    program, *arguments = shlex.split(command)
    plain = {k: v for k, v in os.environ.items() if k != "XLA_FLAGS"}
    done = subprocess.run(
        [*PROGRAMS[program], *arguments],
        cwd=folder,
        env=plain | {"NO_COLOR": "1", "COLUMNS": "100", "JAX_PLATFORMS": "cpu"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return measured(done.stdout)


def measured(text: str) -> str:
    """`text` without what differs from run to run."""
    text = re.sub(r"median \S+ ms", "median T ms", text)
    return re.sub(r"\berror [\d.]+(e-\d+)?(?= )", "error E", text)


def current(page: Path, figures: Path | None = None) -> str:
    """The page as it would be if each of its commands were run now, its figures in `figures`."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "examples").symlink_to(ROOT / "examples")
        text = page.read_text(encoding="utf-8")
        text = FENCE.sub(lambda fence: _fence(fence, folder), text)
        for figure in folder.glob("*.svg") if figures else ():
            shutil.copy(figure, figures / figure.name)
        return text


def _fence(fence: re.Match[str], folder: Path) -> str:
    kind, _, name = fence["head"].partition(" ")
    if kind in ("layout", "toml", "json") and name:
        (folder / name).write_text(fence["body"], encoding="utf-8")
    if kind != "console":
        return fence[0]
    return "```console\n" + "\n".join(_replayed(fence["body"], folder)) + "```"


def _replayed(body: str, folder: Path) -> Iterator[str]:
    for line in body.splitlines():
        if line.startswith("$ "):
            yield f"{line}\n{run(line.removeprefix('$ '), folder)}"


def replayed(golden: Path) -> str:
    """A golden file as it would be now."""
    return "\n".join(_replayed(golden.read_text(encoding="utf-8"), ROOT))


if __name__ == "__main__":
    for golden in GOLDEN:
        golden.write_text(replayed(golden), encoding="utf-8")
    for page in PAGES:
        text = current(page, figures=page.parent)
        if text != page.read_text(encoding="utf-8"):
            page.write_text(text, encoding="utf-8")
            print(f"wrote {page.relative_to(ROOT)}")
