"""layoutc: a layout compiler for sharded Transformer programs.

The stages, each in a folder of its own: `layoutc.dsl` reads and checks, `layoutc.solver` fills
and prices, `layoutc.codegen` spells it in JAX. `layoutc.pipeline` is the way through them on one
page; `layoutc.cli` is the command line.
"""

__version__ = "0.1.0"
