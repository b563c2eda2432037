"""Counters by the names that Nsight Compute gives to what it measures.

Equal to a GPU's, unless the assembler has changed the accesses (joined narrow ones, removed unused ones, kept spilled
registers in local memory):

- `smsp__inst_executed_op_{global,shared,local}_{ld,st,atom,red}.sum`: `warps` of such instructions;
- `l1tex__t_requests_pipe_lsu_mem_global_op_{ld,st,atom,red}.sum`: `global_requests`. Requests whose threads are all
  switched off by the guard are not made;
- `l1tex__t_sectors_pipe_lsu_mem_global_op_{ld,st,atom,red}.sum`: `global_sectors`;
- `l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{ld,st}.sum`: `shared_wavefronts`, with those of `ldmatrix` and
  `stmatrix`;
- `l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{ld,st}.sum`: `bank_conflicts`. Hardware also counts cycles in
  which other traffic holds the banks, so that its number can be larger.

- `smsp__inst_executed_op_ldgsts.sum`: `warps` of `cp.async`; its sectors and wavefronts are not among those of `ld` and
  `st`, but `smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum` and
  `smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts.sum`, and
  `l1tex__t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_{access,bypass}.sum` for `.ca` and `.cg`.

The assembler makes `red` of an `atom` whose result nobody reads: compare the sum of both.

Not to be compared are `smsp__inst_executed.sum` and `smsp__thread_inst_executed.sum` with `warps` and `threads` of a
whole kernel: the assembler makes none, one or several machine instructions of one of PTX.
`smsp__sass_thread_inst_executed_op_{fadd,fmul,ffma,dadd,dmul,dfma}_pred_on.sum` are `predicated_threads` of `add` and
`sub`, `mul`, `fma` of that type, unless the assembler joins an `add` and a `mul`, which it may do where PTX gives no
rounding.
"""

from __future__ import annotations

from collections.abc import Callable

from cutecc.emulator.counters.counters import Counters, InstructionCounts
from cutecc.emulator.counters.counts import Counts

_ACCESSES = {"ld": "ld", "ldu": "ld", "ldmatrix": "ld", "st": "st", "stmatrix": "st", "atom": "atom", "red": "red"}
_ARITHMETIC = {"add": "add", "sub": "add", "mul": "mul", "fma": "fma", "mad": "fma"}
_LETTERS = {"f32": "f", "f64": "d"}


def ncu_metrics(counters: Counters, kernel: str | None = None) -> dict[str, int]:
    """The metrics that a profile of the launch should have, those that are zero left out."""
    found: dict[str, int] = {}
    for each in counters.instructions:
        if kernel in (None, each.kernel):
            for name, value in _metrics(each):
                found[name] = found.get(name, 0) + value
    return {name: value for name, value in sorted(found.items()) if value}


def _metrics(each: InstructionCounts) -> list[tuple[str, int]]:
    counts, (opcode, *modifiers) = each.counts, each.form.split(".")
    modifiers = modifiers or [""]
    found: list[tuple[str, int]] = []
    if (access := _ACCESSES.get(opcode)) is not None and "async" not in modifiers:
        for space, used, metrics in _SPACES:
            if used(counts):
                if not opcode.endswith("matrix"):
                    found.append((f"smsp__inst_executed_op_{space}_{access}.sum", counts.warps))
                found += [(f"{name}_op_{access}.sum", value(counts)) for name, value in metrics]
    if opcode == "cp" and counts.shared_requests:
        cached = "access" if "ca" in modifiers else "bypass"
        found += [
            ("smsp__inst_executed_op_ldgsts.sum", counts.warps),
            (f"l1tex__t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_{cached}.sum", counts.global_sectors),
            ("smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum", counts.shared_wavefronts),
            ("smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts.sum", counts.bank_conflicts),
        ]
    if opcode in ("ldmatrix", "stmatrix"):
        found.append((f"smsp__inst_executed_op_{'ldsm' if opcode == 'ldmatrix' else 'stsm'}.sum", counts.warps))
    if (kind := _ARITHMETIC.get(opcode)) is not None and (letter := _LETTERS.get(modifiers[-1])):
        name = f"smsp__sass_thread_inst_executed_op_{letter}{kind}_pred_on.sum"
        found.append((name, counts.predicated_threads))
    return found


_Number = Callable[[Counts], int]
_SPACES: list[tuple[str, _Number, list[tuple[str, _Number]]]] = [
    (
        "global",
        lambda counts: counts.global_requests,
        [
            ("l1tex__t_requests_pipe_lsu_mem_global", lambda counts: counts.global_requests),
            ("l1tex__t_sectors_pipe_lsu_mem_global", lambda counts: counts.global_sectors),
        ],
    ),
    (
        "shared",
        lambda counts: counts.shared_requests,
        [
            ("l1tex__data_pipe_lsu_wavefronts_mem_shared", lambda counts: counts.shared_wavefronts),
            ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared", lambda counts: counts.bank_conflicts),
        ],
    ),
    ("local", lambda counts: counts.local_bytes_read + counts.local_bytes_written, []),
]
