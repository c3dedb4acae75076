"""What XLA made of a program, read from its own text.

`build` compiles a function for shapes alone; `hlo` reads the text, `groups` its ways of naming
devices; `collectives` finds what moves data, `memory` what is alive at once.
"""
