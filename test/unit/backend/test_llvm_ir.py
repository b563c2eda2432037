import re
import subprocess
import sys

import pytest
from lowered_samples import FIRST, host, launch

from cutecc import __version__
from cutecc.backend.llvm.tensor_core_calls import mend_tensor_core_calls
from cutecc.backend.llvm_ir import translate
from cutecc.errors import ToolError
from cutecc.ir.modules import fresh_context, parse, to_bytecode
from cutecc.target import Target

SM_90A = Target.parse("sm_90a")

TENSOR_CORE = """
llvm.func @f(%d: !llvm.ptr<6>, %a: i64, %b: i64, %i: i32, %e: i1, %m: vector<4xi32>, %p: !llvm.ptr<6>) {{
{}
  llvm.return
}}
"""


def llvm_verifies(text: str) -> None:
    """Parse and verify with LLVM 22 in a process of its own: LLVM ends the process over some broken modules."""
    code = "import sys, llvmlite.binding as llvm; llvm.parse_assembly(sys.stdin.read()).verify()"
    done = subprocess.run([sys.executable, "-c", code], input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_device_code_alone_is_translated():
    with fresh_context():
        module = parse(host(launch(*FIRST, "%some", 1)).encode())
        before = to_bytecode(module)
        translated = translate(module, SM_90A)
        assert to_bytecode(module) == before, "the module was changed"
    assert list(translated) == ["kernels"]
    text = translated["kernels"]
    assert re.search(r"define ptx_kernel void @first\(\{ ptr addrspace\(1\), \{ i32, \{\} \} \} %0\)", text)
    assert '"nvvm.reqntid"="128,1,1"' in text
    assert "@llvm.nvvm.read.ptx.sreg.tid.x()" in text
    assert "@host" not in text
    llvm_verifies(text)


def test_the_header_says_what_the_text_is():
    with fresh_context():
        text = translate(parse(host().encode()), SM_90A)["kernels"]
    assert text.startswith(
        f"; The device code of gpu.module @kernels for sm_90a, translated by cutecc {__version__}.\n"
        "; This is for reading, with LLVM 22 or newer: libNVVM was given the MLIR module, not this text.\n"
    )
    assert 'target triple = "nvptx64-nvidia-cuda"' in text
    assert "collector_b" not in text


def test_a_module_without_device_code_has_none():
    with fresh_context():
        assert translate(parse(b"module {}"), SM_90A) == {}


def translated(operation: str) -> str:
    device = f"module {{ gpu.module @kernels {{ {TENSOR_CORE.format(operation)} }} }}"
    with fresh_context():
        return translate(parse(device.encode()), Target.parse("sm_100a"))["kernels"]


MMA = (
    "nvvm.tcgen05.mma{sparse} %d, {a}, %b, %i, %e{meta}{mask} {{kind = #nvvm.tcgen05_mma_kind<f16>, "
    "ctaGroup = #nvvm.cta_group<cta_1>, collectorOp = #nvvm.tcgen05_mma_collectorop<{use}>}} "
    ": (!llvm.ptr<6>, {a_type}, i64, i32, i1{meta_type}{mask_type})"
)


@pytest.mark.parametrize("use", ["discard", "use"])
@pytest.mark.parametrize(("a", "a_type"), [("%a", "i64"), ("%p", "!llvm.ptr<6>")])
@pytest.mark.parametrize(("mask", "mask_type"), [("", ""), (" mask = %m", ", vector<4xi32>")])
@pytest.mark.parametrize(("sparse", "meta", "meta_type"), [("", "", ""), (".sp", ", %p", ", !llvm.ptr<6>")])
def test_tensor_core_calls_suit_llvm_22(
    use: str, a: str, a_type: str, mask: str, mask_type: str, sparse: str, meta: str, meta_type: str
):
    text = translated(
        MMA.format(
            use=use, a=a, a_type=a_type, mask=mask, mask_type=mask_type, sparse=sparse, meta=meta, meta_type=meta_type
        )
    )
    llvm_verifies(text)
    assert "collector_b = discard (1 of them)" in text
    (call,) = re.findall(r"call void @llvm\.nvvm\.tcgen05\.mma.*", text)
    assert call.endswith("i32 3)" if use == "use" else "i32 0)")
    assert mend_tensor_core_calls(text) == (text, 0), "what LLVM 22 knows is left alone"


def test_an_intrinsic_that_uses_the_second_collector_keeps_its_argument():
    declaration = "declare void @llvm.nvvm.tcgen05.mma.shared({}, i32 immarg range(i32 0, 4)) #1"
    immediates = ", ".join(["i64", *["i32 immarg range(i32 0, 4)"] * 3])
    call = "  call void @llvm.nvvm.tcgen05.mma.shared(i64 %0, i32 0, i32 1, i32 0, i32 {}), !dbg !5"
    uses = "\n".join([call.format(0), call.format(1), declaration.format(immediates)])
    assert mend_tensor_core_calls(uses) == (uses, 0)
    discards = uses.replace("i32 0, i32 1)", "i32 0, i32 0)")
    text, mended = mend_tensor_core_calls(discards)
    assert mended == 2
    assert text.count("i32 1, i32 0), !dbg !5") == 2
    assert f"({immediates}) #1" in text


def test_other_calls_are_left_alone():
    text = "  call void @llvm.nvvm.tcgen05.mma.ws.shared(i64 %1, i32 0, i32 0, i32 0, i32 0)\n"
    assert mend_tensor_core_calls(text) == (text, 0)


@pytest.mark.parametrize(
    ("body", "stranger"),
    [
        ("func.func @f() { return }", "func.func"),
        ("gpu.func @f() kernel { gpu.return }", "gpu.func"),
        ("llvm.func @f(%a: i32) { %0 = arith.addi %a, %a : i32\n llvm.return }", "arith.addi"),
        (
            "llvm.func @f(%a: i32) { %0 = builtin.unrealized_conversion_cast %a : i32 to i64\n llvm.return }",
            "builtin.unrealized_conversion_cast",
        ),
    ],
)
def test_what_is_not_lowered_is_an_error(body: str, stranger: str):
    with fresh_context():
        module = parse(f"module {{ gpu.module @kernels {{ {body} }} }}".encode())
        with pytest.raises(ToolError, match=f"gpu.module @kernels cannot be translated to LLVM IR: {stranger} is left"):
            translate(module, SM_90A)
