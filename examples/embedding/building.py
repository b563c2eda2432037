"""The cute module of an expression, made with the bindings' builders: a kernel, and a host function that launches it.

This is what the DSL makes of a `@cute.kernel` and its `@cute.jit` function, in the fewest operations.
"""

from __future__ import annotations

import ast

from language import Expression

from cutecc.ir.building import at_end
from cutecc.ir.mlir import arith, cuda, cute, func, gpu, ir, math, nvvm, scf

THREADS = 256
"""Of a block; each computes one element."""
SOURCE = "expression"
"""What locations call the text of the expression: errors and reports then show the place in it."""


def build(expression: Expression) -> ir.Module:
    """A module for `expression`, in the current context: out[i] = expression of the vectors' elements at i."""
    with _place(expression.tree):
        module = ir.Module.create()
        with at_end(module.body):
            device = gpu.GPUModuleOp("kernels")
            with at_end(device.bodyRegion.blocks.append()):
                _build_kernel(expression)
            _build_host(expression)
    return module


def _types(expression: Expression) -> list[ir.Type]:
    """Of the parameters: numbers, then vectors, whose size is known at run time, with stride 1 in global memory."""
    f32 = ir.F32Type.get()
    vector = ir.Type.parse('!cute.memref<f32, gmem, "(?):(1)">')
    return [f32] * len(expression.numbers) + [vector] * (len(expression.vectors) + 1)


def _build_kernel(expression: Expression) -> None:
    kernel = cuda.KernelOp("kernel", (_types(expression), []))
    kernel.attributes["nvvm.reqntid"] = ir.DenseI32ArrayAttr.get([THREADS, 1, 1])
    entry = kernel.add_entry_block()
    parameters = dict(zip(expression.parameters, entry.arguments, strict=True))
    i32 = ir.IntegerType.get_signless(32)
    with at_end(entry):
        thread, block = nvvm.read_ptx_sreg_tid_x(i32), nvvm.read_ptx_sreg_ctaid_x(i32)
        index = arith.addi(arith.muli(block, _integer(THREADS, 32)), thread)
        is_inside = arith.cmpi(arith.CmpIPredicate.slt, index, _elements(parameters["out"]))
        guard = scf.IfOp(is_inside)
        with at_end(guard.then_block):
            coordinate = cute.make_coord(ir.Type.parse('!cute.coord<"?">'), [index])
            values = {name: parameters[name] for name in expression.numbers}
            values |= {name: cute.memref_load(parameters[name], coordinate) for name in expression.vectors}
            cute.memref_store(parameters["out"], coordinate, _value(expression.tree, values))
            scf.yield_([])
        cuda.return_([])


def _build_host(expression: Expression) -> None:
    """The function that launches the kernel with as many blocks as it takes, and returns CUDA's status."""
    i32, i64 = ir.IntegerType.get_signless(32), ir.IntegerType.get_signless(64)
    host = func.FuncOp("launch", (_types(expression), [i32]))
    entry = host.add_entry_block()
    *_, out = entry.arguments
    most = ir.IntegerAttr.get(i32, 1)
    configuration = ir.Type.parse("!cuda.launch_cfg<max_attrs = 1>")
    callee = ir.SymbolRefAttr.get(["kernels", "kernel"])
    with at_end(entry):
        blocks = arith.ceildivsi(_elements(out), _integer(THREADS, 32))
        one, threads = _integer(1, 32), _integer(THREADS, 32)
        # What a call gives as its stream goes in the place of this one.
        stream = cuda.cast(ir.Type.parse("!cuda.stream"), _integer(0, 64))
        shared_bytes = cute.kernel_smem_size(callee, results=[i64])
        launch = cuda.launch_cfg_create(configuration, most, threads, one, one, shared_bytes, blocks, one, one, stream)
        result = cuda.launch_ex(
            callee, launch, [*entry.arguments], assume_kernel_attr=ir.Attribute.parse("#cuda.assume_kernel_attr<true>")
        )
        cuda.return_if_error([cuda.cast(i32, result)])
        func.return_([_integer(0, 32)])


def _value(node: ast.expr, values: dict[str, ir.Value]) -> ir.Value:
    """Build what `node` stands for, of one element."""
    f32 = ir.F32Type.get()
    match node:
        case ast.Name(name):
            return values[name]
        case ast.Constant(number):
            return arith.constant(f32, float(number))
        case ast.BinOp(left, operator, right):
            build = {ast.Add: arith.addf, ast.Sub: arith.subf, ast.Mult: arith.mulf, ast.Div: arith.divf}
            operands = [_value(left, values), _value(right, values)]
            with _place(node):
                return build[type(operator)](*operands)
        case ast.UnaryOp(_, operand):
            return arith.negf(_value(operand, values))
        case ast.Call(ast.Name(function), arguments):
            operands = [_value(argument, values) for argument in arguments]
            with _place(node):
                match function:
                    case "relu":
                        return arith.maximumf(operands[0], arith.constant(f32, 0.0))
                    case "max":
                        return arith.maximumf(*operands)
                    case "min":
                        return arith.minimumf(*operands)
                    case "abs":
                        return math.absf(*operands)
                    case _:
                        return getattr(math, function)(*operands)
    raise AssertionError(ast.dump(node))


def _elements(vector: ir.Value) -> ir.Value:
    """The size of a vector, which is not known before the launch, as an i32."""
    return cute.get_scalars(cute.get_leaves(cute.size(vector, mode=[])))


def _integer(value: int, bits: int) -> ir.Value:
    return arith.constant(ir.IntegerType.get_signless(bits), value)


def _place(node: ast.expr) -> ir.Location:
    return ir.Location.file(SOURCE, node.lineno, node.col_offset + 1)
