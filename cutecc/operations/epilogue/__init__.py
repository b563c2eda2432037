"""Epilogues: what becomes of a product's accumulators, as a graph that a plain Python function describes.

    >>> from cutecc.operations.epilogue import Epilogue, Full, Row
    >>> from cutecc.operations.epilogue.functions import relu
    >>> def bias_relu(accum, bias):
    ...     D = relu(accum + bias)
    ...     return D
    >>> print(Epilogue.trace(bias_relu, bias=Row("f16"), D=Full("f16")))

`graph` is the value, `trace` makes it, `functions` is the language, `named` has the usual ones, `reference` says in
numpy what an epilogue computes. All that is wrong with a function raises `cutecc.errors.EpilogueError` at its place.
"""

from cutecc.operations.epilogue.declarations import Column, Full, Row, Scalar
from cutecc.operations.epilogue.graph import Epilogue
from cutecc.operations.epilogue.named import NAMES, named_epilogue

__all__ = ["NAMES", "Column", "Epilogue", "Full", "Row", "Scalar", "named_epilogue"]
