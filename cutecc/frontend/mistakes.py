"""What the DSL's and MLIR's words for common mistakes mean, and what to write instead.

Each row's pattern is of the installed DSL's own text; `test/unit/frontend/test_mistakes.py` has a kernel for each.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class Mistake:
    """A row of the table."""

    name: str
    """What the tests call it."""
    pattern: str
    """A regular expression, searched for in the text of the error or of one of its causes."""
    meaning: str
    """What is wrong. `{name}` is a group of the pattern."""
    instead: str
    """What to write."""


class Explanation(NamedTuple):
    """A mistake as it was made."""

    meaning: str
    instead: str
    original: str
    """The text that the pattern was found in."""


def explained(texts: Iterable[str]) -> Explanation | None:
    """The first row that fits one of the texts; `None` for an error that is not known."""
    each_text = [*texts]
    for row in MISTAKES:
        for text in each_text:
            if match := re.search(row.pattern, text):
                groups = {name: value or "" for name, value in match.groupdict().items()}
                return Explanation(row.meaning.format(**groups), row.instead.format(**groups), text)
    return None


_ARGUMENTS = "pass one for each parameter of the function's def, in its order or by name"
_ACCESS = r"'nvvm\.(?P<what>load|store)\.ext' op"
MISTAKES = (
    # Pointers and memory.
    Mistake(
        "address-space",
        _ACCESS + r" expected (?:destination|source) pointer in memory space",
        "cute.arch.{what} reaches global memory and the block's own shared memory; this pointer is of another memory",
        "of another block's shared memory, store with cute.arch.store_async_dsmem, or load and store the elements of a "
        "cute.make_tensor(pointer, layout); tensor memory is copied with cute.copy and a tcgen05 atom",
    ),
    Mistake(
        "no-pointer",
        r"'nvvm\.(?P<what>load|store|atomicrmw|red)(?:\.ext)?' op operand #\d must be LLVM pointer",
        "the first argument of this access ({what}) has to be a pointer",
        "give tensor.iterator, or tensor.iterator + offset, where offset counts elements",
    ),
    Mistake(
        "shared-space",
        _ACCESS + r" SharedSpace attr applicable only to memory space 3",
        "ss= says which shared memory is meant, and this pointer is not of shared memory",
        "leave ss= out",
    ),
    Mistake(
        "no-scope",
        _ACCESS + r" Scope is required",
        "cute.arch.{what} with sem= needs scope=: the threads that the order is for",
        'give scope="cta" for threads of the block, "cluster" for those of the cluster, "gpu" for all of the GPU',
    ),
    Mistake(
        "cache-and-order",
        _ACCESS + r" Only weak ordering is allowed with",
        "cop= is for accesses without an order, and this one has sem=",
        "leave out cop= where the access synchronises threads, or sem= and scope= where it does not",
    ),
    Mistake(
        "unknown-choice",
        r"Invalid (?P<kind>\w+?)(?:Kind)? string: '(?P<given>[^']*)'\. Valid options are: \[(?P<valid>[^\]]*)\]",
        "'{given}' is no {kind}",
        "choose one of {valid}",
    ),
    # Copies and products.
    Mistake(
        "copy-alignment",
        r"'cute\.copy' op (?P<side>src|dst) ptr alignment \((?P<has>\d+) bits\) does not meet requirement "
        r"\((?P<wants>\d+) bits\)",
        "the copy moves {wants} bits at once, and its {side} is known to be aligned to {has} bits only",
        "promise the alignment of the argument (align= of its spec, assumed_align= of a tensor), keep tile sizes and "
        "offsets multiples of the vector, or copy fewer bits at once (num_bits_per_copy)",
    ),
    Mistake(
        "copy-shapes",
        r"'cute\.copy' op expects same size in rank (?P<mode>\d+) but got srcShape: (?P<source>\S+) and "
        r"dstShape: (?P<target>\S+)",
        "the two tensors of cute.copy differ in mode {mode}: the source is {source}, the destination {target}",
        "partition both by the same tiler and TV layout, and look at both with print(tensor.shape)",
    ),
    Mistake(
        "copy-bits",
        r"(?:`copy`|autovec_copy).* only supports equal source and destination element type bit width",
        "cute.copy moves bits and converts none: the element types of the two tensors have other widths",
        "convert in registers, b.store(a.load().to(b.element_type)), and copy tensors of one type",
    ),
    Mistake(
        "copy-memory",
        r"'cute\.copy' op '!cute_nvgpu\.atom\.(?P<atom>\w+)<.*' src needs be shared based memref",
        "this copy atom ({atom}) reads shared memory into registers, and the tensors are of other memories",
        "copy into shared memory first, or choose cute.nvgpu.CopyUniversalOp for other memories",
    ),
    Mistake(
        "tma-barrier",
        r"expects a pointer to an mbarrier to be provided via the tma_bar_ptr",
        "a TMA load tells an mbarrier when its bytes are there, and this cute.copy names none",
        "give tma_bar_ptr=, the pointer of the mbarrier, which expects the bytes (mbarrier_arrive_and_expect_tx)",
    ),
    Mistake(
        "gemm-shapes",
        r"'cute\.gemm' op expects A's M == D'M and B's N == D'N",
        "the fragments of cute.gemm do not fit together: A is (V, M, K), B (V, N, K), C and D (V, M, N)",
        "make them from one tiled MMA: partition_A, partition_B, partition_C of tensors of the same tile",
    ),
    Mistake(
        "gemm-types",
        r"'cute\.gemm' op expects A/B of the same type .*got A: '(?P<a>\w+)', B: '(?P<b>\w+)'",
        "A has elements of {a} and B of {b}, and the MMA takes one type for both",
        "convert one of them in registers, b.load().to(type), before cute.gemm",
    ),
    Mistake(
        "mma-types",
        r"expects the '(?P<which>\w+)' Op parameter to be one of (?P<valid>[\w, ]+)",
        "this MMA has no such {which}: it is one of {valid}",
        "choose the operation for the type, as cute.nvgpu.warp.MmaTF32Op for Float32, or convert the operands",
    ),
    # Layouts and coordinates.
    Mistake(
        "wrong-rank",
        r"expects coordinate to be weakly congruent to the layout, but got '!cute\.coord<\"(?P<coordinate>[^\"]*)\">'",
        "the coordinate {coordinate} has another rank than the tensor (? is a value of the running kernel)",
        "index with one number for each mode of tensor.shape, or with one alone, which goes over all modes",
    ),
    Mistake(
        "slice",
        r"Expected Coord, whose leaves are integers or None, but got slice",
        "tensors of CuTe have no Python slices such as a[i:j]",
        "take a mode whole with None, a[None, i], a tile with cute.local_tile(a, tiler, coordinate), or loop over "
        "elements",
    ),
    Mistake(
        "index-type",
        r"Expected Coord, whose leaves are integers or None, but got",
        "a tensor is indexed with something that is no integer",
        "divide integers with //, for / makes a float of them, or convert the index: cutlass.Int32(i)",
    ),
    Mistake(
        "tiler-rank",
        r"(?i)expects? rank\((?:tiler|target)\) (?:<=|>=) rank\((?:input|tiler)\)|expected rank\(target\) >= rank",
        "the tiler has more modes than the tensor or layout that it divides",
        "give one entry of the tiler for each mode; those behind it stay whole",
    ),
    Mistake(
        "congruent",
        r"shape and stride must be congruent",
        "the stride has another structure than the shape: each number of the shape needs its own",
        "nest both alike: shape (4, (2, 3)) goes with a stride such as (6, (3, 1))",
    ),
    Mistake(
        "dynamic-layout",
        r"dynamic layout is not supported: (?P<layout>\S+)",
        "memory of this size has to be known when the kernel is compiled, and the layout {layout} has a size that the "
        "running kernel computes (?)",
        "use a constant: a cutlass.Constexpr parameter, or a literal",
    ),
    # Types.
    Mistake(
        "bits-of-float",
        r"unsupported operand type\(s\) for (?P<operator>&|\||\^|<<|>>): "
        r"(?=.*'(?:[BT]?Float\d|Int\d|Uint\d|Boolean|TensorSSA))'(?P<left>\w+)' and '(?P<right>\w+)'",
        "{operator} is for integers, and the operands are {left} and {right}",
        "convert the value, x.to(cutlass.Int32), or for its bits load it through "
        "cute.recast_tensor(tensor, cutlass.Int32)",
    ),
    Mistake(
        "tensor-arithmetic",
        r"unsupported operand type\(s\) for (?P<operator>\S+): (?:'_Tensor' and|'\w+' and '_Tensor')"
        r"|got <class 'cutlass\.cute\.tensor\._Tensor'>|Expected TensorSSA, but got tensor",
        "arithmetic and stores take values, and a tensor is memory",
        "load and store explicitly: c.store(a.load() + b.load()), or element by element, c[i] = a[i] + b[i]",
    ),
    Mistake(
        "store-type",
        r"(?i:type mismatch), store (?P<value>\w+) (?:\(-> \w+\) )?to (?:Tensor with element type )?(?P<element>\w+)",
        "a value of type {value} is stored into a tensor of {element}",
        "convert it: value.to(tensor.element_type)",
    ),
    Mistake(
        "python-type",
        r"unsupported data type: <class '(?P<kind>\w+)'>",
        "a {kind} of Python is no value that a GPU has",
        "give a number, or a value of a type such as cutlass.Float32",
    ),
    Mistake(
        "element-type",
        r"type must be a type of Numeric, but got",
        "the type of elements has to be one of CuTe's own",
        "write cutlass.Float32, cutlass.Int32 and so on, or take another tensor's: tensor.element_type",
    ),
    Mistake(
        "load-of-any-size",
        r"dynamic layout doesn't support load",
        "load() takes all elements of a tensor into registers, and how many that is, only the running kernel knows",
        "load a tile of a constant size, cute.local_tile(x, (4,), (i,)).load(), or element by element, x[i]",
    ),
    Mistake(
        "value-shapes",
        r"lhs and rhs must have the same shape, but got (?P<left>.+) and (?P<right>.+)",
        "the tensor has the shape {left}, and what is stored into it {right}",
        "use fragments of one shape: cute.make_rmem_tensor_like(tensor)",
    ),
    Mistake(
        "tensor-as-truth",
        r"Cannot convert tensor<.* to Boolean",
        "a tensor is neither true nor false",
        "ask an element, if x[i] > 0:, or, for an argument that may be missing, if cutlass.const_expr(x is not None):",
    ),
    Mistake(
        "length",
        r"object of type '_Tensor' has no len\(\)",
        "a tensor has no len()",
        "write cute.size(x) for the number of elements, cute.size(x, mode=[0]) or x.shape[0] for one mode",
    ),
    # Control flow that runs on the GPU.
    Mistake(
        "early-exit",
        r"Early exit \((?P<word>\w+)\) is not allowed in `(?P<function>\w+)`",
        "{word} inside of a branch or loop that runs on the GPU: all of {function} is one block of structured code, "
        "which nothing leaves in the middle",
        "put what comes after into the branch, if not done: …; of a loop, add the condition to that of a while; where "
        "the condition is a constant, write if cutlass.const_expr(…) or for i in cutlass.range_constexpr(…)",
    ),
    Mistake(
        "type-changes",
        r"`(?P<name>\w+)` has type `(?P<one>[^`]+)` on one path and `(?P<other>[^`]+)` on another",
        "'{name}' is {one} before or on one side, and {other} after the branch or loop that runs on the GPU: a "
        "variable keeps its type there",
        "begin with a value of the type that it ends with, as {name} = cutlass.Float32(0), or convert what is "
        "assigned; a list or tuple that grows needs cutlass.range_constexpr",
    ),
    Mistake(
        "value-for-constant",
        r"Cannot use a Runtime value .* as a list index or for loop range in plain Python code",
        "Python needs a number here, for an index of a list, int(), range() or a function such as those of math, and "
        "the value is known to the running kernel only",
        "convert with cutlass.Int32(x), compute with cute.math, index a tensor (cute.make_rmem_tensor), loop with a "
        "for statement over range(n); or make it a constant of the kernel with cutlass.Constexpr",
    ),
    Mistake(
        "dictionary",
        r"^KeyError: \w+\(\?\)",
        "a dictionary is looked up while the kernel is compiled, and the key is known to the running kernel only",
        "put the values into a tensor, or choose with if and elif",
    ),
    Mistake(
        "loop-bound",
        r"Loop `(?P<bound>\w+)` must be an integer type, not `(?P<type>\w+)`",
        "the {bound} of a loop is an integer, and this one is a {type}",
        "convert it, range(cutlass.Int32(n)); integers are divided with //, and x.shape[0] is the size of a mode",
    ),
    Mistake(
        "constexpr-range",
        r"`range_constexpr\(\)` requires all arguments to be Python integers",
        "cutlass.range_constexpr unrolls the loop while it is compiled, and the bound is known to the running kernel "
        "only",
        "write for i in range(n) for a loop that runs on the GPU, or make the bound a cutlass.Constexpr",
    ),
    Mistake(
        "assert",
        r"`assert` requires a value known at code-read time",
        "assert of Python looks at constants, and the condition is known to the running kernel only",
        "write cute.testing.assert_(condition, message), and compile with --enable-assertions",
    ),
    Mistake(
        "text-of-a-value",
        r"could not convert string to float: '\?'",
        "the text of a value that only the running kernel knows is '?'",
        "use the value itself, or print it from the GPU: cute.printf('{{}}', x)",
    ),
    Mistake(
        "foreign-function",
        r"loop of ufunc does not support argument \d of type (?P<type>\w+)",
        "a function of NumPy got a value of the running kernel, a {type}, which it cannot compute with",
        "use CuTe's own: cute.math.sin, cute.math.exp, arithmetic of tensors' values, x.load()",
    ),
    Mistake(
        "method",
        r"'(?P<type>B?Float\d\w*|Int\d+|Uint\d+|TensorSSA)' object has no attribute "
        r"'(?P<name>sqrt|rsqrt|exp2?|log2?|log10|sin|cos|tan|tanh|erf)'",
        "a value of type {type} has no method {name}",
        "the functions of numbers are in cute.math: cute.math.{name}(x)",
    ),
    Mistake(
        "iteration",
        r"(?:'_?Tensor(?:SSA)?' object is not iterable|cannot unpack non-iterable _?Tensor(?:SSA)? )",
        "Python cannot go over a tensor, or over the values loaded from one: how many there are is CuTe's to say",
        "write for i in cutlass.range_constexpr(cute.size(tensor)): … tensor[i]; of loaded values, "
        "values.reduce(cute.ReductionOp.ADD, 0.0, 0) adds them up",
    ),
    # Functions and launches.
    Mistake(
        "recursion",
        r"^RecursionError\b",
        "a function calls itself without end while it is traced: whether a value of the running kernel would end it is "
        "not known then, and a kernel cannot launch a kernel",
        "write a loop, or end the recursion by constants, with cutlass.const_expr",
    ),
    Mistake(
        "never-launched",
        r"Kernel `(?P<kernel>\w+)` was called but never launched",
        "calling the kernel {kernel} runs nothing, it takes the arguments: it has to be launched",
        "write {kernel}(…).launch(grid=[…], block=[…]) in the host function; what a kernel itself calls is a function "
        "with @cute.jit",
    ),
    Mistake(
        "missing-argument",
        r"^TypeError: missing a required argument: '(?P<name>\w+)'",
        "the call gives no argument for '{name}'",
        _ARGUMENTS,
    ),
    Mistake(
        "too-many-arguments",
        r"^TypeError: too many positional arguments",
        "the call gives more arguments than the function has parameters",
        _ARGUMENTS,
    ),
    Mistake(
        "unknown-argument",
        r"^TypeError: got an unexpected keyword argument '(?P<name>\w+)'",
        "the call gives an argument '{name}', and the function has no such parameter",
        _ARGUMENTS,
    ),
    Mistake(
        "no-kernel",
        r"'NoneType' object has no attribute 'launch'",
        "what is launched is no kernel but a plain function, which has run already and returned nothing",
        "put @cute.kernel above its def",
    ),
    Mistake(
        "brackets",
        r"^TypeError: 'function' object is not subscriptable",
        "a function is followed by brackets; a kernel's grid and block do not stand there in the CuTe DSL",
        "write kernel(…).launch(grid=[…], block=[…])",
    ),
    Mistake(
        "value-of-another-function",
        r"op using value defined outside the region",
        "a value that one function made is used in another, that of a kernel in the host function or the reverse: a "
        "return, a global variable or an object carried it there",
        "give it to the kernel as an argument; what a kernel computes it stores into a tensor",
    ),
)
