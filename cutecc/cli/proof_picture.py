"""`cutecc prove --picture`: what proofs are about, drawn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cutecc.errors import UsageError
from cutecc.record.naming import short_kernel_name
from cutecc.support.output_file import write_output

if TYPE_CHECKING:
    from cutecc.proving.proof import Proof


def draw_proofs(proofs: Sequence[Proof], path: Path) -> None:
    """Write the skeletons of proofs as SVG. Raises `UsageError` where there are none, or no file can be written."""
    from cutecc.report.skeleton_picture import drawing, svg

    drawn = [drawing(each, short_kernel_name(proof.kernel)) for proof in proofs for each in proof.skeleton]
    if not drawn:
        reasons = [f"{short_kernel_name(each.kernel)}: {each.reason}" for each in proofs if each.reason]
        raise UsageError("there is nothing to draw: what decides is not known", hints=reasons)
    write_output(path, lambda file: file.write(svg(drawn).encode()))
