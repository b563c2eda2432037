"""Who may import what in `cutecc/`: the table that the tests enforce, and that docs/architecture.md shows."""

from __future__ import annotations

# What a compilation is made of, in its order: each may import those above it.
DRIVER_ORDER = [
    "compilation.events",
    "compilation.observers",
    "kernel",
    "compilation.loading",
    "compilation.request",
    "compilation.versions",
    "compilation.planning",
    "compilation.artifacts",
    "compilation.watchers",
    "compilation.reproducing",
    "compilation.caching",
    "driver",
    "compilation.worker",
    "compilation.from_file",
    "jit_function",
    "compilation.sweep",
    "opt",
]
FOUNDATIONS = {"target", "config", "errors", "arguments", "ptx", "sass", "memory_rules", "support"}

# Each place and what it may import besides itself and the foundations: the design's column "may import": a place, or
# one module of it. A place that the table does not split further (`passes.nvidia`) is part of the one above it.
MAY_IMPORT: dict[str, set[str]] = {
    **{name: set() for name in FOUNDATIONS},
    "support": {"sandbox"},
    "record": set(),
    "ir": {"layout", "record"},
    "layout": set(),
    "lowering": {"passes", "ir", "layout"},
    "passes": {
        *("ir", "layout", "record", "compilation.events", "backend", "report.local_memory"),
        *("timelines.layout", "timelines.sites"),
    },
    "frontend": {"ir", "record", "harness"},
    "backend": {"ir", "record"},
    "cache": {"record"},
    "runtime": {"record"},
    "harness": {"record", "runtime", "kernel"},
    "benchmarking": {"runtime"},
    "emulator": {"record", "runtime", "sandbox"},
    "sandbox": set(),
    "report": {"backend.occupancy", "record", "layout"},
    "kernel": {"record", "backend", "runtime", "emulator"},
    "compilation": {
        *("ir", "passes", "frontend", "backend", "record", "cache", "runtime", "emulator", "kernel", "driver"),
    },
    "driver": {"ir", "passes", "frontend", "record", "cache", "kernel", "compilation"},
    "jit_function": {"driver", "kernel", "compilation", "frontend", "record", "passes", "runtime", "emulator"},
    "timelines": {"record", "emulator", "runtime"},
    "estimating": {"backend", "emulator", "harness", "kernel", "record", "runtime"},
    "proving": {
        *("driver", "ir", "passes", "emulator", "harness", "kernel", "record", "report", "runtime", "timelines"),
    },
    "profiling": {"timelines", "backend", "benchmarking", "record", "report", "runtime"},
    "doctor": {"ir", "backend", "cache", "runtime", "emulator"},
    "opt": {"ir", "passes", "backend", "record", "compilation"},
    "watching": {"cache", "profiling", "frontend", "passes", "record", "report", "compilation"},
    "lit": set(),
    "pytest_plugin": {"kernel", "jit_function", "emulator", "harness"},
    "ptx_kernel": {"kernel", "emulator", "record"},
    "operations": {
        *("driver", "runtime", "kernel", "record", "cache", "compilation", "report", "benchmarking", "emulator"),
        *("jit_function", "harness", "frontend", "passes"),
    },
    "workbench": {
        *("driver", "compilation", "ir", "passes", "record", "frontend", "harness", "runtime", "kernel", "emulator"),
        *("benchmarking", "report"),
    },
    "versions": {"cache", "emulator", "frontend", "ir", "passes", "record", "report", "workbench"},
}
FRONT_DOORS = {"", "__main__", "cli"}
"""The package itself, the command and the command line, which may use everything."""


def place(module: str) -> str:
    """Where a module stands in the table: `cutecc.passes.nvidia.codegen` in `passes`, `cutecc` in the empty name."""
    return module.removeprefix("cutecc").lstrip(".").partition(".")[0]


def is_ours(module: str) -> bool:
    return module == "cutecc" or module.startswith("cutecc.")
