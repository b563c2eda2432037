"""What a GPU passes over: accesses, races, barriers and proxies, checked while the emulator runs."""
