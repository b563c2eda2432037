"""One block or a pair, with the memories of the independent model's blocks, that executes single instructions."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cutecc.emulator.checks.finding import Finding
from cutecc.emulator.instructions.operation import Operation
from cutecc.emulator.machine.block import Block, Cluster
from cutecc.emulator.machine.gang import Gang
from cutecc.emulator.machine.lanes import Lanes
from cutecc.emulator.machine.machine import Machine, Shape
from cutecc.emulator.machine.program import Program
from cutecc.emulator.machine.watch import Watch
from cutecc.emulator.memory.memory import Memory, initialised
from cutecc.emulator.memory.tensor_memory import COLUMNS, TensorAllocation, tensor_memory_of

sys.path[:0] = [str(Path(__file__).parents[1])]

from blackwell_model.cells import Cell, encode_address  # noqa: E402
from blackwell_model.loads_and_stores import Words  # noqa: E402
from blackwell_model.places import Block as Given  # noqa: E402
from blackwell_model.places import Product  # noqa: E402
from hand import make_operation, make_step  # noqa: E402

WIDTHS = {"b32": np.uint32, "b64": np.uint64, "pred": np.bool_}


class Chip:
    """Blocks of one cluster, with the same number of threads each, and a gang of the warps of each."""

    def __init__(
        self,
        blocks: Sequence[Given],
        registers: Mapping[str, str],
        threads: int = 32,
        target: str = "sm_100a",
        columns: int = COLUMNS,
        watch: Watch | None = None,
    ) -> None:
        """Each block has the first `columns` of tensor memory. `registers` are names and types."""
        size = max(len(each.shared) for each in blocks)
        count, self.target, self.registers = len(blocks), target, dict(registers)
        shape = Shape((count, 1, 1), (threads, 1, 1), target=target)
        program = Program("k", target, shared_bytes=size)
        memory = Memory(program, shape, count, b"", [], initialised(b""))
        self.machine = Machine(shape, memory, watch or Watch(), print)
        self.machine.eager = True
        self.faults: list[Finding] = []
        self.machine.collect = self.faults.append
        cluster = Cluster((0, 0, 0), (count, 1, 1))
        self.gangs: list[Gang] = []
        for number, given in enumerate(blocks):
            block = Block((number, 0, 0), number, threads, cluster, number, live_warps=threads // 32, processor=number)
            cluster.blocks.append(block)
            self.machine.blocks.append(block)
            memory.window(number)[: len(given.shared)] = given.shared
            tensor = tensor_memory_of(self.machine, block)
            if columns:
                tensor.take(TensorAllocation(0, columns, block, self._operation("bar.sync 0"), pair=count == 2))
            tensor.words[:] = given.tensor
            warps = [(block, warp) for warp in range(threads // 32)]
            self.gangs.append(Gang(self.machine, warps, []))
        self.machine.gangs += self.gangs

    @property
    def tensor(self) -> list[Words]:
        """Tensor memory of each block."""
        return [tensor_memory_of(self.machine, each).words for each in self.machine.blocks]

    def _operation(self, text: str) -> Operation:
        return make_operation(text, self.registers, self.target)

    def do(self, text: str, values: Mapping[str, Any], *, block: int = 0, alone: bool = True) -> Any:
        """Execute an instruction in one thread of a block, or in all; the registers afterwards, by name."""
        gang = self.gangs[block]
        gang.registers[:] = [
            np.array(np.broadcast_to(np.asarray(values.get(name, 0), WIDTHS[type_]), gang.shape))
            for name, type_ in self.registers.items()
        ]
        mask = np.zeros(gang.shape, np.bool_)
        mask[slice(0, 1) if alone else slice(None), slice(0, 1) if alone else slice(None)] = True
        with np.errstate(all="ignore"):
            waiting = make_step(self._operation(text))(gang, Lanes(mask, not alone))
        assert waiting is None
        return dict(zip(self.registers, gang.registers, strict=True))

    def refusal(self, text: str, values: Mapping[str, Any], **options: Any) -> str:
        """What is said of an instruction that is a fault; empty when it is none. What mends it is said too."""
        self.do(text, values, **options)
        if not self.faults:
            return ""
        fault = self.faults.pop()
        message, *mends = fault.message.splitlines()
        assert len(mends) == 1 or fault.kind != "tensor-memory", fault.message
        return message


REGISTERS = {
    **dict.fromkeys(("%d", "%ta", "%idesc", "%meta", "%sa", "%sb"), "b32"),
    **{f"%off{each}": "b32" for each in range(8)},
    **{"%da": "b64", "%db": "b64", "%zero": "b64", "%adds": "pred"},
}
"""Of multiplications."""


def text_of(product: Product, collector: str = "") -> str:
    """The instruction, with the registers of `values_of`."""
    variant = product.variant
    modifiers = [
        *(["ws"] if variant.weight_stationary else []),
        *(["sp"] if variant.sparse else []),
        f"cta_group::{variant.cta_group}",
        f"kind::{product.kind.value}",
        *(["block_scale"] if product.scales else []),
        *([product.scales.qualifier] if product.scales and product.scales.qualifier else []),
        *(["ashift"] if product.shifts_a else []),
        *([collector] if collector else []),
    ]
    operands = ["[%d]", "[%ta]" if isinstance(product.a, Cell) else "%da", "%db"]
    operands += ["[%meta]"] if variant.sparse else []
    operands += ["%idesc"]
    if any(product.disable_output_lane):
        operands.append(f"{{{', '.join(f'%off{each}' for each in range(4 * variant.cta_group))}}}")
    operands += ["[%sa]", "[%sb]"] if product.scales else []
    operands += ["%adds"]
    if product.column_mask.generates or product.column_mask.shift:
        operands.append("%zero")
    operands += [str(product.scale_input_d)] if product.scale_input_d else []
    return f"tcgen05.mma.{'.'.join(modifiers)} {', '.join(operands)};"


def values_of(product: Product) -> dict[str, int]:
    """Of the registers."""
    a, scales = product.a, product.scales
    return {
        "%d": encode_address(product.d),
        "%ta" if isinstance(a, Cell) else "%da": encode_address(a) if isinstance(a, Cell) else a.encode(),
        "%db": product.b.encode(),
        "%idesc": product.descriptor.encode(product.kind),
        "%meta": encode_address(product.metadata),
        **({"%sa": encode_address(scales.a), "%sb": encode_address(scales.b)} if scales else {}),
        **{f"%off{number}": word for number, word in enumerate(product.disable_output_lane)},
        "%adds": product.enable_input_d,
        "%zero": product.column_mask.encode(),
    }
