from typing import Any

from cutecc.ir.mlir import arith as arith
from cutecc.ir.mlir import cf as cf
from cutecc.ir.mlir import cute as cute
from cutecc.ir.mlir import func as func
from cutecc.ir.mlir import gpu as gpu
from cutecc.ir.mlir import ir as ir
from cutecc.ir.mlir import llvm as llvm
from cutecc.ir.mlir import math as math
from cutecc.ir.mlir import nvvm as nvvm
from cutecc.ir.mlir import passmanager as passmanager
from cutecc.ir.mlir import rewrite as rewrite
from cutecc.ir.mlir import scf as scf
from cutecc.ir.mlir import vector as vector

# The other dialects, without types.
def __getattr__(name: str) -> Any: ...  # pyright: ignore[reportIncompleteStub]
