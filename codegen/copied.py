"""The text of `layoutc.codegen.fixed`, by definition, and the imports that a text takes."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).with_name("fixed")

ALWAYS = ("arguments", "running", "hosts")
"""The files of which every module has all."""

STANDARD = frozenset(
    {"argparse", "collections", "functools", "itertools", "math", "os", "statistics", "sys"}
    | {"time", "typing", "zlib"}
)
"""What stands in the first group of imports."""


@cache
def texts() -> dict[str, dict[str, str]]:
    """By file: the text of each definition, in the file's order."""
    return {path.stem: _definitions(path) for path in sorted(FOLDER.glob("*.py"))}


def text(name: str, file: str = "") -> str:
    """The text of the definition called `name`: that of `file` where it has one, else of the first
    file that does."""
    found = texts().get(file, {})
    return found[name] if name in found else next(f[name] for f in texts().values() if name in f)


def always() -> list[str]:
    """The names of the definitions that every module has, in the files' order."""
    return [name for file in ALWAYS for name in texts()[file]]


def imports(body: str) -> str:
    """The import statements that the emitted text `body` takes, in their usual order."""
    words = set(re.findall(r"[A-Za-z_]\w*", body))
    plain: set[str] = set()
    members: dict[str, set[str]] = {}
    for module, alias in _imported():
        if (alias.asname or alias.name).partition(".")[0] not in words:
            continue
        spelled = f"{alias.name} as {alias.asname}" if alias.asname else alias.name
        if module:
            members.setdefault(module, set()).add(spelled)
        else:
            plain.add(spelled)
    lines = sorted(f"import {name}" for name in plain)
    lines += [line for module in sorted(members) for line in _from(module, members[module])]
    groups = [[s for s in lines if _standard(s) == first] for first in (True, False)]
    return "from __future__ import annotations\n\n" + "\n\n".join("\n".join(g) for g in groups)


def _from(module: str, names: set[str]) -> list[str]:
    """What is imported under another name stands on a line of its own."""
    renamed = sorted(n for n in names if " as " in n)
    rest = sorted(names - {*renamed}, key=lambda n: (not n.isupper(), n.islower(), n))
    lines = [f"from {module} import {', '.join(rest)}"] if rest else []
    return lines + [f"from {module} import {name}" for name in renamed]


def _standard(line: str) -> bool:
    return line.split()[1].partition(".")[0] in STANDARD


@cache
def _imported() -> tuple[tuple[str, ast.alias], ...]:
    """Every import of the fixed files from elsewhere, with its module, "" for `import x`."""
    found: list[tuple[str, ast.alias]] = []
    for path in sorted(FOLDER.glob("*.py")):
        for node in _parsed(path).body:
            match node:
                case ast.Import(names):
                    found += [("", alias) for alias in names]
                case ast.ImportFrom(str(module), names) if not _own(module):
                    found += [(module, alias) for alias in names]
                case _:
                    pass
    return tuple(found)


def _own(module: str) -> bool:
    return module == "__future__" or module.startswith("layoutc.")


def _definitions(path: Path) -> dict[str, str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    found = {}
    for node in _parsed(path).body:
        name = _defined(node)
        if name:
            found[name] = "\n".join(lines[node.lineno - 1 : node.end_lineno])
    return found


@cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _defined(node: ast.stmt) -> str:
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
        case _:
            return ""


@cache
def names() -> frozenset[str]:
    """Every name in the fixed text, local ones too."""
    found: set[str] = set()
    for path in FOLDER.glob("*.py"):
        for node in ast.walk(_parsed(path)):
            match node:
                case ast.Name(id=name) | ast.arg(arg=name) | ast.FunctionDef(name=name):
                    found.add(name)
                case ast.ClassDef(name=name):
                    found.add(name)
                case ast.ImportFrom(names=aliases) | ast.Import(names=aliases):
                    found |= {alias.asname or alias.name for alias in aliases}
                case _:
                    pass
    return frozenset(found)
