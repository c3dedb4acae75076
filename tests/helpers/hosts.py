"""Scripts started in several processes that meet by hand, each with some simulated devices."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from layoutc.codegen.run import start_script


class Ended(NamedTuple):
    status: int
    out: str
    err: str


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def by_hand(count: int) -> list[dict[str, str]]:
    """For each of `count` processes, the variables that say how it meets the others."""
    shared = {
        "JAX_COORDINATOR_ADDRESS": f"127.0.0.1:{free_port()}",
        "JAX_NUM_PROCESSES": str(count),
    }
    return [shared | {"JAX_PROCESS_ID": str(i)} for i in range(count)]


def run(
    path: Path,
    environments: Sequence[Mapping[str, str]],
    devices: int,
    arguments: Sequence[str] = (),
    seconds: int = 120,
) -> list[Ended]:
    """Start a script in each of these environments, with simulated devices, and wait for all."""
    simulated = {"XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}"}
    scripts = [start_script(path, arguments, simulated | dict(e)) for e in environments]
    try:
        return [_ended(script, seconds) for script in scripts]
    finally:
        for script in scripts:
            script.kill()


def _ended(script: subprocess.Popen[str], seconds: int) -> Ended:
    out, err = script.communicate(timeout=seconds)
    return Ended(script.returncode, out, err)
