"""The mean of each element and its neighbours, in numba; `python smooth.py` compiles it, without a GPU."""

from numba import cuda, float32


def smooth(x, result):
    i = cuda.grid(1)
    if 0 < i < x.size - 1:
        result[i] = (x[i - 1] + x[i] + x[i + 1]) / float32(3)


if __name__ == "__main__":
    from pathlib import Path

    arrays = (float32[::1], float32[::1])
    text, _ = cuda.compile(smooth, arrays, cc=(8, 0), output="ptx", device=False, abi="numba", lineinfo=True)
    Path(__file__).with_suffix(".ptx").write_text(text)
