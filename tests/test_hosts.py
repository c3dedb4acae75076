"""An emitted file, unchanged, over two hosts: two processes with half of the chips each."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import samples
from texts import read

from layoutc.codegen.emit import emit
from layoutc.codegen.run import start_script

HALF = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4"}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def error_in(text: str) -> float:
    found = re.search(r"^error (\S+)", text, re.MULTILINE)
    assert found, text
    return float(found[1])


def test_two_hosts_get_what_one_gets(tmp_path: Path) -> None:
    path = tmp_path / "ffn.py"
    path.write_text(emit(read(samples.FFN, "ffn"), {"x": 2, "y": 2, "z": 2}))
    address = f"127.0.0.1:{free_port()}"
    hosts = [
        start_script(
            path,
            environment=HALF
            | {
                "JAX_COORDINATOR_ADDRESS": address,
                "JAX_NUM_PROCESSES": "2",
                "JAX_PROCESS_ID": str(i),
            },
        )
        for i in range(2)
    ]
    alone = start_script(path)
    results = [script.communicate(timeout=180) for script in (*hosts, alone)]
    for script, (_, err) in zip((*hosts, alone), results, strict=True):
        assert script.returncode == 0, err
    assert all("simulating" not in out for out, _ in results[:2])
    errors = [error_in(out) for out, _ in results]
    assert errors[0] == errors[1]
    assert max(errors) < 1e-5
