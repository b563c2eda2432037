"""What each pass of the wheel's does, in one line of ours, found out by running it (docs/pipeline.md shows how).

For passes that upstream MLIR documents, the line says what upstream's does. Where no module was seen to change, it says
so, and says what the name suggests.
"""

from __future__ import annotations

DESCRIPTIONS: dict[str, str] = {
    # The prefix for modules that are traced through PyIR; `remove-dead-values` is in it too.
    "convert-pyir-to-scf": "variables that are references become values that loops and branches carry",
    # The prefix for modules of the experimental API, the `lir` dialect.
    "lir-circular-buffer-pipeline-to-pipeline": "circular buffers become pipelines with loops over their stages",
    "lir-verify-cta-group-consistency": "checks CTA groups (by its name); not seen to change a module",
    "remove-dead-values": "removes values nobody uses, loop-carried ones and region results too",
    "lir-auto-predication": "adds a coordinate tensor and bounds to copies that may run past an edge",
    "lir-cta-vmap-inference": "works out which part of the tensor one block's TMA operation covers",
    "lir-get-mcast-layout-conversion": "multicast layout queries (by its name); not seen to change a module",
    "lir-tma-tensor-rewrite": "creates TMA atoms and descriptors, prefetches these, and loads through them",
    "lir-tma-smem-descriptor-allocation": "TMA descriptors in shared memory (by its name); not seen to change a module",
    "hoist-create-pipeline-ops": "moves the creation of pipelines to the top of the kernel",
    "lir-structured-memory-allocation": "memory for structures (by its name); not seen to change a module",
    "lir-pipeline-to-nvvm": "pipelines and stages become mbarriers, waits and arrivals; buffers become memory",
    "lir-static-memory-allocation": "allocations become arrays in shared memory; one warp allocates tensor memory",
    "lir-expand-mixed-cga": "kernels of mixed cluster shapes (by its name); not seen to change a module",
    "lir-materialize-launch-config": "launch configuration (by its name); not seen to change a module",
    "lir-dot-b-reuse-expansion": "matrix products that reuse B (by its name); not seen to change a module",
    "convert-core-to-cute": "operations of the `core` dialect become cute (by its name); not seen to change a module",
    "lir-to-cute-conversion": "partitions and copies of `lir` become cute layout algebra and `cute.copy`",
    "lir-to-cute-canonicalize": "computes equal constants once, and at the top of the kernel",
    "sync-to-nvvm": "waits become loops around `try_wait`, arrivals NVVM's, with fences where they need them",
    "lir-mbarrier-op-coalescing": "joins mbarrier operations (by its name); not seen to change a module",
    "lir-outline-grid-invariant": "grid-invariant work moves out (by its name); not seen to change a module",
    "lir-func-finalization": "`lir.func` becomes `func.func`; emits host functions that describe the kernel",
    "lir-normalize-finalized-kernel-to-cuda": "the finished kernel becomes a `cuda.kernel`, as the ordinary API has it",
    # Cute algebra.
    "cute-remove-static-args": "drops kernel parameters whose type holds their whole value, as static layouts",
    "materialize-tma-multicast": "turns a multicast dimension of `block_copy` into a multicast atom and a block mask",
    "software-pipeline": "splits TMA loops with `prefetch_stages`: a prologue fetches, the loop fetches ahead",
    "cute-desugar": "rewrites slices, divides, compositions, … to pointers, offsets and explicit layouts",
    "propagate-divby-through-control-flow": "finds what integers out of `if`s are divisible by, and refines types",
    "infer-kernel-smem-usage": "places shared memory allocations, and puts their total into the launch",
    "loop-vectorize": "packs pairs of elements of `vectorize=True` loops into f32x2 arithmetic (sm_100 up)",
    "cute-expand-ops": "writes partitions, copies, products out as pointers and loops; fills, compares, prints",
    "cute-fold-static": "replaces whatever a type says in full by `cute.static`, and drops what is unused",
    "insert-range-for-threadids": "states the range of thread, block and lane numbers, and of their counts",
    "int-range-optimizations": "replaces integers that can have one value only by constants",
    "hoist-speculatable-from-scf-if": "moves branches of pure arithmetic in front of their `if`",
    "canonicalize": "folds constants and simplifies by local rewrites, until nothing changes",
    "cse": "computes equal operations once (common subexpression elimination)",
    "eliminate-unnecessary-sync": "drops needless synchronisation (by its name); not seen to change a module",
    "nvgpu-optimization": "local clean-up of tuples: unpacks what was just packed",
    "convert-vector-to-scf": "turns n-dimensional vector transfers into loops; not seen to change a module",
    "convert-cute-types-in-scf-ops": "lets values of cute atom types cross `scf` regions as LLVM structs",
    "arith-expand": "spells out ceil and floor division, min and max by simpler operations",
    "convert-math-to-funcs": "integer powers become calls of generated functions; not seen to change a module",
    "convert-cute-to-core": "lowers all of cute: layouts to structs, coordinates to arithmetic, atoms to NVVM",
    "reconcile-unrealized-casts": "cancels the conversion casts that earlier lowerings left between them",
    # Arithmetic and structured control flow.
    "loop-invariant-code-motion": "moves what does not change inside a loop in front of it",
    "dump-iket-cfg": "control flow of profiling ranges (by its name); not seen to change a module",
    "strength-reduction": "keeps quotient and remainder of a loop counter by counting; also folds and cleans up",
    "cuda-compute-target": "attaches chip, features and optimisation level to the device module",
    "convert-fastmath-ops": "`fastmath<fast>` exp, log, sqrt, rsqrt, tanh become approximate PTX instructions",
    "strip-iket-ops": "deletes the profiling ranges and marks of the `iket` dialect",
    "flatten-locs": "flattens source locations for a JSON file; without one, changes nothing",
    "legalize-llvm-types": "loads and stores vectors of floats of 8 bits and fewer as integers",
    "core-to-arith": "arithmetic of the `core` dialect becomes arith (by its name); not seen to change a module",
    # LLVM.
    "core-to-llvm-prepare": "folds, and turns fp8 and 16-bit vector conversions into `nvgpu.cvt` operations",
    "expand-strided-metadata": "spells out memref views (upstream); not seen to change a module",
    "convert-scf-to-cf": "turns structured loops and conditions into blocks and branches",
    "store-gpu-launch-attribute": "carries `use_pdl` of `gpu.launch_func` over the conversion to LLVM",
    "one-shot-convert-to-llvm": "converts everything else to the LLVM and NVVM dialects, host and device",
    "optimize-llvm-for-backend": "last rewrites for the code generator (by its name); not seen to change a module",
    # Binary and host.
    "ensure-debug-info-scope-on-llvm-func": "gives each function the debug scope that line numbers need",
    "cuda-to-binary": "runs libNVVM and ptxas on the device module, which the cubin replaces",
    "cuda-to-llvm": "host functions call the CUDA runtime: load the cubin, launch the kernel",
    "cuda-error-handling": "`cuda.return_if_error` becomes a branch that returns the error code",
}
"""By name, every pass of the two unfolded pipelines. `canonicalize`, `cse`, … run several times."""

