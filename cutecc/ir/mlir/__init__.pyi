from cutecc.ir.mlir import ir as ir
from cutecc.ir.mlir import passmanager as passmanager
from cutecc.ir.mlir import rewrite as rewrite
