"""What XLA made of a program: its optimised text read, and held against the prediction.

`hlo` reads the text, `groups` its ways of naming devices, `collectives` finds what moves data;
`expected` says what a program's statements should become, `match` holds the two together.
"""
