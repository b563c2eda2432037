"""Every order of a launch: its synchronising operations in each inequivalent order, once."""
