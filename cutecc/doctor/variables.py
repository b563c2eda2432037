"""Environment variables that change what is compiled, and what each of them does."""

from __future__ import annotations

from collections.abc import Mapping

PREFIXES = ("CUTE_DSL_", "CUTE_EXPERIMENTAL_DSL_", "CUTLASS_", "CUTECC_")
"""How the names of those begin that the DSL or cutecc may read."""

MEANINGS: Mapping[str, str] = {
    "CUDA_VISIBLE_DEVICES": "the GPUs that the driver shows",
    "CUTE_DSL_ARCH": "the GPU that the DSL compiles for; cutecc compiles for the target that it is asked for",
    "CUTE_DSL_COMPILER_OPT": "options of the DSL's compiler",
    "CUTE_DSL_DEBUG": "the DSL's checks of itself, for its developers",
    "CUTE_DSL_DRYRUN": "the DSL generates IR and compiles nothing",
    "CUTE_DSL_ENABLE_PYIR": "the DSL traces through PyIR",
    "CUTE_DSL_LIBS": "the DSL's runtime library from there, whatever flavour of the wheel is used",
    "CUTE_DSL_LINEINFO": "the DSL keeps source lines",
    "CUTE_DSL_LOC_TRACEBACKS": "the DSL keeps callers with source lines",
    "CUTE_DSL_USE_EXTENSION_COMPILER": "the DSL compiles through the pipeline cute_ext",
    "CUTECC_CACHE": "whether compilations are kept",
    "CUTECC_CACHE_DIR": "where compilations are kept",
    "CUTECC_CACHE_SIZE": "how much is kept",
    "CUTECC_LOAD": "files with passes",
    "CUTECC_NATIVE": "whether launches go through machine code",
    "CUTECC_PTXAS": "the assembler, instead of the wheel's own",
    "CUTECC_TARGET": "the GPU to compile for, where nothing else says",
    "CUTECC_WATCH": "records what the DSL compiles",
}


def is_of_interest(name: str) -> bool:
    """Whether a variable of this name may change what is compiled, or where it runs."""
    return name in MEANINGS or name.startswith(PREFIXES)
