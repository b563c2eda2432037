"""Read-only checks that look at a module beside the pipeline, and say what they find as remarks with numbers."""
