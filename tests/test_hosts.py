"""An emitted file, unchanged, over several hosts: processes that have some of the chips each."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import emitted
import host
import jax
import numpy as np
import pytest
import samples
from hosts import Ended, by_hand, free_port, run
from texts import read

from layoutc.codegen.emit import emit
from layoutc.codegen.run import load

MESH = {"x": 2, "y": 2, "z": 2}
ROOT = Path(__file__).parent.parent


def slurm(count: int) -> list[dict[str, str]]:
    """What `srun` sets, as far as JAX reads it."""
    shared = {
        "JAX_COORDINATOR_PORT": free_port(),
        "SLURM_JOB_ID": "77",
        "SLURM_STEP_NODELIST": "127.0.0.1",
        "SLURM_NTASKS": str(count),
    }
    return [shared | {"SLURM_PROCID": str(i), "SLURM_LOCALID": str(i)} for i in range(count)]


def open_mpi(count: int) -> list[dict[str, str]]:
    """What `mpirun` sets, as far as JAX reads it."""
    shared = {
        "JAX_COORDINATOR_PORT": free_port(),
        "OMPI_MCA_orte_hnp_uri": "1531576320.0;tcp://127.0.0.1:34911",
        "OMPI_COMM_WORLD_SIZE": str(count),
    }
    ranks = ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK")
    return [shared | dict.fromkeys(ranks, str(i)) for i in range(count)]


def error_in(text: str) -> float:
    """The error that a script printed; JAX's transport for CPUs may print on the same line."""
    (found,) = re.findall(r"error (\S+) \(max", text)
    return float(found)


@pytest.fixture
def ffn(tmp_path: Path) -> Path:
    path = tmp_path / "ffn.py"
    path.write_text(emit(read(samples.FFN, "ffn"), MESH))
    return path


# What is computed.


class Case(NamedTuple):
    text: str
    mesh: dict[str, int]
    hosts: int
    devices: int


CASES = {
    "2 hosts of 4": Case(samples.BLOCKS, MESH, 2, 4),
    "4 hosts of 4": Case(samples.FFN.replace("E=24", "E=32"), {"x": 4, "y": 2, "z": 2}, 4, 4),
    "2 hosts of 3": Case(samples.MOVES, {"x": 2, "y": 3, "z": 1}, 2, 3),
    "a part of the last host": Case(samples.ARITHMETIC, {"x": 2, "y": 3}, 2, 4),
}


class Held(NamedTuple):
    case: Case
    folder: Path
    ended: list[Ended]


