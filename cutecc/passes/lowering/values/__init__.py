"""What the lowering passes share: the leaves of values, arithmetic on them, tensors in memory, loops."""
