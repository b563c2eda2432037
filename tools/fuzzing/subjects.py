"""What is fuzzed: PTX, bundles, specs, headers, manifests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cutecc.record.bundle import decode_bundle
from fuzzing import emulation, ptx, records, texts
from fuzzing.cases import Subject

SUFFIXES = {"ptx": ".ptx", "bundles": ".cutecc", "specs": ".spec", "headers": ".header", "manifests": ".json"}
"""Of kept inputs, by subject."""
NAMES = tuple(SUFFIXES)


@dataclass(frozen=True)
class Inputs:
    """What inputs are made from, all of it fine."""

    bundles: Sequence[bytes]
    headers: Sequence[str]
    """The header of a kernel file each."""

    @property
    def ptx(self) -> list[str]:
        """The PTX of the bundles."""
        found = [each for bundle in self.bundles for each in decode_bundle(bundle, "bundle")]
        return [data.decode() for each in found if (data := each.artifact("ptx")) is not None]


def checked_with(name: str) -> Subject:
    """The subject of this name, whose inputs are kept ones."""
    return subject(name, Inputs([], []))


def subject(name: str, inputs: Inputs) -> Subject:
    """The subject of this name, with inputs made from these."""
    bundles = inputs.bundles
    match name:
        case "ptx":
            mutants = ptx.Texts(inputs.ptx)
            return Subject(name, lambda random: mutants.mutant(random).encode(errors="replace"), emulation.check)
        case "bundles":
            mutants = ptx.Texts(inputs.ptx)
            return Subject(
                name, lambda random: records.forged(random.choice(bundles), random, mutants), records.check_bundle
            )
        case "specs":
            return Subject(name, texts.spec, texts.check_spec)
        case "headers":
            return Subject(name, lambda random: texts.header(inputs.headers, random), texts.check_header)
        case _:
            manifests = [each for bundle in bundles for each in records.manifests_of(bundle)]
            return Subject(
                name, lambda random: records.changed_json(random.choice(manifests), random), records.check_manifest
            )


def kept_inputs(folder: Path, name: str) -> list[Path]:
    """The inputs of a subject that were kept in a folder."""
    return sorted(folder.glob(f"*{SUFFIXES[name]}"))