EARLIER: dict[str, str] = {
    "lir-to-cute": "the experimental API's dialect to cute, in one pass",
    "lir-func-finalization": "the experimental API's functions become kernels and host functions",
}
"""Passes of the pipelines of releases before 4.8 alone."""

OTHER_REGISTERED: dict[str, str] = {
    "composite-fixed-point-pass": "runs a pipeline again and again until nothing changes",
    "control-flow-sink": "moves an operation into the only branch that uses it",
    "convert-arith-to-llvm": "arith to the LLVM dialect",
    "convert-cf-to-llvm": "branches to the LLVM dialect",
    "convert-to-llvm": "to the LLVM dialect, for every dialect that says how",
    "convert-vector-to-llvm": "vector to the LLVM dialect",
    "cute-to-nvvm": "the wheel's whole pipeline as one pass",
    "generate-runtime-verification": "adds run-time checks to operations that can say what to check",
    "gpu-decompose-memrefs": "spells out memref indexing in GPU code",
    "gpu-kernel-outlining": "moves the bodies of `gpu.launch` into kernels",
    "gpu-launch-sink-index-computations": "moves cheap index arithmetic into `gpu.launch`",
    "gpu-module-to-binary": "upstream's code generation for GPU modules",
    "inline": "replaces calls by the function's body",
    "lir-to-cute-dsl": "the wheel's whole `lir` prefix as one pass",
    "loop-invariant-subset-hoisting": "moves loop-invariant subset accesses out of loops",
    "mem2reg": "keeps memory slots of single values in registers",
    "nvvm-attach-target": "attaches an NVVM target to GPU modules",
    "print-ir": "prints the module to standard error",
    "print-op-stats": "prints how often each operation occurs",
    "sccp": "constant propagation through branches and loops (sparse conditional)",
    "scf-for-loop-canonicalization": "simplifies the bodies of `scf.for` by what the bounds say",
    "scf-for-loop-peeling": "splits the last, partial iteration off a loop",
    "scf-for-loop-range-folding": "moves adds and multiplies of a loop counter into the loop's bounds",
    "scf-for-loop-specialization": "adds a version of a loop for the constant in a bound that is a `min`",
    "scf-for-to-while": "turns `scf.for` into `scf.while`",
    "scf-forall-to-for": "turns `scf.forall` into nested `scf.for`",
    "scf-forall-to-parallel": "turns `scf.forall` into `scf.parallel`",
    "scf-parallel-for-to-nested-fors": "turns `scf.parallel` into nested `scf.for`",
    "scf-parallel-loop-fusion": "joins neighbouring `scf.parallel` loops",
    "scf-parallel-loop-specialization": "the same for `scf.parallel`",
    "scf-parallel-loop-tiling": "cuts `scf.parallel` loops into tiles",
    "sroa": "splits memory slots of aggregates into one slot for each element",
    "strip-debuginfo": "replaces every source location by an unknown one",
    "symbol-dce": "removes private symbols that nobody refers to",
    "symbol-privatize": "makes symbols private",
    "topological-sort": "orders operations of graph regions by their uses",
    "view-op-graph": "prints the module as a Graphviz graph to standard error",
}
"""By name, other passes that the wheel registers and that can run on a module, to insert into a pipeline."""

