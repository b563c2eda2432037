"""PTX as data: what the text says, and where each instruction came from. Nothing here executes or writes PTX."""
