"""Whether what is installed here fits together, and what to do where it does not: what `cutecc doctor` asks."""