OPTION_DOCS: dict[str, dict[str, str]] = {
    "canonicalize": {
        "max-iterations": "how often to start over, at most; -1 for no limit",
        "max-num-rewrites": "how many rewrites to make in one iteration, at most; -1 for no limit",
        "region-simplify": "how far to simplify blocks: `disabled`, `normal`, or `aggressive`, which merges them",
        "test-convergence": "fail when the iterations run out before nothing changes",
        "top-down": "visit the operations from the top; else from the bottom",
    },
    "remove-dead-values": {"canonicalize": "canonicalize afterwards"},
    "infer-kernel-smem-usage": {"init-addr": "address from which to hand out shared memory, in bytes"},
    "cute-expand-ops": {"enable-assertions": "turn `cf.assert` in kernels into a message and a trap; else drop it"},
    "lir-func-finalization": {
        "emit-host-runtime-funcs": "emit the host functions that list the kernels, their names and what they need",
        "enable-cuda-dialect": "write the launch with 64-bit sizes, as the `cuda` dialect takes them",
    },
    "convert-vector-to-scf": {
        "full-unroll": "unroll the transfers instead of making loops",
        "lower-scalable": "also lower scalable vectors",
        "lower-tensors": "also lower transfers of tensors",
        "target-rank": "rank at which to stop",
    },
    "arith-expand": {
        "include-bf16": "also spell out conversions of bf16",
        "include-f4e2m1": "also spell out conversions of f4E2M1FN",
        "include-f8e8m0": "also spell out conversions of f8E8M0FNU",
    },
    "convert-math-to-funcs": {
        "convert-ctlz": "also make functions of `math.ctlz`",
        "min-width-of-fpowi-exponent": "convert `math.fpowi` when its exponent has at least this many bits",
    },
    "cuda-compute-target": {
        "chip": "the target, such as sm_90a",
        "features": "the PTX version, such as +ptx88",
        "opt-level": "optimisation level, 0 to 3",
        "triple": "LLVM's target triple",
    },
    "flatten-locs": {"output-json-path": "file to write the locations to; only cutecc may set it, and it does not"},
    "convert-scf-to-cf": {"allow-pattern-rollback": "let the dialect conversion undo patterns that fail half-way"},
    "store-gpu-launch-attribute": {"restore": "`false`: set the attribute aside; `true`: put it back"},
    "one-shot-convert-to-llvm": {
        "index-bitwidth": "how many bits `index` has",
        "use-bare-ptr-memref-call-conv": "pass memrefs to functions as plain pointers",
    },
    "ensure-debug-info-scope-on-llvm-func": {
        "emission-kind": "`None`, `Full`, `LineTablesOnly` or `DebugDirectivesOnly`, as LLVM's compile units have it",
    },
    "cuda-to-binary": {
        "collect-compiler-diagnostics": "keep the assembler's log in an attribute of the binary",
        "cubin-triple": "LLVM's target triple",
        "dump-cubin-path": "where to write the cubin; only cutecc sets it",
        "dump-fatbin-path": "where to write the fatbin; only cutecc sets it",
        "dump-ptx-path": "where to write the PTX; only cutecc sets it",
        "fast": "let libNVVM use fast approximations",
        "features": "the PTX version, such as +ptx88",
        "ftz": "flush denormal numbers to zero",
        "nvvm-options": "options for libNVVM",
        "opt-level": "optimisation level, 0 to 3",
        "ptx-options": "options for ptxas",
        "toolkit": "folder of a CUDA toolkit; pipeline text may not set it",
    },
    "scf-for-loop-peeling": {
        "peel-front": "split the first iteration off instead of the last",
        "skip-partial": "leave loops inside an already split-off part alone",
    },
    "mem2reg": {"region-simplify": "simplify blocks afterwards"},
    "print-ir": {"label": "a text to print before the module"},
    "print-op-stats": {"json": "print as JSON"},
    "inline": {
        "default-pipeline": "passes to run on a function before it is inlined",
        "inlining-threshold": "how large a callee may be compared with its caller, in percent",
        "max-iterations": "how often to look again for calls, at most",
    },
}
"""By pass and option, what is known of the options that passes print. Missing: what could not be established."""
