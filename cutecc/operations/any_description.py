"""Descriptions of every kind as one: read back from their text, and with another product. Needs no DSL.

Every kind has `target`, `key`, `name`, `kernel_name`, `to_json`, `compiled()`, and its product as `gemm`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias, TypeVar, cast

import msgspec

from cutecc.errors import UsageError
from cutecc.operations.convolution.description import ConvolutionDescription
from cutecc.operations.description import GemmDescription
from cutecc.operations.grouped.description import GroupedDescription

Description: TypeAlias = GemmDescription | ConvolutionDescription | GroupedDescription
AnyDescription = TypeVar("AnyDescription", bound=Description)

KINDS: dict[str, type[Description]] = {
    "gemm": GemmDescription,
    "convolution": ConvolutionDescription,
    "grouped": GroupedDescription,
}
"""By the tag `operation` of their text."""


class _Tagged(msgspec.Struct):
    operation: str = ""


def from_json(text: bytes | str) -> Description:
    """The description that the `to_json` of any kind wrote. Raises `UsageError` for any other text."""
    try:
        kind = KINDS.get(msgspec.json.decode(text, type=_Tagged).operation)
    except msgspec.DecodeError:
        kind = None
    if kind is None:
        raise UsageError("this is no description of an operation")
    return kind.from_json(text)


def with_product(description: AnyDescription, gemm: GemmDescription) -> AnyDescription:
    """The same with another product."""
    if isinstance(description, GemmDescription):
        return cast(AnyDescription, gemm)
    return replace(description, gemm=gemm)
