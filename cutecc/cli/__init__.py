"""The command line: one file per subcommand, each a thin wrapper over the library call of the same name."""
