"""What `cutecc.ir.releases` says of the installed wheel is true: each test names the assumption that broke."""

from __future__ import annotations

import re

import pytest
from conftest import TracedKernel

import cutecc
from cutecc.ir import bindings
from cutecc.ir.mlir import ir, passmanager
from cutecc.ir.releases import RELEASES
from cutecc.ir.version import installed_release, installed_wheel
from cutecc.passes.catalog import catalog
from cutecc.passes.nvidia.wheel_pipeline import nvidia_pipeline
from cutecc.support import flavours
from cutecc.support.flavours import flavour

RELEASE = installed_release()
(FLAVOUR,) = (each for each in RELEASE.flavours if each.name == flavour())


def test_releases_are_in_order() -> None:
    numbers = [tuple(map(int, release.version.split("."))) for release in RELEASES]
    assert numbers == sorted(set(numbers))


def test_the_experimental_prelude_is_a_pipeline_of_the_wheel() -> None:
    with ir.Context():
        found = passmanager.PassManager.parse(f"builtin.module({RELEASE.lowers_experimental})")
        assert "lir-" in str(found)


def test_releases_name_their_flavours_once() -> None:
    for release in RELEASES:
        names = [each.name for each in release.flavours]
        assert names == sorted(set(names), key=flavours.cuda_major)


def test_the_prelude_for_pyir_is_one_too() -> None:
    with ir.Context():
        found = passmanager.PassManager.parse(f"builtin.module({RELEASE.lowers_experimental_pyir})")
        assert "lir-" in str(found)


@pytest.mark.parametrize("lir", [False, True])
def test_the_pipeline_has_an_option_for_pyir(lir: bool) -> None:
    plain, pyir = (nvidia_pipeline("sm_90a", lir=lir, pyir=pyir) for pyir in (False, True))
    added = [pass_ for pass_ in pyir if pass_ not in plain.passes]
    assert [pass_ for pass_ in pyir if pass_ not in added] == list(plain)
    assert bool(added) == RELEASE.lowers_pyir


@pytest.mark.parametrize("lir", [False, True])
def test_every_pass_of_the_pipeline_is_described(lir: bool) -> None:
    summaries = {entry.name: entry.summary for entry in catalog()}
    assert not [pass_.name for pass_ in nvidia_pipeline("sm_90a", lir=lir) if not summaries[pass_.name]]


@pytest.mark.parametrize("lir", [False, True])
def test_the_pipeline_sets_the_target_once(lir: bool) -> None:
    names = [pass_.name for pass_ in nvidia_pipeline("sm_90a", lir=lir)]
    assert names.count(RELEASE.sets_target) == 1
    assert all(names.count(other.sets_target) == (other.sets_target == RELEASE.sets_target) for other in RELEASES)


def test_a_prelude_that_is_not_expanded_stands_as_it_is() -> None:
    names = [pass_.name for pass_ in nvidia_pipeline("sm_90a", lir=True)]
    assert ("lir-pipeline-to-nvvm" in names) == RELEASE.expands_experimental


@pytest.mark.parametrize("kind", ["sass", "ptx"])
def test_what_a_binary_holds_of_its_targets_is_an_attribute(kind: str) -> None:
    from cutecc.ir.mlir import cuda  # noqa: F401 - registers the dialect

    with ir.Context():
        found = str(ir.Attribute.parse(RELEASE.binary_targets.format(kind=kind, chip="sm_90")))
        assert kind in found and "sm_90" in found


def test_a_location_is_within_a_scope() -> None:
    text = f"""
    #place = loc("kernel.py":7:3)
    #file = #llvm.di_file<"kernel.py" in "/tmp">
    #type = #llvm.di_subroutine_type<callingConvention = DW_CC_normal>
    #scope = #llvm.di_subprogram<scope = #file, name = "k", file = #file, subprogramFlags = Optimized, type = #type>
    #within = {RELEASE.scoped_location.format(location="#place", scope="#scope")}
    module {{ module {{}} loc(#within) }}
    """
    with ir.Context():
        (inner,) = ir.Module.parse(text).body.operations
    assert '"kernel.py":7:3' in str(inner.operation.location)


def test_the_release_has_the_flavour() -> None:
    assert RELEASE.flavour(flavour()) is FLAVOUR
    assert RELEASE.flavour("cu11") is None


def test_the_dsl_takes_the_toolkit_for_the_version_of_cuda() -> None:
    assert bindings.load()._base_dsl.get_cuda_version() == FLAVOUR.toolkit


def test_pipelines_ask_for_the_features() -> None:
    texts = [str(pass_) for pass_ in nvidia_pipeline("sm_90a") if pass_.name in (RELEASE.sets_target, "cuda-to-binary")]
    assert len(texts) == 2
    for text in texts:
        (features,) = re.findall(r"features=(\S*)", text)
        assert features == FLAVOUR.features


def test_what_libnvvm_generates(small_kernel: TracedKernel) -> None:
    kernel = cutecc.compile_module(small_kernel.bytecode, "sm_90a")
    assert kernel.ptx is not None
    assert re.findall(r"^\.version (\S+)", kernel.ptx, re.MULTILINE) == [FLAVOUR.ptx]
    assert re.findall(r"^// Cuda compilation tools, release (\S+),", kernel.ptx, re.MULTILINE) == [RELEASE.libnvvm]
    versions = kernel.compilation.versions
    assert versions.flavour == flavour()
    assert versions.wheel == installed_wheel()
    assert versions.ptxas == f"built into nvidia-cutlass-dsl {installed_wheel()}"
