"""Calls of kernels of unknown origin: they run in a process that has the call's memory, a pipe to here, and no more.

A worker process, which has the emulator imported, starts a copy of itself for each call. The copy maps the call's
memory and gives up everything else (`cutecc.sandbox`) before it looks at the kernel. What it says is data of unknown
origin as well: JSON of known types, never pickles.
"""
