"""The front end: `.layout` text to a checked program, and back.

text -- parse --> syntax.File -- check --> program.Program -- print_program --> text

    shape, program      the values that the rest of the compiler works on
    source, parse       bytes to text to a tree (layout.lark is the grammar, complain its errors)
    syntax, errors      the tree, with places; errors as values, and how they are shown
    check               the tree to a program or all its errors, by way of header, layouts,
                        scope, operations, statements, blocks, filling
    rules, dims, moves  how layouts go through operations; refusal and dtypes beside them
    models              published models, and configurations, as text
    printer, formatter  a program, or a tree with its comments, as canonical text (columns)

Nothing is imported here, so that who needs a shape does not load the parser.
"""
