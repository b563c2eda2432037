"""How long a kernel takes on a GPU that is not here: its blocks' instructions, timed by measured constants."""
