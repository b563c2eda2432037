"""Python versions of the passes that the wheel runs but does not register by name. One pass a file."""
