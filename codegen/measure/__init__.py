"""What moves, matmuls and memory take on the devices that JAX sees.

`present` says what there is, `points` what is timed of it, `groups` which devices move something
together, `steps` what one step of each kind is, `bench` times a program of several.
"""
