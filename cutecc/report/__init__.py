"""A record as an HTML page, terminal text and JSON. Made of the record alone: neither MLIR nor the DSL is needed."""