@pytest.fixture(scope="module", params=CASES)
def over_hosts(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Held:
    """A program that was run on the hosts of a case, and what each of them saved."""
    case, folder = CASES[request.param], tmp_path_factory.mktemp("hosts")
    path = folder / "test.py"
    path.write_text(emit(read(case.text), case.mesh))
    script, arguments = Path(host.__file__), [str(path), "test", str(folder)]
    return Held(case, folder, run(script, by_hand(case.hosts), case.devices, arguments))


def test_hosts_compute_what_one_process_does(over_hosts: Held) -> None:
    module, function = emitted.module_of(read(over_hosts.case.text), over_hosts.case.mesh)
    outputs = jax.tree.leaves(function(*module.make_inputs(module.make_mesh())))
    expected = [np.asarray(output) for output in outputs]
    seen = [np.zeros(output.shape, bool) for output in expected]
    assert [ended.status for ended in over_hosts.ended] == [0] * over_hosts.case.hosts
    for number, index, shard in shards_in(over_hosts.folder):
        # The sum of a reduction may be taken in another order.
        np.testing.assert_allclose(shard, expected[number][index], rtol=1e-6, atol=1e-6)
        seen[number][index] = True
    assert all(output.all() for output in seen)


def shards_in(folder: Path) -> Iterator[tuple[int, tuple[slice, ...], Any]]:
    """Each shard that a host saved: of which output, which part, its values."""
    for path in folder.glob("*.npz"):
        with np.load(path) as shards:
            for key, shard in shards.items():
                number, bounds = json.loads(key)
                yield number, tuple(slice(*pair) for pair in bounds), shard


def test_a_host_makes_its_own_shards_and_each_once(over_hosts: Held) -> None:
    for number in range(over_hosts.case.hosts):
        parts = json.loads((over_hosts.folder / f"{number}.json").read_text())
        made, held = (sorted(map(json.dumps, parts[key])) for key in ("made", "held"))
        assert made == sorted(set(held))


def test_one_host_prints_for_all(over_hosts: Held) -> None:
    first, *others = over_hosts.ended
    assert error_in(first.out) < 1e-5
    assert "simulating" not in first.out
    assert not any(re.search("error|simulat", other.out) for other in others)


# How hosts meet.


def test_the_script_says_what_one_process_says(ffn: Path) -> None:
    first, second = run(ffn, by_hand(2), 4)
    (alone,) = run(ffn, [{}], 1)
    assert (first.status, second.status, alone.status) == (0, 0, 0), first.err
    assert max(error_in(first.out), error_in(alone.out)) < 1e-6
    assert "simulating 8 on the CPU" in alone.out


@pytest.mark.parametrize("cluster", [slurm, open_mpi])
def test_jax_finds_the_hosts_of_a_cluster_when_asked(ffn: Path, cluster: Any) -> None:
    first, second = run(ffn, cluster(2), 4, ["--distributed"])
    assert (first.status, second.status) == (0, 0), first.err
    assert error_in(first.out) < 1e-5
    assert "simulating" not in first.out


def test_a_process_that_is_alone_in_a_cluster_waits_for_nobody_unasked(ffn: Path) -> None:
    (alone,) = run(ffn, slurm(2)[:1], 1)
    assert alone.status == 0, alone.err
    assert "simulating 8 on the CPU" in alone.out


def test_the_readmes_lines_for_two_processes_work(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (lines,) = re.findall(r"^```sh\n(export JAX_COORDINATOR_ADDRESS=.*?)^```$", text, re.M | re.S)
    example = (ROOT / "examples" / "ffn_2d_weight_stationary.layout").read_text(encoding="utf-8")
    program = read(example, "ffn_64")
    (tmp_path / "ffn_64.py").write_text(emit(program, {"x": 4, "y": 4, "z": 4}))
    done = subprocess.run(
        lines.replace("8476", free_port()).replace("python", sys.executable) + "wait",
        shell=True,
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if name != "XLA_FLAGS"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "simulating" not in done.stdout
    assert error_in(done.stdout) < 2e-2, done.stderr  # the program is in bf16


# What goes wrong.


@pytest.mark.parametrize(
    ("devices", "said"),
    [
        (3, "MESH has 8 chips and 2 processes together have 6 devices"),
        (
            8,
            "MESH has 8 chips and 2 processes together have 16 devices; "
            "start fewer, so that each has a part",
        ),
    ],
)
def test_a_mesh_that_does_not_fit_is_refused_in_a_sentence(
    ffn: Path, devices: int, said: str
) -> None:
    for ended in run(ffn, by_hand(2), devices):
        assert ended.status == 2
        assert f"error: {said}" in ended.err.splitlines()
        assert "Traceback" not in ended.err


def test_hosts_that_are_not_found_are_refused_in_a_sentence(ffn: Path) -> None:
    (alone,) = run(ffn, [{}], 1, ["--distributed"])
    said = "error: the other hosts can't be met: coordinator_address should be defined."
    assert (alone.status, alone.out) == (2, "")
    assert alone.err.splitlines()[-1] == said
    assert "Traceback" not in alone.err


def test_an_address_without_its_port_is_refused_in_a_sentence(ffn: Path) -> None:
    variables = {"JAX_COORDINATOR_ADDRESS": "host0", "JAX_NUM_PROCESSES": "2"}
    (alone,) = run(ffn, [variables], 1)
    said = "error: JAX_COORDINATOR_ADDRESS is host0, without the port, as in host0:8476"
    assert (alone.status, alone.err.splitlines()[-1]) == (2, said)


def test_all_hosts_fail_when_values_differ(ffn: Path) -> None:
    ffn.write_text(ffn.read_text().replace("g = jax.nn.gelu(h1)", "g = jax.nn.relu(h1)"))
    ended = run(ffn, by_hand(2), 4)
    assert [e.status for e in ended] == [1, 1]
    assert error_in(ended[0].out) > 1e-2


def test_a_host_that_fails_ends_the_others(ffn: Path) -> None:
    """The others wait for it in a collective, and would for ever."""
    text, place = ffn.read_text(), '    """max |a-b| / max |b|, the worst of all outputs'
    fails = "    if jax.process_index() == 1:\n        raise MemoryError\n"
    text = re.sub(rf"(?m)^({re.escape(place)}.*\n)", rf"\1{fails}", text)
    ffn.write_text(text.replace("shutdown_timeout_seconds=30", "shutdown_timeout_seconds=2"))
    first, second = run(ffn, by_hand(2), 4, seconds=60)
    assert first.status != 0
    assert second.status != 0
    assert "MemoryError" in second.err


# Which chip is where.


@dataclass(frozen=True)
class Chip:
    """A TPU as JAX describes it, as far as the choice of a mesh asks."""

    coords: tuple[int, ...]
    process_index: int
    core_on_chip: int = 0
    device_kind: str = "TPU v4"
    platform: str = "tpu"


@pytest.mark.parametrize("mesh", [{"x": 4, "y": 4, "z": 4}, {"x": 8, "y": 8, "z": 1}])
def test_a_mesh_may_split_the_axes_of_a_torus(mesh: dict[str, int]) -> None:
    module = load(emit(read(samples.FFN, "ffn"), mesh), "torus")
    chips = [Chip(place[::-1], i // 4) for i, place in enumerate(np.ndindex(4, 4, 4))]
    grid = module.make_mesh(chips).devices
    assert grid.shape == tuple(mesh.values())
    assert set(grid.flat) == set(chips)
