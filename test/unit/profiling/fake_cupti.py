"""What stands in for libcupti in tests: it fills the caller's structures as the library does."""

from __future__ import annotations

import ctypes
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from cutecc.profiling import cupti

REASONS = ["long_scoreboard", "barrier", "selected"]
_PREFIX = "smsp__pcsamp_warps_issue_stalled_"
_NAMES = [f"{_PREFIX}{reason}{end}" for reason in REASONS for end in ("", "_not_issued")] + [
    "smsp__pcsamp_sample_count"
]


@dataclass
class FakeCupti:
    """`library` of `Cupti`. What is in `pending` is sampled with the next reading, or when sampling ends."""

    pending: list[tuple[int, str, int, dict[str, int]]] = field(default_factory=list)
    """CRC, function, offset and samples by reason."""
    failing: dict[str, int] = field(default_factory=dict)
    """By a function's name the result that it gives."""
    calls: list[tuple[str, int]] = field(default_factory=list)
    """Of sampling: the function and its context."""
    settings: dict[int, int] = field(default_factory=dict)
    room: int = 2
    """Instructions that a reading gives at most."""
    dropped: int = 0
    callback: Any = None
    enabled: list[int] = field(default_factory=list)
    _names: list[Any] = field(default_factory=list)
    _set: Any = None

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("cupti"):
            raise AttributeError(name)

        def call(*arguments: Any) -> int:
            if name in self.failing:
                return self.failing[name]
            return getattr(self, f"_{name}")(*(getattr(each, "_obj", each) for each in arguments)) or 0

        return call

    def tell(self, event: cupti.Event, context: int, image: bytes | None = None) -> None:
        """Call the subscriber as the library does."""
        module = cupti._ModuleData(1, len(image or b""), ctypes.cast(ctypes.c_char_p(image), ctypes.c_void_p))
        data = cupti._ResourceData(context, None, ctypes.addressof(module))
        self.callback(None, 3, int(event), ctypes.addressof(data))

    def _cuptiGetVersion(self, number: Any) -> None:
        number.value = 130001

    def _cuptiGetResultString(self, status: Any, text: Any) -> None:
        text.value = f"CUPTI_ERROR_{status.value}".encode()

    def _cuptiSubscribe(self, subscriber: Any, callback: Any, _data: None) -> None:
        subscriber.value, self.callback = 7, callback

    def _cuptiEnableCallback(self, on: Any, _subscriber: Any, _domain: Any, event: Any) -> None:
        assert on.value == 1
        self.enabled.append(event.value)

    def _cuptiUnsubscribe(self, _subscriber: Any) -> None:
        self.callback = None

    def _cuptiFinalize(self) -> None:
        assert self.callback is None

    def _cuptiGetCubinCrc(self, parameters: Any) -> None:
        parameters.crc = zlib.crc32(ctypes.string_at(parameters.cubin, parameters.cubin_size))

    def _cuptiPCSamplingEnable(self, parameters: Any) -> None:
        # As the header's macro computes it: without the padding behind the last field.
        assert parameters.size == 24
        self.calls.append(("enable", parameters.context))

    def _cuptiPCSamplingDisable(self, parameters: Any) -> None:
        self.calls.append(("disable", parameters.context))
        if self._set is not None:
            self._fill(self._set, len(self.pending))

    def _cuptiPCSamplingGetNumStallReasons(self, parameters: Any) -> None:
        parameters.count[0] = len(_NAMES)

    def _cuptiPCSamplingGetStallReasons(self, parameters: Any) -> None:
        for number, name in enumerate(_NAMES):
            parameters.indices[number] = 2 * number
            ctypes.memmove(parameters.names[number], name.encode() + b"\0", len(name) + 1)

    def _cuptiPCSamplingSetConfigurationAttribute(self, parameters: Any) -> None:
        for each in parameters.attributes[: parameters.count]:
            self.settings[each.kind] = each.value[0]
        self._set = cupti.SamplingData.from_address(self.settings[cupti.Setting.DATA_BUFFER])

    def _cuptiPCSamplingGetData(self, parameters: Any) -> None:
        data = cupti.SamplingData.from_address(parameters.data)
        # The buffer that was set gives nothing.
        assert parameters.data != self.settings[cupti.Setting.DATA_BUFFER]
        self._fill(data, self.room)

    def _fill(self, data: Any, most: int) -> None:
        taken, self.pending = self.pending[:most], self.pending[most:]
        for pc, (crc, function, offset, samples) in zip(data.pc_data[: len(taken)], taken, strict=True):
            name = ctypes.create_string_buffer(function.encode())
            self._names.append(name)
            pc.cubin_crc, pc.offset, pc.function_name = crc, offset, ctypes.addressof(name)
            pc.reason_count = len(samples)
            for reason, (text, count) in zip(pc.reasons[: len(samples)], samples.items(), strict=True):
                reason.index, reason.samples = 2 * _NAMES.index(f"{_PREFIX}{text}"), count
        data.pcs, data.remaining_pcs = len(taken), len(self.pending)
        data.total_samples = sum(sum(samples.values()) for *_, samples in taken) + self.dropped
        data.dropped_samples, self.dropped = self.dropped, 0


def events() -> Sequence[int]:
    """Those that a subscriber asks for."""
    return sorted(map(int, cupti.Event))
