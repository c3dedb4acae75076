"""Published models: what a decoder-only Transformer is, and its `.layout` file.

A name of the `catalogue`, or the text of a `config.json` (`config`, by way of `json_text`, `keys`,
`families` and `refused`), becomes a `Model`, whose `Architecture` is spelled out in the notation by
`layout`, line by line in `lines`. What the notation has no words for is said in `unsaid`.
"""
