"""Running what was emitted: as a module of this process, or as a script of its own."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType


def load(source: str, name: str) -> ModuleType:
    """The emitted text as a module. It imports JAX: set XLA_FLAGS before the first call.

    The file is kept until the process ends, so that tracebacks show its lines.
    """
    folder = Path(_folder.name)
    path = folder / f"{name}_{len(list(folder.iterdir()))}.py"
    path.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_folder = tempfile.TemporaryDirectory(prefix="layoutc-")


def start_script(
    path: Path, arguments: Sequence[str] = (), environment: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    """An emitted file started as a script, with its output kept.

    Flags of this process for simulated devices don't reach it: it finds its own way.
    """
    inherited = {k: v for k, v in os.environ.items() if k != "XLA_FLAGS"}
    return subprocess.Popen(
        [sys.executable, str(path), *arguments],
        env=inherited | {"JAX_PLATFORMS": "cpu"} | dict(environment or {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
