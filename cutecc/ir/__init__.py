"""The MLIR bindings and modules as values: loading, parsing, printing, counting, locations."""
