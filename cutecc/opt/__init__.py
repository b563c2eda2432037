"""A module in, passes, a module or code out: what `cutecc opt` does, without a record."""
