"""The wheel's pipeline, as the installed version prints it: the one opaque string becomes a list of passes."""

from __future__ import annotations

import functools
import types
from collections.abc import Mapping

from cutecc.errors import UnsupportedVersionError
from cutecc.ir.version import installed_release
from cutecc.passes.base import Pass
from cutecc.passes.nvidia.options import WheelOptions
from cutecc.passes.options import print_options
from cutecc.passes.pipeline import Pipeline
from cutecc.passes.wheel import WheelPass

_LOWERS_PYIR = "pyir-prelower-gated"
"""Stands before whatever may meet PyIR, and does nothing where none is left. The wheel hides the name."""
_OF_THAT = "convert-pyir-to-scf,remove-dead-values{canonicalize=true}"
"""What it runs: the same module, to the letter, comes out."""
_FAST_MATH = "-ftz=1 -prec-div=0 -prec-sqrt=0"


@functools.lru_cache(maxsize=64)
def nvidia_pipeline(
    target: str, options: WheelOptions = WheelOptions(), *, lir: bool = False, pyir: bool = False
) -> Pipeline:
    """The passes that the wheel runs for the chip `target`.

    With `lir`, for a module of the experimental API or the extension compiler; with `pyir`, for one that is traced
    through PyIR.

    Raises `UnsupportedVersionError` when the installed wheel has no such pipeline or option.
    """
    from cutecc.ir.mlir import ir, passmanager

    release = installed_release()
    text = single_run_text(target, options, lir=lir and release.expands_experimental, pyir=pyir)
    with ir.Context():
        try:
            expanded = str(passmanager.PassManager.parse(text))
        except (ValueError, RuntimeError) as failure:
            raise UnsupportedVersionError(
                f"the installed nvidia-cutlass-dsl has no pipeline '{text}': {failure}"
            ) from None
    prelude = _prelude(pyir=pyir) if lir and not release.expands_experimental else ""
    passes = (*Pipeline.parse(prelude), *Pipeline.parse(expanded))
    return _without_hidden(Pipeline(passes)).map(functools.partial(_finished, options=options))


def single_run_text(
    target: str,
    options: WheelOptions,
    *,
    lir: bool,
    pyir: bool,
    extra: Mapping[str, str] = types.MappingProxyType({}),
) -> str:
    """The one string that the stock compiler hands to MLIR's pass manager, with `extra` options."""
    settings = {
        # The stock compiler says so too; what the pass behind it does is not known.
        "check-inline-asm": "false",
        "cubin-format": "bin",
        "cubin-chip": target,
        "opt-level": str(options.opt_level),
        "preserve-line-info": str(options.preserve_line_info).lower(),
        "enable-assertions": str(options.enable_assertions).lower(),
        # With these two the host function launches through the `cuda` dialect, and the cubin is embedded beside it.
        "enable-cuda-dialect": "true",
        "cuda-dialect-external-module": "true",
        **({"enable-pyir": "true"} if pyir and installed_release().lowers_pyir else {}),
        **({"ptx-options": options.ptx_options} if options.ptx_options else {}),
        **({"nvvm-options": nvvm_options} if (nvvm_options := _nvvm_options(options)) else {}),
        **extra,
    }
    prelude = f"{_prelude(pyir=pyir)}," if lir else ""
    return f"builtin.module({prelude}cute-to-nvvm{print_options(settings.items())})"


def _prelude(*, pyir: bool) -> str:
    release = installed_release()
    return release.lowers_experimental_pyir if pyir else release.lowers_experimental


def _nvvm_options(options: WheelOptions) -> str:
    # `cuda-to-binary` has options `fast` and `ftz` too, which change nothing.
    return f"{_FAST_MATH} {options.nvvm_options}".strip() if options.fast_math else options.nvvm_options


def _without_hidden(pipeline: Pipeline) -> Pipeline:
    if any(pass_.name == _LOWERS_PYIR for pass_ in pipeline):
        pipeline = pipeline.replace(f"{_LOWERS_PYIR}#1", *Pipeline.parse(_OF_THAT))
    return Pipeline(tuple(pass_ for pass_ in pipeline if pass_.name != _LOWERS_PYIR))


def _finished(pass_: Pass, options: WheelOptions) -> Pass:
    if isinstance(pass_, WheelPass) and pass_.name == "cuda-to-binary" and options.link_libraries:
        pass_ = pass_.with_options(l=options.link_libraries)
    return pass_
