"""The cache at work: which key a request has, whether an entry answers it, and keeping what was made."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from cutecc.backend.tools import find_tool, tool_version
from cutecc.cache import entries
from cutecc.cache.fingerprint import digest_of, file_digest, own_fingerprint
from cutecc.cache.folder import CacheError
from cutecc.cache.lookup import load
from cutecc.cache.store import Store
from cutecc.compilation.planning import Plan
from cutecc.compilation.request import ALL_ARTIFACTS, CompileRequest
from cutecc.config import Settings
from cutecc.errors import ToolError
from cutecc.ir.canonical import canonical_hash
from cutecc.passes import registrations
from cutecc.passes.sources import module_files, source_files
from cutecc.record import Compilation, Remark

if TYPE_CHECKING:
    from cutecc.ir.mlir import ir

_FORMAT = 1
"""Raised when the same key would mean something else."""


@dataclass(frozen=True)
class Slot:
    """The place in the cache of what a request makes."""

    key: str
    module: str
    """The hash of the traced module as it is, with its locations."""
    sources: tuple[str, ...]
    """The files of the user's that registered passes, pipelines and rows of atoms, which decided about the passes."""

    @property
    def name(self) -> str:
        """The name of the entry."""
        return f"{self.key}.record"


def slot_for(request: CompileRequest, plan: Plan, module: ir.Module) -> Slot | None:
    """The slot of a request whose pipeline is planned; `None` when the cache cannot tell it from others.

    That is the case for a pass whose source cannot be read. Needs the module as it was before any pass.
    """
    options = request.options
    sources = source_files(plan.pipeline)
    if sources is None:
        return None
    line_info = options.wheel.preserve_line_info
    libraries = filter(None, options.wheel.link_libraries.split(","))
    try:
        files = [file_digest(path) for path in (*sorted(sources), *libraries)]
        assembler = file_digest(options.ptxas) if options.ptxas else None
    except OSError:
        return None
    key = digest_of(
        {
            "format": _FORMAT,
            "module": canonical_hash(module, locations=line_info),
            "source": request.source if line_info else None,
            "target": request.target,
            "pipeline": str(plan.pipeline),
            "offset": plan.offset,
            "options": {name: value for name, value in options.changed().items() if name != "ptxas"},
            "versions": asdict(plan.compilation.versions),
            "cutecc": own_fingerprint(),
            "files": files,
            "ptxas": assembler,
        }
    )
    as_traced = hashlib.sha256(f"{request.source}\0".encode() + request.module).hexdigest()
    plugins = module_files(registrations.modules())
    return Slot(key, as_traced, tuple(sorted(map(str, sources | plugins))))


class Cached:
    """The cache, as one compilation sees it. Whatever goes wrong with it becomes a warning of the record."""

    def __init__(self, request: CompileRequest, slot: Slot, compilation: Compilation) -> None:
        """`compilation` is the record as it begins."""
        self._options = request.options
        self._entry = request.entry
        self._slot = slot
        self._compilation = compilation
        self._own_warnings = len(compilation.warnings)
        self._trouble: CacheError | None = None
        self._stored: entries.Stored | None = None
        try:
            self._stored = load(slot.key)
        except CacheError as error:
            self._trouble = error

    def restore(self) -> bool:
        """Complete the record from the entry that answers the request, if there is one."""
        options, stored = self._options, self._stored
        if stored is None or options.needs_passes:
            return False
        if not entries.serves(stored, self._slot.module, options.artifacts, observe=options.observe):
            return False
        if "sass" in options.artifacts and stored.record.versions.nvdisasm != _disassembler():
            return False
        entries.restore(stored, self._compilation, options.artifacts, optional=ALL_ARTIFACTS)
        return True

    def keep(self) -> None:
        """Keep the record, if it succeeded and the entry that there is does not hold more."""
        compilation, stored, module = self._compilation, self._stored, self._slot.module
        if compilation.status != "ok":
            return
        asked = self._options.artifacts
        observed = compilation.traced_operations is not None
        if stored is None or not entries.serves(stored, module, asked, observe=observed):
            data = entries.encode(
                compilation, self._slot.name, module, asked, own_warnings=self._own_warnings, entry=self._entry
            )
            try:
                Store.of(Settings.from_environment()).put(self._slot.name, data)
            except CacheError as error:
                self._trouble = error
        if self._trouble is not None:
            compilation.warnings.append(Remark("warning", self._trouble.message))


def _disassembler() -> str | None:
    """The version of the program that writes SASS; `None` when there is none, as making SASS will say."""
    try:
        return tool_version(find_tool("nvdisasm"))
    except ToolError:
        return None
