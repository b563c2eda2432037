"""Compile every kernel of the repository for sm_90a into FOLDER/NAME.cutecc, those that are for no other GPU.

python make_bundles.py FOLDER [FILE.py…]    # FILEs are compiled too
"""

from __future__ import annotations

import sys
from pathlib import Path

from kernels import FILES

import cutecc
from cutecc.frontend.header import read_header
from cutecc.target import Target

TARGET = Target.parse("sm_90a")


def main(folder: Path, others: list[Path]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    every = [*FILES, *others]
    own = [Target.parse(read_header(file).target or "sm_80") for file in every]
    files = [file for file, target in zip(every, own, strict=True) if not target.suffix or target == TARGET]
    jobs = [cutecc.Job(str(file), target=TARGET.name) for file in files]
    for file, result in zip(files, cutecc.compile_many(jobs, progress=True), strict=True):
        if isinstance(result, cutecc.Error):
            raise result
        result.save(folder / f"{file.stem}.cutecc")


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]])
