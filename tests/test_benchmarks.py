"""What the benchmarks measure is right: the search, enumeration and integers find the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
METHODS = ROOT / "benchmarks" / "methods.py"


@pytest.mark.parametrize("stem", ["product", "residual"])
def test_three_methods_find_the_same(stem: str) -> None:
    """The script fails where they differ; here that each has found something is seen."""
    command = [sys.executable, str(METHODS), stem]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    head, times, values = done.stdout.splitlines()
    assert head.split()[-3:] == ["search", "enumeration", "integers"]
    assert times.startswith(stem)
    assert times.count("x)") == 3
    found = values.split()[1::2]
    assert len(found) == 3
    assert [float(value) for value in found] == pytest.approx([float(found[0])] * 3, rel=1e-6)
