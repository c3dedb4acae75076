"""The types, as a test: `mypy --strict` over the four folders.

The folders are installed under other names than they have here (`face/` is `layoutc`, `dsl/` is
`layoutc.dsl`), which mypy can't know; a folder of links, ignored by git, shows it the package.
"""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
LINKS = ROOT / ".mypy_path"


def link_the_package() -> Path:
    """The package as it is installed, made of links into the repository."""
    package = LINKS / "layoutc"
    shutil.rmtree(LINKS, ignore_errors=True)
    package.mkdir(parents=True)
    rooms = (path.parent for path in (ROOT / "face").glob("*/__init__.py"))
    folders = (ROOT / folder for folder in ("dsl", "solver", "codegen"))
    sources = [*(ROOT / "face").glob("*.py"), *rooms, *folders]
    for source in sources:
        (package / source.name).symlink_to(source)
    return package


def test_mypy_is_content() -> None:
    package = link_the_package()
    command = [sys.executable, "-m", "mypy", str(package)]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr
