# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""Types by the names that descriptions use, as classes of the DSL."""

from __future__ import annotations

import cutlass

from cutecc.arguments.dtypes import find_numeric_type


def numeric(name: str) -> type[cutlass.Numeric]:
    """The DSL's class of a type of `cutecc.arguments.dtypes`."""
    found = find_numeric_type(name)
    assert found is not None, name
    return getattr(cutlass, found.dsl_name)
