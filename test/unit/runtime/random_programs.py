"""Random host programs, well formed by construction, and a plain interpreter of them to compare with."""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass, field

from cutecc.errors import LaunchError
from cutecc.record.host_program import (
    Allocation,
    Block,
    HostArgument,
    HostProgram,
    Instruction,
    KernelEntry,
    KernelParameter,
    LaunchAttribute,
    LaunchSite,
    Leaf,
    ParameterWrite,
    TensorMapSite,
)
from cutecc.runtime.launch import Launch, TensorMap
from cutecc.runtime.program.allocations import AddressSpace, address_of
from cutecc.runtime.program.evaluation import StatusError
from cutecc.runtime.program.number_expressions import (
    ARITHMETIC,
    BITS,
    FORMATS,
    NAMESPACE,
    SIZES,
    constant,
    function,
    is_integer,
)
from cutecc.runtime.program.printing import formatter

KERNELS = [
    KernelEntry("first", [KernelParameter(0, 8, 8), KernelParameter(8, 4, 4), KernelParameter(16, 16, 16)], 32),
    KernelEntry("second", [KernelParameter(0, 128, 64), KernelParameter(128, 8, 8)], 136),
    KernelEntry("empty", [], 0),
]


@dataclass
class Recorder:
    """A host that writes down what it is asked for."""

    failing_launch: int = -1
    failing_map: int = -1
    events: list[object] = field(default_factory=list)

    def launch(self, launch: Launch) -> int:
        parts = (launch.kernel.name, launch.grid, launch.block, launch.shared_bytes, launch.stream)
        self.events.append((*parts, launch.attributes, bytes(launch.parameters)))
        return 719 if self.count("first", "second", "empty") == self.failing_launch else 0

    def encode_tensor_map(self, tensor_map: TensorMap) -> bytes | int:
        self.events.append(("map", tensor_map))
        if self.count("map") == self.failing_map:
            return 1
        seed = tensor_map.address.to_bytes(8, "little") + bytes(size & 0xFF for size in tensor_map.sizes)
        return (seed * 16)[:128]

    def print(self, text: str) -> None:
        self.events.append(("print", text))

    def count(self, *kinds: str) -> int:
        return sum(event[0] in kinds for event in self.events)  # type: ignore[index]


