"""What XLA made of a program: its optimised text read, and held against the prediction.

`hlo` reads the text, `groups` its ways of naming devices, `collectives` finds what moves data;
`expected` says what a program's statements should become, `match` holds the two together.

For a function that is left to the partitioner: `function` finds it, `automatic` compiles it,
`reading` follows what each device holds (`blocks`), `notation` says that in shapes, and `moved` has
each collective with its reason (`reasons`).
"""
