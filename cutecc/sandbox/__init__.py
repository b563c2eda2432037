"""Giving up what a process may do, for good: what runs data of unknown origin needs its memory, a pipe and no more."""