class Generator:
    """Builds one program from a seed."""

    def __init__(self, seed: int, size: int = 25, leaf_types: tuple[str, ...] = ("i64", "i64", "i64", "i32", "f32")):
        self.random = random.Random(seed)
        self.size = size
        self.types: list[str] = []
        self.scope: dict[str, list[int]] = {}
        self.strings: list[str] = []
        self.allocations = [Allocation(64, 8), Allocation(128, 64), Allocation(256, 64)]
        leaves = [self.value(type_) for type_ in leaf_types]
        kinds = ["stream" if n == 2 else "pointer" if n < 2 else "scalar" for n in range(len(leaf_types))]
        arguments = [HostArgument([Leaf(kind, type_)]) for kind, type_ in zip(kinds, leaf_types, strict=True)]
        for number in leaves:
            self.see(number)
        body = self.block(size, 0)
        self.status(body)
        self.program = HostProgram("host", arguments, self.types, KERNELS, body, self.allocations, self.strings)

    def value(self, type_: str) -> int:
        self.types.append(type_)
        return len(self.types) - 1

    def see(self, number: int) -> int:
        self.scope.setdefault(self.types[number], []).append(number)
        return number

    def constant(self, block: Block, type_: str, number: int | None = None) -> int:
        bits = BITS[type_]
        if number is None:
            random_ = self.random
            number = random_.choice((0, 1, 2, (1 << bits) - 1, 1 << (bits - 1), random_.getrandbits(bits)))
            number &= (1 << bits) - 1
        result = self.value(type_)
        block.instructions.append(Instruction("constant", [], [result], number))
        return self.see(result)

    def pick(self, block: Block, type_: str) -> int:
        seen = self.scope.get(type_, [])
        if not seen or self.random.random() < 0.2:
            return self.constant(block, type_)
        # The first ones are leaves.
        return self.random.choice(self.random.choice((seen[:2], seen[-8:], seen)))

    def emit(self, block: Block, op: str, operands: list[int], type_: str, **more: object) -> int:
        result = self.value(type_)
        block.instructions.append(Instruction(op, operands, [result], **more))
        return self.see(result)

    def status(self, block: Block) -> None:
        block.yields.append(self.constant(block, "i32", 0))

    def block(self, size: int, depth: int) -> Block:
        block = Block()
        for _ in range(size):
            self.step(block, depth)
        return block

    def step(self, block: Block, depth: int) -> None:
        kinds = [self.arithmetic] * 8 + [self.memory] * 6 + [self.launch, self.print_, self.tensor_map]
        kinds += [self.trap] if self.random.random() < 0.1 else []
        if depth < 3:
            kinds += [lambda inner: self.conditional(inner, depth), lambda inner: self.loop(inner, depth)]
        self.random.choice(kinds)(block)

    def arithmetic(self, block: Block) -> None:
        choose = self.random.choice
        op = choose(sorted(ARITHMETIC))
        integers, floats = ["i1", "i8", "i16", "i32", "i64", "i64", "i32"], ["f16", "bf16", "f32", "f64"]
        type_ = choose(floats if op[0] == "f" and op not in ("fptosi", "fptoui") else integers)
        if op == "select":
            type_ = choose(integers + floats)
            operands = [self.pick(block, "i1"), self.pick(block, type_), self.pick(block, type_)]
            self.emit(block, op, operands, type_)
        elif op in ("zext", "sext", "trunc", "fpext", "fptrunc"):
            pool = floats if op[0] == "f" else integers
            pairs = [(a, b) for a in pool for b in pool if BITS[a] < BITS[b]]
            source, target = choose(pairs)
            if op in ("trunc", "fptrunc"):
                source, target = target, source
            self.emit(block, op, [self.pick(block, source)], target)
        elif op == "bitcast":
            source, target = choose([("i32", "f32"), ("f32", "i32"), ("i64", "f64"), ("i16", "bf16"), ("f16", "i16")])
            self.emit(block, op, [self.pick(block, source)], target)
        elif op in ("sitofp", "uitofp"):
            self.emit(block, op, [self.pick(block, type_)], choose(floats))
        elif op in ("fptosi", "fptoui"):
            self.emit(block, op, [self.pick(block, choose(floats))], type_)
        elif op in ("udiv", "sdiv", "urem", "srem"):
            divisor = self.constant(block, type_, self.random.randrange(1, 1 << max(1, BITS[type_] - 1)))
            divisor = self.pick(block, type_) if self.random.random() < 0.1 else divisor
            self.emit(block, op, [self.pick(block, type_), divisor], type_)
        elif op in ("ctlz", "cttz", "ctpop", "abs", "fneg"):
            self.emit(block, op, [self.pick(block, type_)], type_)
        else:
            compares = op in ("eq", "ne") or op[1:] in ("lt", "le", "gt", "ge") or op[:2] in ("fo", "fu")
            operands = [self.pick(block, type_), self.pick(block, type_)]
            self.emit(block, op, operands, "i1" if compares else type_)

    def address(self, block: Block, size: int, align: int = 1) -> int:
        number = self.random.randrange(len(self.allocations))
        base = self.emit(block, "address", [], "i64", immediate=number)
        room = (self.allocations[number].size - size) // align
        if room < 0:
            return base
        if self.random.random() < 0.08:
            index = self.emit(block, "urem", [self.pick(block, "i64"), self.constant(block, "i64", room + 1)], "i64")
            offset = self.emit(block, "mul", [index, self.constant(block, "i64", align)], "i64")
        else:
            offset = self.constant(block, "i64", self.random.randrange(room + 1) * align)
        return self.emit(block, "add", [base, offset], "i64")

    def memory(self, block: Block) -> None:
        type_ = self.random.choice(sorted(BITS) + ["i64"] * 6)
        aligned = SIZES[type_] if self.random.random() < 0.95 else 1
        address = self.address(block, SIZES[type_], aligned)
        if self.random.random() < 0.6:
            block.instructions.append(Instruction("store", [address, self.pick(block, type_)]))
        else:
            self.emit(block, "load", [address], type_)

    def grid(self, block: Block) -> tuple[int, int, int]:
        x, y = self.constant(block, "i32", self.random.randrange(1, 9)), self.constant(block, "i32", 1)
        return (x, y, y) if self.random.random() < 0.9 else (self.pick(block, "i32"), y, y)

    def launch(self, block: Block) -> None:
        choose = self.random.choice
        kernel = self.random.randrange(3)
        writes: list[ParameterWrite] = []
        for parameter in KERNELS[kernel].parameters:
            type_ = "i64" if parameter.size % 8 == 0 else choose(("i32", "f32", "bf16"))
            for offset in range(parameter.offset, parameter.offset + parameter.size, SIZES[type_] or 1):
                if offset + SIZES[type_] <= parameter.offset + parameter.size and self.random.random() < 0.8:
                    writes.append(ParameterWrite(offset, self.pick(block, type_)))
        self.random.shuffle(writes)
        attributes = [LaunchAttribute("cluster", list(self.grid(block)))] if choose((0, 1)) else []
        attributes += [LaunchAttribute("cooperative", [self.constant(block, "i32", 1)])] if choose((0, 1)) else []
        shared = self.constant(block, "i64", 1024)
        # Value 2 is the stream.
        stream = 2 if choose((0, 1)) and self.types[2] == "i64" else self.constant(block, "i64", 0)
        grid, threads = self.grid(block), self.grid(block)
        site = LaunchSite(kernel, grid, threads, shared, stream, attributes, writes)
        self.checked(block, self.emit(block, "launch", [], "i32", launch=site))

    def checked(self, block: Block, status: int) -> None:
        if self.random.random() < 0.8:
            block.instructions.append(Instruction("return_if_error", [status]))

    def print_(self, block: Block) -> None:
        letter, type_ = self.random.choice((("%d", "i32"), ("%llx", "i64"), ("%g", "f32"), ("100%% %u", "i8")))
        self.strings.append(f"value {letter}\n")
        operand = self.pick(block, type_)
        self.emit(block, "print", [operand], "i32", immediate=len(self.strings) - 1)

    def trap(self, block: Block) -> None:
        self.strings.append("went wrong")
        immediate = len(self.strings) - 1
        block.instructions.append(Instruction("fail", [self.pick(block, "i1")], immediate=immediate))

    def tensor_map(self, block: Block) -> None:
        rank = self.random.randrange(1, 4)
        pick = [self.pick(block, "i64") for _ in range(2 * rank)]
        small = [self.constant(block, "i32", 1) for _ in range(rank)]
        site = TensorMapSite(7, self.pick(block, "i64"), pick[:rank], pick[rank + 1 :], small, small, 0, 3, 2, 0)
        address = self.address(block, 128, 64)
        if self.random.random() < 0.9 and self.types[address] == "i64":
            number = self.random.choice((1, 2))
            address = self.emit(block, "address", [], "i64", immediate=number)
        self.checked(block, self.emit(block, "encode_tensor_map", [address], "i32", tensor_map=site))

    def nested(self, size: int, depth: int, parameters: tuple[str, ...] = ()) -> Block:
        """A block whose values are gone afterwards; it yields nothing yet."""
        saved = {type_: list(values) for type_, values in self.scope.items()}
        entering = [self.see(self.value(type_)) for type_ in parameters]
        block = self.block(size, depth + 1)
        block.parameters.extend(entering)
        self.after, self.scope = self.scope, saved
        return block

    def yielding(self, block: Block, types: list[str]) -> None:
        saved, self.scope = self.scope, {type_: list(values) for type_, values in self.after.items()}
        block.yields.extend(self.pick(block, type_) for type_ in types)
        self.scope = saved

    def conditional(self, block: Block, depth: int) -> None:
        condition = self.pick(block, "i1")
        if self.random.random() < 0.5:
            condition = self.emit(block, "ult", [self.pick(block, "i64"), self.pick(block, "i64")], "i1")
        types = [self.random.choice(("i32", "i64", "f32", "i1")) for _ in range(self.random.randrange(3))]
        arms = []
        for _ in range(2):
            arm = self.nested(self.random.randrange(6), depth)
            self.yielding(arm, types)
            arms.append(arm)
        results = [self.value(type_) for type_ in types]
        block.instructions.append(Instruction("if", [condition], results, blocks=arms))
        for result in results:
            self.see(result)

    def loop(self, block: Block, depth: int) -> None:
        carried = tuple(self.random.choice(("i32", "i64", "f32")) for _ in range(self.random.randrange(3)))
        types = ("i32", *carried)
        bound = self.constant(block, "i32", self.random.randrange(4))
        if self.random.random() < 0.1:
            bound = self.emit(block, "and", [self.pick(block, "i32"), self.constant(block, "i32", 3)], "i32")
        initial = [self.constant(block, "i32", 0), *(self.pick(block, type_) for type_ in carried)]
        condition = self.nested(self.random.randrange(2), depth, types)
        going = self.value("i1")
        condition.instructions.append(Instruction("ult", [condition.parameters[0], bound], [going]))
        condition.yields.extend([going, *condition.parameters])
        body = self.nested(self.random.randrange(4), depth, types)
        one, following = self.value("i32"), self.value("i32")
        body.instructions.append(Instruction("constant", [], [one], 1))
        body.instructions.append(Instruction("add", [body.parameters[0], one], [following]))
        body.yields.append(following)
        self.yielding(body, list(carried))
        results = [self.value(type_) for type_ in types]
        block.instructions.append(Instruction("while", initial, results, blocks=[condition, body]))
        for result in results:
            self.see(result)


