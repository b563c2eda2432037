"""From a kernel to a traced module: kernel files, binding their arguments, tracing.

The only package of cutecc that imports the CuTe DSL, and it does so only where a kernel is traced: specs, headers and
requests can be read without it.
"""
