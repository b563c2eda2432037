"""Making a module smaller while something about it stays: what `cutecc reduce` does.

edits.py, texts.py    what can be taken away or simplified, as numbered sites of a module
oracles.py            what has to go on failing
search.py             which sites to try together, over processes
output.py             the file that holds the smallest module so far
"""
