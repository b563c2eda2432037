"""Counters by the names that Nsight Compute gives to what it measures.

The numbers are those of the PTX, so they equal a GPU's where the assembler has kept its accesses. `docs/emulator.md`
has a comparison, and says what the assembler changes.

- `smsp__inst_executed_op_{global,shared,local}_{ld,st,atom,red}.sum`, `smsp__inst_executed_op_{ldgsts,ldsm}.sum`
  (`cp.async`, `ldmatrix`): `warps` of such instructions, where a thread accesses that space.
- `l1tex__t_{requests,sectors}_pipe_lsu_mem_global_op_{ld,st,atom,red}.sum`: `global_requests` and `global_sectors`. An
  `atom` whose result nothing reads is a `red`. `cp.async` is among those of `ld`, but not the sectors of `cp.async.cg`,
  which goes past L1 and which hardware counts here in another way.
- `smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts.sum`: `global_sectors` of `cp.async`.
  `cutecc.memory_rules.transfers` has the measured rules for its sectors and wavefronts; for wavefronts of `cp.async.cg`
  at irregular addresses it is an approximation.
- `memory_l2_theoretical_sectors_global` and `…_ideal`: `global_sectors` and `global_ideal_sectors`.
- `smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{ld,st,atom,ldsm,ldgsts}.sum`,
  `l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{ld,st,atom}.sum` (`ldmatrix` is a `ld` here),
  `memory_l1_wavefronts_shared`: `shared_wavefronts`.
- `l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{ld,st,atom}.sum`: `bank_conflicts`. Hardware also counts cycles
  in which other traffic holds the banks. `memory_l1_wavefronts_shared_ideal`: `shared_ideal_wavefronts`.
- `smsp__inst_executed_pipe_tensor.sum`: `warps` of `mma`.
- `smsp__sass_thread_inst_executed_op_{fadd,fmul,ffma,dadd,dmul,dfma}_pred_on.sum`: `predicated_threads` of `add` and
  `sub`, `mul`, `fma` of that type.

`smsp__inst_executed.sum` has no counterpart: the assembler makes none, one or several machine instructions of one of
PTX.
"""

from __future__ import annotations

from collections.abc import Iterator

from cutecc.emulator.counters.counters import Counters, InstructionCounts

_ACCESSES = {"ld": "ld", "ldu": "ld", "ldmatrix": "ld", "st": "st", "stmatrix": "st", "atom": "atom", "red": "red"}
_ARITHMETIC = {"add": "add", "sub": "add", "mul": "mul", "fma": "fma", "mad": "fma"}
_LETTERS = {"f32": "f", "f64": "d"}

_EXECUTED = "smsp__inst_executed_op_{}.sum"
_THREADS = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"
_TENSOR = "smsp__inst_executed_pipe_tensor.sum"
_REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_{}.sum"
_SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_{}.sum"
_COPY_SECTORS = "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts.sum"
_ALL_SECTORS = "memory_l2_theoretical_sectors_global"
_WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
_OWN_WAVEFRONTS = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
_CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum"
_ALL_WAVEFRONTS = "memory_l1_wavefronts_shared"
_IDEAL = "_ideal"

_GLOBAL, _SHARED = ("ld", "st", "atom", "red"), ("ld", "st", "atom")
METRICS = (
    *(_EXECUTED.format(each) for each in ("global_ld", "global_st", "global_red", "local_ld", "local_st")),
    *(_EXECUTED.format(each) for each in ("shared_ld", "shared_st", "shared_atom", "ldgsts", "ldsm")),
    _TENSOR,
    *(_THREADS.format(letter + kind) for letter in "fd" for kind in ("add", "mul", "fma")),
    *(metric.format(each) for metric in (_REQUESTS, _SECTORS) for each in _GLOBAL),
    *(_COPY_SECTORS, _ALL_SECTORS, _ALL_SECTORS + _IDEAL),
    *(metric.format(each) for metric in (_WAVEFRONTS, _CONFLICTS) for each in _SHARED),
    *(_OWN_WAVEFRONTS.format(each) for each in (*_SHARED, "ldsm", "ldgsts")),
    *(_ALL_WAVEFRONTS, _ALL_WAVEFRONTS + _IDEAL),
)
"""What the emulator can tell of every kernel."""


def ncu_metrics(counters: Counters, kernel: str | None = None) -> dict[str, int]:
    """The metrics that a profile of the launch should have: all of `METRICS`."""
    found = dict.fromkeys(METRICS, 0)
    for each in counters.instructions:
        if kernel in (None, each.kernel):
            for name, value in _metrics(each):
                if name in found:
                    found[name] += value
    return found


def _metrics(each: InstructionCounts) -> Iterator[tuple[str, int]]:
    counts, (opcode, *modifiers) = each.counts, each.form.split(".")
    yield _ALL_SECTORS, counts.global_sectors
    yield _ALL_SECTORS + _IDEAL, counts.global_ideal_sectors
    yield _ALL_WAVEFRONTS, counts.shared_wavefronts
    yield _ALL_WAVEFRONTS + _IDEAL, counts.shared_ideal_wavefronts
    if opcode == "cp" and counts.shared_requests:
        yield _EXECUTED.format("ldgsts"), counts.warps
        yield _REQUESTS.format("ld"), counts.global_requests
        yield _COPY_SECTORS, counts.global_sectors
        if "ca" in modifiers:
            yield _SECTORS.format("ld"), counts.global_sectors
        yield _OWN_WAVEFRONTS.format("ldgsts"), counts.shared_wavefronts
    elif opcode == "mma":
        yield _TENSOR, counts.warps
    elif (kind := _ARITHMETIC.get(opcode)) is not None and (letter := _LETTERS.get(modifiers[-1])):
        yield _THREADS.format(letter + kind), counts.predicated_threads
    elif opcode in _ACCESSES and "async" not in modifiers:
        yield from _accesses(each, opcode, _ACCESSES[opcode])


def _accesses(each: InstructionCounts, opcode: str, access: str) -> Iterator[tuple[str, int]]:
    counts = each.counts
    if counts.global_requests:
        in_global = access if each.is_used else "red"
        yield _EXECUTED.format(f"global_{in_global}"), counts.warps
        yield _REQUESTS.format(in_global), counts.global_requests
        yield _SECTORS.format(in_global), counts.global_sectors
    if counts.shared_requests:
        # In shared memory there is no other kind of update.
        in_shared = "atom" if access == "red" else access
        own = "ldsm" if opcode == "ldmatrix" else in_shared
        yield _EXECUTED.format("ldsm" if opcode == "ldmatrix" else f"shared_{in_shared}"), counts.warps
        yield _WAVEFRONTS.format(in_shared), counts.shared_wavefronts
        yield _CONFLICTS.format(in_shared), counts.bank_conflicts
        yield _OWN_WAVEFRONTS.format(own), counts.shared_wavefronts
    if counts.local_bytes_read or counts.local_bytes_written:
        yield _EXECUTED.format(f"local_{access}"), counts.warps
