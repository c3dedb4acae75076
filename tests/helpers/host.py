"""One host of several: runs an emitted file as it stands, and saves what this process had of it.

    python host.py FILE FUNCTION FOLDER [argument of FILE]...

`FOLDER/N.npz`, of process N, has the shards of its outputs; `FOLDER/N.json` the parts of the
arguments that it made, and those that its chips hold. A part is a name and its bounds in each dim.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np

from layoutc.codegen.run import load


def bounds(index: tuple[slice, ...], shape: tuple[int, ...]) -> list[list[int]]:
    return [list(piece.indices(size)[:2]) for piece, size in zip(index, shape, strict=True)]


def main(file: str, function: str, folder: str, *arguments: str) -> int:
    sys.argv = [file, *arguments]
    module = load(Path(file).read_text(encoding="utf-8"), "host")
    module.start()
    made: list[Any] = []
    part = module.part

    def noted(name: str, sizes: dict[str, int], *rest: Any) -> Any:
        shape = module.extents(module.ARGUMENTS[name], sizes)
        made.append([name, bounds(rest[-1], shape)])
        return part(name, sizes, *rest)

    module.part = noted
    arrays = module.make_inputs(module.make_mesh())
    module.part = part
    held = [
        [name, bounds(shard.index, array.shape)]
        for name, array in zip(module.ARGUMENTS, arrays, strict=True)
        for shard in array.addressable_shards
    ]
    number = Path(folder) / str(jax.process_index())
    outputs = jax.tree.leaves(getattr(module, function)(*arrays))
    shards = {
        json.dumps([output, bounds(shard.index, array.shape)]): np.asarray(shard.data)
        for output, array in enumerate(outputs)
        for shard in array.addressable_shards
    }
    np.savez(number.with_suffix(".npz"), **shards)  # type: ignore[arg-type]
    number.with_suffix(".json").write_text(json.dumps({"made": made, "held": held}))
    return int(module.main([]))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
