"""From a description to a kernel: as an object in this process, and as a job's entry in any other."""

from __future__ import annotations

import pytest
from launching import simt

from cutecc.compilation.sweep import Job, compile_job
from cutecc.errors import UsageError
from cutecc.operations.kernels import build, signature


def test_a_job_builds_the_kernel_from_its_text(cache_dir):
    description = simt("f64:row:1", "f64:row:1", "f64:column:1", None, epilogue="identity")
    args = signature.specs(description)
    job = Job(build.FILE, entry=build.entry(description), args=args, target="sm_80", cache=False)
    compilation = compile_job(job)
    assert compilation.status == "ok" and not any(cache_dir.rglob("*.record"))
    assert compilation.signature is not None
    assert [each.name for each in compilation.signature.parameters] == list(signature.PARAMETERS)
    assert compilation.signature.parameters[1].spec == "f64[?M,?K,?L]:(1,?{i64},?{i64})"
    # Of D in columns the transposed product is compiled.
    name = "gemm_sm80_f64_f64_f64_f64_nnt_32x32x8_s3_simt_w1x1x1_a1x1x1_nosource"
    assert (compilation.name, description.kernel_name) == (name, name)
    assert f".entry {name}_0(" in compilation.files[f"{name}.ptx"].decode()


@pytest.mark.parametrize("text", ["{}", "[]", "", '{"operation": "gem"}', '{"operation": {}}'])
def test_a_text_that_describes_nothing_is_refused(text: str):
    with pytest.raises(UsageError, match="no description of an operation"):
        build.build(text)


def test_a_text_of_a_kind_that_lacks_the_rest_is_refused():
    for kind, words in (("gemm", "a GEMM"), ("convolution", "a convolution"), ("grouped", "a grouped product")):
        with pytest.raises(UsageError, match=f"no description of {words}"):
            build.build(f'{{"operation": "{kind}"}}')
