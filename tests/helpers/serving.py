"""A model of two phases served as a host would: prompts one by one, each into a place of a running
batch, then a token of each at a time.

    python serving.py FILE OUT.npz

`FILE` is an emitted module. Started in several processes, each has some of the chips.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils

from layoutc.codegen.run import load

PROMPT, CHUNK = 24, 12
STEPS = 4
PLACES = (2, 0)
"""Where the first and the second request go."""


@dataclass
class Request:
    """Its tokens so far, of which the first are its prompt, and the logits behind each of them."""

    ids: list[int]
    logits: list[np.ndarray[Any, Any]] = field(default_factory=list)

    def take(self, logits: np.ndarray[Any, Any], last: bool = True) -> None:
        """The logits behind tokens that were fed; after the `last` comes the likeliest."""
        self.logits += list(logits)
        if last:
            self.ids.append(int(np.argmax(logits[-1])))


class Server:
    """The weights, held once for both phases, and the caches of each."""

    def __init__(self, module: ModuleType) -> None:
        self.module, self.mesh = module, module.make_mesh()
        made = dict(zip(module.ARGUMENTS, module.make_inputs(self.mesh), strict=True))
        self.caches = [name for name in made if module.ARGUMENTS[name].cache]
        self.weights = [made[name] for name in made if name not in ("ids", "pos", *self.caches)]
        self.one, self.batch = self.empty("prefill"), self.empty("decode")

    def empty(self, phase: str) -> list[jax.Array]:
        """A phase's caches as they are at the start."""
        module, dims = self.module, self.module.PHASES[phase].dims
        shapes = {name: module.extents(module.ARGUMENTS[name], dims) for name in self.caches}
        return [self.held(phase, n, np.zeros(s, np.float32)) for n, s in shapes.items()]

    def held(self, phase: str, name: str, values: np.ndarray[Any, Any]) -> jax.Array:
        spec = self.module.PHASES[phase].specs[name]
        sharding = jax.sharding.NamedSharding(self.mesh, spec)
        return jax.make_array_from_callback(values.shape, sharding, values.__getitem__)

    def run(
        self, phase: str, ids: Sequence[Sequence[int]], pos: Sequence[int], caches: list[jax.Array]
    ) -> tuple[np.ndarray[Any, Any], list[jax.Array]]:
        """The logits behind each token, and the caches."""
        inputs = {"ids": np.array(ids, np.int32), "pos": np.array(pos, np.int32)}
        arrays = [self.held(phase, name, values) for name, values in inputs.items()]
        logits, *caches = self.module.PHASES[phase].run(*arrays, *self.weights, *caches)
        return whole(logits), caches

    def prefill(self, request: Request, chunk: int, place: int) -> None:
        """The prompt, a chunk at a time, and its caches into the batch."""
        prompt = list(request.ids)
        for begin in range(0, len(prompt), chunk):
            part = [prompt[begin : begin + chunk]]
            logits, self.one = self.run("prefill", part, [begin], self.one)
            request.take(logits[0], last=begin + chunk == len(prompt))
        hand_over = self.module.HAND_OVERS["prefill -> decode"].run
        self.batch = list(hand_over(*self.one, *self.batch, np.int32(place)))

    def step(self, requests: dict[int, Request]) -> None:
        """A token of each request; places that none has decode anything."""
        places = range(self.module.PHASES["decode"].dims["B"])
        ids = [[requests[p].ids[-1] if p in requests else 0] for p in places]
        pos = [len(requests[p].ids) - 1 if p in requests else 0 for p in places]
        logits, self.batch = self.run("decode", ids, pos, self.batch)
        for place, request in requests.items():
            request.take(logits[place])


def whole(array: jax.Array) -> np.ndarray[Any, Any]:
    """All of an array, on every host."""
    if jax.process_count() > 1:
        return np.asarray(multihost_utils.process_allgather(array, tiled=True))
    return np.asarray(array)


def serve(module: ModuleType) -> list[Request]:
    """Two requests: one whose prompt is taken at once, and while it is decoded one in chunks."""
    server = Server(module)
    random = np.random.default_rng(0)
    words = server.module.PHASES["decode"].dims["V"]
    first, second = (Request(random.integers(0, words, PROMPT).tolist()) for _ in PLACES)
    server.prefill(first, PROMPT, PLACES[0])
    for _ in range(STEPS):
        server.step({PLACES[0]: first})
    server.prefill(second, CHUNK, PLACES[1])
    for _ in range(STEPS):
        server.step(dict(zip(PLACES, (first, second), strict=True)))
    return [first, second]


def main(file: str, out: str) -> None:
    sys.argv = [file]
    module = load(Path(file).read_text(encoding="utf-8"), "served")
    module.start()
    requests = serve(module)
    if jax.process_index() == 0:
        ids = {f"ids{i}": np.array(r.ids) for i, r in enumerate(requests)}
        logits = {f"logits{i}": np.stack(r.logits) for i, r in enumerate(requests)}
        np.savez(out, **ids, **logits)  # type: ignore[arg-type]


if __name__ == "__main__":
    main(*sys.argv[1:])
