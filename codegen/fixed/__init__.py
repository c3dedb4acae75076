"""The parts of an emitted module that are the same in each; emission copies their text.

Modules of their own, with stand-ins for what is filled in (`MESH`, `PHASES` and the like), so that
they are linted and type-checked like the rest. Nothing imports them: `layoutc.codegen.copied` reads
their text, and emission takes definitions by name.
"""
