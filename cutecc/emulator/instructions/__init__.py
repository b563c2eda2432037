"""What each instruction does: one file per family; an opcode is a row of the table and a short function."""
