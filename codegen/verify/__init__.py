"""Predictions held against what runs; `verdict` is the place to begin.

`expected` says what a program's statements should become, `match` finds it among XLA's collectives
(`live` knows what XLA may leave out); `traced` looks at each value while the program is traced,
`values` at what it computes, `account` at memory.
"""
