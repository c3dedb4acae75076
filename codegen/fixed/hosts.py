"""Before anything runs: other hosts, or simulated devices; copied always."""

from __future__ import annotations

import math
import os
import sys
from typing import NoReturn

import jax
from jax.extend.backend import clear_backends

from layoutc.codegen.fixed.arguments import make_mesh
from layoutc.codegen.fixed.filled import MESH
from layoutc.codegen.fixed.running import options


def start() -> None:
    """Before anything runs: meet the other hosts, or simulate the devices that are missing."""
    # Not unasked: JAX also finds a cluster in an interactive Slurm session, and would wait there
    # for processes that nobody started.
    if options(None).distributed or "JAX_COORDINATOR_ADDRESS" in os.environ:
        meet()
    have, need = jax.device_count(), math.prod(MESH.values())
    if jax.process_count() > 1:
        try:
            make_mesh()
        except ValueError as refusal:
            refuse(refusal)
        if jax.process_index() > 0:
            sys.stdout = None  # all have the same to say: one prints it
    elif have < need:
        few = f"{have} device{'s' * (have > 1)}"
        print(f"MESH has {need} chips and JAX has {few}: simulating {need} on the CPU")
        clear_backends()
        jax.config.update("jax_platforms", "cpu")
        jax.config.update("jax_num_cpu_devices", need)


def meet() -> None:
    """Join the processes on all hosts to one."""
    address = os.environ.get("JAX_COORDINATOR_ADDRESS", "")
    if address and not address.rpartition(":")[2].isdigit():
        refuse(f"JAX_COORDINATOR_ADDRESS is {address}, without the port, as in {address}:8476")
    # What is not said here, JAX finds out from the cluster it runs on.
    count, this = os.environ.get("JAX_NUM_PROCESSES"), os.environ.get("JAX_PROCESS_ID")
    try:
        jax.distributed.initialize(
            num_processes=int(count) if count else None,
            process_id=int(this) if this else None,
            shutdown_timeout_seconds=30,  # after which a process that failed ends the others
        )
    except ValueError as refusal:
        refuse(f"the other hosts can't be met: {refusal}")


def refuse(reason: object) -> NoReturn:
    print(f"error: {reason}", file=sys.stderr)
    sys.exit(2)
