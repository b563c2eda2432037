"""From the lowered module to what a GPU runs, and back to what a person reads; one file per tool."""
