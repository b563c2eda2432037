"""A kernel as a user names it: a file, a function or entry, argument specs; the file's header says the rest."""

from __future__ import annotations

from collections.abc import Mapping

from cutecc.frontend.header import Header, read_header
from cutecc.frontend.header_names import check_functions, output_places
from cutecc.frontend.traced import TraceRequest


def kernel_request(
    path: str, function: str | None = None, entry: str | None = None, args: Mapping[str, str] | None = None
) -> tuple[TraceRequest, Header]:
    """What to trace of the kernel file at `path`, and its header with `args`, specs by parameter, put in.

    The header's entry counts when neither `function` nor `entry` is given. Does not run the file. Raises `UsageError`
    for a file or header that cannot be read or names functions that are not there, and `SpecError` for a wrong spec.
    """
    header = read_header(path).with_args(args or {})
    check_functions(header, path)
    is_headers = entry is None and function in (None, header.entry)
    sources = header.arg_sources
    if entry is None and function is None:
        entry = header.entry
        if "entry" in header.sources:
            sources["entry"] = header.sources["entry"]
    request = TraceRequest(
        path,
        function,
        entry,
        header.args,
        sources=sources,
        outputs=output_places(header) if is_headers else {},
        header_entry=None if is_headers else header.entry,
    )
    return request, header
