"""Making a module smaller while something about it stays: what `cutecc reduce` does.

edits.py       what can be taken away or simplified, as numbered sites of a module: removal.py, control_flow.py,
               slots.py (arguments, operands, results), attributes.py, with what placeholders.py puts in the place
texts.py       the same in a module's text: layouts, sizes, names
oracles.py     what has to go on failing
search.py      which sites to try together, over processes, which do what working.py says
output.py      the file that holds the smallest module so far
reducing.py    all of it
"""
