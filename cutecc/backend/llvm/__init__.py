"""Code generation through LLVM: a lowered `gpu.module` to LLVM IR, PTX and a cubin.

newer_operations ─▶ translation ─▶ legalize ─▶ generation, in a process of generators ─▶ ptxas ─▶ the best of candidates
"""
