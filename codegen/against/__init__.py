"""A plain JAX function left to XLA's partitioner, and what became of it in the paper's notation.

`function` finds it, `automatic` compiles it, `reading` follows what each device holds (`blocks`)
through XLA's program, `notation` says that in shapes, and `moved` has each collective with the
reason for it (`reasons`).
"""
