"""What `docs/running.md` calls is called, with a recording driver and as much of torch as the page uses."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from following import BLOCK, ROOT

sys.path.insert(0, str(ROOT / "test" / "unit" / "runtime"))

from gpu_arrays import TorchOnGpu
from recording import RecordingDriver

import cutecc
from cutecc.kernel import KernelSet
from cutecc.record import Parameter, Signature

SIDE, CAPTURE = 0x51DE, 0xCAB7


class Tensor(TorchOnGpu):
    def half(self) -> Tensor:
        return Tensor("float16", self.shape)


class Torch(ModuleType):
    """Arrays on `cuda:0` without memory, a current stream, and a graph that remembers its launches."""

    def __init__(self, driver: RecordingDriver) -> None:
        super().__init__("torch")
        self.current = 0
        self.addresses = iter(range(0x10000, 0x90000, 0x10000))
        self.Tensor = Tensor
        self._C = SimpleNamespace(_cuda_getCurrentRawStream=lambda _device: self.current)
        self.replays = 0
        self.cuda = SimpleNamespace(
            Stream=lambda: SimpleNamespace(cuda_stream=SIDE, device_index=0),
            stream=lambda stream: self.on(stream.cuda_stream),
            CUDAGraph=lambda: SimpleNamespace(replay=self.replay),
            graph=lambda _graph: self.captured(driver),
        )

    def randn(self, *shape: int, device: str) -> Tensor:
        assert device == "cuda"
        return Tensor("float32", shape, address=next(self.addresses))

    def empty_like(self, other: Tensor) -> Tensor:
        return Tensor("float32", other.shape, address=next(self.addresses))

    def replay(self) -> None:
        self.replays += 1

    @contextmanager
    def on(self, stream: int) -> Iterator[None]:
        before, self.current = self.current, stream
        yield
        self.current = before

    @contextmanager
    def captured(self, driver: RecordingDriver) -> Iterator[None]:
        driver.capturing.add(CAPTURE)
        with self.on(CAPTURE):
            yield
        driver.capturing.clear()


def test_the_pages_python_runs(
    tmp_path: Path, traced_kernels: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    driver = RecordingDriver()
    torch = Torch(driver)
    monkeypatch.setattr("cutecc.runtime.cuda_bindings.cuda_driver", lambda: driver)
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.chdir(tmp_path)
    Tensor.__module__ = "torch"
    signature = Signature("elementwise_add", [Parameter(name, "f32[?M,?N{div=4}] align=16") for name in "abc"])
    bytecode = traced_kernels["elementwise_add"].bytecode
    KernelSet(
        {"sm_90a": cutecc.compile_module(bytecode, target="sm_90a", name="elementwise_add", signature=signature)}
    ).save("add.cutecc")

    page, _, _ = (ROOT / "docs" / "running.md").read_text().partition("## Running from the command line")
    blocks = [text for language, text in BLOCK.findall(page) if language == "python"]
    assert len(blocks) == 6
    namespace: dict[str, Any] = {}
    streams: list[list[int]] = []
    for text in blocks:
        before = len(driver.launches)
        exec(compile(text, "docs/running.md", "exec"), namespace)
        streams.append([launch.stream for launch in driver.launches[before:]])

    assert streams == [[0], [SIDE] * 3, [], [0, 0, 0, SIDE], [CAPTURE], [0]]
    assert torch.replays == 1
    said = capsys.readouterr().out
    promised = "argument 'b': f16[1000,2044] on cuda:0, but the kernel takes f32[?M,?N{div=4}] align=16"
    assert promised in said and promised in page
    add = namespace["add"]
    add.check(namespace["a"], namespace["b"], namespace["c"])
    assert driver.calls["load_library"] == 2, "loaded once, and again after unload()"
