"""The MLIR Python bindings, as the wheel ships them; the neighbouring `.pyi` files give them types."""

from cutecc.ir.bindings import load_submodule

ir = load_submodule("ir")
passmanager = load_submodule("passmanager")
rewrite = load_submodule("rewrite")

__all__ = ["ir", "passmanager", "rewrite"]
