"""What README.md and docs/ show is what happens, and what CI runs is what README says."""

import re
from pathlib import Path

import pytest
from regenerate import FENCE, PAGES, ROOT, current

from layoutc.cli import main


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_consoles_are_current(page: Path) -> None:
    """If this fails and the new output is right: python tests/regenerate.py"""
    assert current(page) == page.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"`[^`]*`", "", FENCE.sub("", page.read_text(encoding="utf-8")))
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", prose):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_ci_runs_the_readmes_command() -> None:
    """`.ci/run` takes the one line of README.md that ends in pytest, so there has to be one."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^python -m venv .* -m pytest$", text, re.MULTILINE)
    assert len(commands) == 1
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    pattern = r"s/^(python -m venv .* -m pytest)$/\1/p"
    assert pattern in script


@pytest.mark.parametrize("page", PAGES[1:], ids=lambda page: page.name)
def test_programs_in_the_docs_are_right(page: Path, tmp_path: Path) -> None:
    for fence in FENCE.finditer(page.read_text(encoding="utf-8")):
        kind, _, name = fence["head"].partition(" ")
        if kind == "layout":
            (tmp_path / name).write_text(fence["body"], encoding="utf-8")
            assert main(["check", str(tmp_path / name)]) == 0
            assert main(["fmt", "--check", str(tmp_path / name)]) == 0
