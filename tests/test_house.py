"""How the house is built: which way imports point, what is imported where, what is installed."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FLOORS = ["dsl", "solver", "codegen", "face"]
"""From the ground up: a floor may import what is below it."""


def sources(*floors: str) -> list[Path]:
    return sorted(path for floor in floors for path in (ROOT / floor).rglob("*.py"))


def imports(path: Path, top_only: bool = False) -> Iterator[str]:
    """The dotted names that a module imports; with `top_only`, those it imports at once."""
    tree = ast.parse(path.read_text())
    for node in tree.body if top_only else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module, f"{path}: a relative import"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def importers(module: str, top_only: bool = False) -> set[str]:
    """The files that import `module`, or from it."""
    return {
        str(path.relative_to(ROOT))
        for path in sources(*FLOORS)
        if any(f"{name}.".startswith(f"{module}.") for name in imports(path, top_only))
    }


@pytest.mark.parametrize("floor", FLOORS)
def test_imports_point_one_way(floor: str) -> None:
    below = FLOORS[: FLOORS.index(floor) + 1]
    for path in sources(floor):
        for name in imports(path):
            if name.startswith("layoutc."):
                part = name.split(".")[1]
                at = part if part in FLOORS else "face"
                assert at in below, f"{path.relative_to(ROOT)} imports {name}"


def test_lark_is_imported_in_one_file() -> None:
    assert len(importers("lark")) == 1


def test_sympy_stays_in_the_solver() -> None:
    assert all(file.startswith("solver/") for file in importers("sympy"))


def test_equations_are_solved_in_one_file() -> None:
    solving = r"\bsympy\.solve\w*\(|from sympy import .*\bsolve"
    found = [path for path in sources(*FLOORS) if re.search(solving, path.read_text())]
    assert len(found) <= 1


def test_jax_is_imported_late_and_only_to_run() -> None:
    """`codegen/fixed/` is text that emission copies; nothing else imports it."""
    fixed = {f"codegen/fixed/{path.name}" for path in Path("codegen/fixed").glob("*.py")}
    assert importers("layoutc.codegen.fixed") <= fixed
    assert all(file.startswith("codegen/") for file in importers("jax"))
    assert importers("jax", top_only=True) <= fixed


def test_figures_are_drawn_in_one_place_and_late() -> None:
    assert all(file.startswith("face/figures/") for file in importers("matplotlib"))
    assert not importers("matplotlib", top_only=True)


def test_text_is_never_evaluated() -> None:
    """No user's text reaches an evaluator: names are what the grammar says they are."""
    evaluators = {"eval", "exec", "sympify", "parse_expr"}
    for path in sources(*FLOORS):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                called = getattr(node.func, "id", getattr(node.func, "attr", ""))
                assert called not in evaluators, f"{path}:{node.lineno}: {called}"


def test_check_imports_nothing_slow() -> None:
    script = """if True:
        import sys
        from layoutc.cli import main
        status = main(["check", "examples/ffn.layout"])
        slow = {"sympy", "jax", "numpy", "rich"} & set(sys.modules)
        sys.exit(f"imported {slow}" if slow else status)
    """
    command = [sys.executable, "-c", script]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr


def test_what_is_here_is_what_is_installed() -> None:
    """Every folder with code is a listed package, every other file is of a listed kind."""
    setuptools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders, data = setuptools["package-dir"], setuptools["package-data"]
    assert set(setuptools["packages"]) == set(folders)
    assert {folder.split("/")[0] for folder in folders.values()} == set(FLOORS)
    installed = set()
    for package, folder in folders.items():
        kinds = ["*.py", *data["*"], *data.get(package, [])]
        installed |= {path for kind in kinds for path in (ROOT / folder).glob(kind)}
    here = {path for floor in FLOORS for path in (ROOT / floor).rglob("*.*")}
    assert {path for path in here - installed if "__pycache__" not in path.parts} == set()


def written() -> list[Path]:
    """Everything that a person wrote here."""
    folders = [*FLOORS, "tests", "docs", "examples", "benchmarks", ".ci"]
    found = [path for folder in folders for path in (ROOT / folder).rglob("*")]
    return [p for p in [*found, *ROOT.glob("*.*")] if p.is_file() and p.suffix != ".pyc"]


def test_every_module_says_what_it_is() -> None:
    for path in written():
        if path.suffix == ".py" and path.read_text().strip():
            assert ast.get_docstring(ast.parse(path.read_text())), f"{path} has no docstring"


def test_nothing_is_left_to_do_or_bound_to_one_machine() -> None:
    """No note to self, and no path that exists on the machine where it was written alone."""
    places = {path.name for path in Path("/").iterdir()} - {"usr", "bin", "dev"}
    for path in written():
        text = path.read_text()
        if path != Path(__file__):
            assert not re.search(r"\b(TODO|FIXME|XXX|HACK)\b", text), path
        roots = set(re.findall(r"(?<![\w.:/)}*<\]-])/(\w+)/", text))
        assert not roots & places, f"{path} speaks of /{roots & places}"
