"""Simulated devices for all tests: the flag must stand before JAX is imported."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=64")
os.environ.setdefault("JAX_PLATFORMS", "cpu")


@pytest.fixture
def answered(capsys: pytest.CaptureFixture[str]) -> Callable[..., dict[str, Any]]:
    """`COMMAND FILE ... --json` as a function of its arguments; the document."""

    def run(command: str, path: Path, *options: str) -> dict[str, Any]:
        from layoutc.cli import main

        status = main([command, str(path), "--json", *options])
        out, err = capsys.readouterr()
        assert status == 0, out + err
        document = json.loads(out)
        assert isinstance(document, dict)
        return document

    return run


@pytest.fixture
def compiled(answered: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """`compile FILE ... --json`, likewise."""

    def run(path: Path, *options: str) -> dict[str, Any]:
        return answered("compile", path, *options)

    return run
