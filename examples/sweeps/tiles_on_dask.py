"""Compile the GEMM of examples/gemm.py in many tile sizes on a Dask cluster, and compare what they cost.

    python examples/sweeps/tiles_on_dask.py                            # workers on this machine
    python examples/sweeps/tiles_on_dask.py --cluster tcp://head:8786  # a cluster, with this folder under the same path

Any other executor of `concurrent.futures` goes in the same place. Needs `pip install distributed`.
"""

import argparse
from pathlib import Path

from distributed import Client, LocalCluster

import cutecc
from cutecc import CompileOptions, Job

GEMM = Path(__file__).resolve().parents[1] / "gemm.py"
TILES = "64x64,64x128,64x192,64x256,128x64,128x128,128x192,128x256"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tiles", default=TILES)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--cluster", help="the scheduler's address")
    choice = parser.parse_args()

    # Asked to observe, a compilation records the registers and memory of its kernels.
    options = CompileOptions(observe=True)
    tiles = [tuple(map(int, tile.split("x"))) for tile in choice.tiles.split(",")]
    jobs = [Job(str(GEMM), entry=f"Gemm(tile={tile})", target="sm_90a", options=options) for tile in tiles]

    cluster = choice.cluster or LocalCluster(n_workers=choice.workers, threads_per_worker=1, dashboard_address=None)
    with Client(cluster) as client:
        results = cutecc.compile_many(jobs, executor=client.get_executor(), progress=True)

    print(f"{'tile':10}{'registers':>10}{'spills':>8}{'shared memory':>16}")
    for (m, n), result in zip(tiles, results, strict=True):
        if isinstance(result, cutecc.Error):
            print(f"{m}x{n:<10}{result.message.splitlines()[0]}")
            continue
        for entry in result.compilation.resources:
            shared = entry.shared_static_bytes + (entry.shared_dynamic_bytes or 0)
            print(f"{f'{m}x{n}':10}{entry.registers:>10}{entry.spill_store_bytes or 0:>8}{shared:>16}")


if __name__ == "__main__":
    main()
