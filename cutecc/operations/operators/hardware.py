"""What an operator asks of the GPU while it compiles, answered without one.

Persistent kernels take the number of clusters that run at once into the grid that they are launched with; their code is
the same for every number. The package asks the driver, in the calling thread's context. Here the target answers, by
`cutecc.operations.machine`, and for what is launched on this machine its GPU's number of multiprocessors, which needs
no context. A figure that is off costs time and changes no result.
"""

from __future__ import annotations

from cutecc.errors import LaunchError, UsageError
from cutecc.runtime.cuda_bindings import cuda_driver
from cutecc.runtime.device import CudaDevice, runs_on
from cutecc.target import Target

_IN_A_GROUP = 16
"""Multiprocessors of a cluster are of one group (GPC), and at least so many of them are enabled in each."""


def multiprocessors_here(target: Target) -> int | None:
    """How many this thread's GPU has, else the first; `None` where no GPU is, or it does not run code for `target`."""
    try:
        driver = cuda_driver()
        device = CudaDevice(driver, driver.current_device() or 0)
        return device.multiprocessors if runs_on(target.name, device.capability, ptx=True) else None
    except LaunchError:
        return None


def active_clusters(count: int, cluster_size: int) -> int:
    """How many clusters of `cluster_size` blocks `count` multiprocessors run at once, one block each; at least 1.

    Of clusters of more than 2, as many as fit into whole groups of 16 multiprocessors: with one more than the GPU can
    hold, all would wait for it. Raises `UsageError` for a cluster that no GPU has.
    """
    if not 1 <= cluster_size <= 32:
        raise UsageError(f"a cluster of {cluster_size} blocks; there are 1 to 32 in one")
    if 2 < cluster_size <= _IN_A_GROUP:
        return max(1, count // _IN_A_GROUP * (_IN_A_GROUP // cluster_size))
    return max(1, count // cluster_size)
