"""The code that a record holds, and whose it is."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

from cutecc.ptx.locations import PtxText
from cutecc.record import Artifact, Compilation
from cutecc.report.frames import in_own_file
from cutecc.report.listings import Kind, Listing, llvm_ir_listing, ptx_listing, sass_listing
from cutecc.report.owned_code import FunctionWork, own_ptx, own_sass, work_of
from cutecc.report.sass_places import sass_functions
from cutecc.sass import SassFunction


class Code:
    """PTX, SASS and LLVM IR of a record; what several look at is read once."""

    def __init__(self, compilation: Compilation) -> None:
        self._compilation = compilation

    def listings(self) -> Iterator[Listing]:
        """The listings of all of it."""
        makers: dict[str, Callable[[str, Artifact], Listing]] = {
            "llvm-ir": lambda text, artifact: llvm_ir_listing(text, artifact.file),
            "ptx": lambda text, artifact: own_ptx(ptx_listing(text, artifact.file, artifact.places), self._work),
            "sass": lambda text, artifact: sass_listing(text, artifact.file, self.functions_by_file[artifact.file]),
        }
        for artifact in self._compilation.artifacts:
            make, data = makers.get(artifact.kind), self._compilation.files.get(artifact.file)
            if make is not None and data is not None:
                listing = make(data.decode(errors="replace"), artifact)
                listing.table = [in_own_file(place, self._compilation.own_file) for place in listing.table]
                yield listing

    @property
    def functions(self) -> list[SassFunction]:
        """The functions of the SASS."""
        return [function for functions in self.functions_by_file.values() for function in functions]

    @functools.cached_property
    def functions_by_file(self) -> dict[str, list[SassFunction]]:
        """The same, by the file of their listing."""
        ptx = [PtxText(text, artifact.places) for artifact, text in self._texts("ptx")]
        found = {artifact.file: sass_functions(text, ptx) for artifact, text in self._texts("sass")}
        spilling = {
            each.kernel for each in self._compilation.resources if each.spill_load_bytes or each.spill_store_bytes
        }
        for function in (function for functions in found.values() for function in functions):
            own_sass(function, self._work, spills=function.name in spilling)
        return found

    @functools.cached_property
    def _work(self) -> FunctionWork:
        return {
            name: work
            for artifact, text in self._texts("llvm-ir")
            for name, work in work_of(llvm_ir_listing(text, artifact.file)).items()
        }

    def _texts(self, kind: Kind) -> Iterator[tuple[Artifact, str]]:
        for artifact in self._compilation.artifacts:
            if artifact.kind == kind and artifact.file in self._compilation.files:
                yield artifact, self._compilation.files[artifact.file].decode(errors="replace")


def listings_of(compilation: Compilation) -> Iterator[Listing]:
    """The listings of all code that the record holds."""
    return Code(compilation).listings()


def functions_of(compilation: Compilation) -> list[SassFunction]:
    """The functions of the SASS that the record holds."""
    return Code(compilation).functions
