"""Machines: what a chip can do, how chips are linked, and what moving takes between them.

A machine is read from a TOML file (`reading`), its network is tiers of links (`tier`) of which only
some shapes can be had (`shapes`). A mesh is placed on a slice of it (`placement`), and there a
`Fabric` says what each collective takes over each set of mesh axes, by the rules in `timing`.
"""