def interpret(program: HostProgram, leaves: list[int | float], host: Recorder) -> None:
    """The program one instruction after the other, as its documentation says."""
    _Interpreter(program, host).run(leaves)


class _Interpreter:
    def __init__(self, program: HostProgram, host: Recorder) -> None:
        self.program, self.host = program, host
        self.space = AddressSpace(program.allocations)
        self.memory = [bytearray(allocation.size) for allocation in program.allocations]
        self.values: dict[int, int | float] = {}
        self.kernels: dict[int, str] = {}

    def run(self, leaves: list[int | float]) -> None:
        for number, (leaf, value) in enumerate(zip(self.program.leaves, leaves, strict=True)):
            rounding = NAMESPACE.get(f"round_{leaf.type}")
            self.values[number] = rounding(value) if rounding else value  # type: ignore[operator]
        self.check(self.block(self.program.body)[0], self.program.body.yields[0])

    def check(self, status: int | float, value: int) -> None:
        if status:
            raise StatusError("status", status=int(status), kernel=self.kernels.get(value, ""))

    def block(self, block: Block) -> list[int | float]:
        for instruction in block.instructions:
            results = self.step(instruction)
            self.values.update(zip(instruction.results, results, strict=True))
        return self.get(block.yields)

    def get(self, numbers: list[int] | tuple[int, ...]) -> list[int | float]:
        return [self.values[number] for number in numbers]

    def bytes_of(self, value: int) -> bytes:
        type_, number = self.program.types[value], self.values[value]
        if type_ == "bf16":
            number = function("bitcast", ("bf16",), "i16")(number)
        return struct.pack(f"<{FORMATS[type_]}", number)

    def step(self, instruction: Instruction) -> list[int | float]:
        types = self.program.types
        operands = self.get(instruction.operands)
        match instruction.op:
            case "constant":
                return [constant(types[instruction.results[0]], instruction.immediate)]
            case "address":
                return [address_of(instruction.immediate)]
            case "load":
                type_ = types[instruction.results[0]]
                number, offset = self.space.locate(operands[0], SIZES[type_])
                data = int.from_bytes(self.memory[number][offset : offset + SIZES[type_]], "little")
                return [data & 1 if type_ == "i1" else data if is_integer(type_) else constant(type_, data)]
            case "store":
                data = self.bytes_of(instruction.operands[1])
                number, offset = self.space.locate(operands[0], len(data))
                self.memory[number][offset : offset + len(data)] = data
                return []
            case "if":
                return self.block(instruction.blocks[0 if operands[0] else 1])
            case "while":
                condition, body = instruction.blocks
                while True:
                    self.values.update(zip(condition.parameters, operands, strict=True))
                    going, *operands = self.block(condition)
                    if not going:
                        return operands
                    self.values.update(zip(body.parameters, operands, strict=True))
                    operands = self.block(body)
            case "return_if_error":
                self.check(operands[0], instruction.operands[0])
                return []
            case "fail":
                if operands[0]:
                    raise LaunchError(self.program.strings[instruction.immediate])
                return []
            case "print":
                shown = formatter(
                    self.program.strings[instruction.immediate], [types[number] for number in instruction.operands]
                )
                self.host.print(shown(*operands))
                return [0]
            case "launch":
                self.kernels[instruction.results[0]] = self.program.kernels[instruction.launch.kernel].name
                return [self.host.launch(self.launch(instruction.launch))]
            case "encode_tensor_map":
                return [self.tensor_map(operands[0], instruction.tensor_map)]
            case op:
                operand_types = tuple(types[number] for number in instruction.operands)
                return [function(op, operand_types, types[instruction.results[0]])(*operands)]

    def launch(self, site: LaunchSite) -> Launch:
        kernel = self.program.kernels[site.kernel]
        parameters = bytearray(kernel.parameter_bytes)
        for write in site.parameters:
            data = self.bytes_of(write.value)
            parameters[write.offset : write.offset + len(data)] = data
        attributes = {attribute.name: tuple(self.get(attribute.operands)) for attribute in site.attributes}
        shared, stream = self.get([site.shared_bytes, site.stream])
        grid, block = tuple(self.get(site.grid)), tuple(self.get(site.block))
        return Launch(kernel, grid, block, shared, stream, attributes, parameters)

    def tensor_map(self, address: int, site: TensorMapSite) -> int:
        number, offset = self.space.locate(address, 128)
        modes = [tuple(self.get(each)) for each in (site.sizes, site.strides, site.box, site.element_strides)]
        settings = (site.interleave, site.swizzle, site.l2_promotion, site.fill)
        made = self.host.encode_tensor_map(TensorMap(site.data_type, self.values[site.address], *modes, *settings))
        self.memory[number][offset : offset + 128] = bytes(128) if isinstance(made, int) else made
        return made if isinstance(made, int) else 0
