"""Launch every bundle of a folder at two sizes, for a tool that watches: `make gpu-sanitize` runs compute-sanitizer.

python launch_all.py FOLDER [PART OF]    # PART from 0: only each OFth bundle, so that several processes share the work
"""

from __future__ import annotations

import sys
from pathlib import Path

from kernels import FILES, points

import cutecc
from cutecc.harness.arguments import make_arguments, specs_of
from cutecc.harness.on_device import DeviceArguments
from cutecc.kernel import Kernel
from cutecc.runtime.device import runs_on
from cutecc.runtime.workspace import Workspace


def main(folder: Path, part: int = 0, of: int = 1) -> None:
    with Workspace() as device:
        for file in FILES[part::of]:
            bundle = folder / f"{file.stem}.cutecc"
            kernel = cutecc.load(bundle) if bundle.exists() else None
            if not isinstance(kernel, Kernel) or not runs_on(kernel.compilation.target, device.compute_capability):
                print(f"{file.stem}: not for this GPU", flush=True)
                continue
            assert kernel.signature is not None
            workload = kernel.compilation.workload
            specs = specs_of(kernel.signature)
            for sizes in points(file)[::3]:
                with device.scope():
                    arguments = make_arguments(specs, workload.outputs if workload else [], sizes=sizes)
                    arguments.randomize(1)
                    on_device = DeviceArguments(arguments, device)
                    on_device.upload()
                    kernel(**on_device.by_name, stream=device.stream)
                    device.synchronize()
                print(f"{file.stem}: ran with {arguments.sizes}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
