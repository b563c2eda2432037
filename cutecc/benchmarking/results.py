"""What a benchmark found: samples, their spread, and rates beside those of the device."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from cutecc.runtime.timing import Samples

CacheState = Literal["rotating", "cold", "warm"]
"""What the L2 cache holds when a call begins: `rotating`, memory of other calls, since each has its own and all of it
exceeds twice the cache; `cold`, nothing, since it is flushed before every sample; `warm`, maybe the call's own."""


@dataclass(frozen=True)
class Rates:
    """What the device reaches, measured in the same run."""

    copy: float
    """GB/s, read and written, of a large copy within its memory."""
    matrix: float | None = None
    """TFLOP/s of torch's product of two f16 matrices of 8192 × 8192, normal data; `None` without torch."""


@dataclass(frozen=True)
class Measurement:
    """One contestant at one point of a sweep."""

    name: str
    samples: Samples
    rates: Rates
    cache: CacheState
    sizes: dict[str, int] = field(default_factory=dict[str, int])
    bytes: float | None = None
    """Bytes that one call moves, as the caller says."""
    flops: float | None = None
    """Floating-point operations of one call, as the caller says."""

    @property
    def median(self) -> float:
        """Microseconds."""
        return self.samples.median

    @property
    def p10(self) -> float:
        """Microseconds that a tenth of the samples do not exceed."""
        return self.samples.percentile(10)

    @property
    def p90(self) -> float:
        """Microseconds that nine tenths of the samples do not exceed."""
        return self.samples.percentile(90)

    @property
    def iqr(self) -> float:
        """Interquartile range in microseconds."""
        return self.samples.percentile(75) - self.samples.percentile(25)

    @property
    def gigabytes_per_second(self) -> float | None:
        """At the median time."""
        return None if self.bytes is None else self.bytes / self.median / 1e3

    @property
    def teraflops(self) -> float | None:
        """TFLOP/s at the median time."""
        return None if self.flops is None else self.flops / self.median / 1e6

    @property
    def percent_of_copy(self) -> float | None:
        """Bytes per second against the device's copy rate."""
        rate = self.gigabytes_per_second
        return None if rate is None else 100 * rate / self.rates.copy

    @property
    def percent_of_matrix(self) -> float | None:
        """Operations per second against the device's matrix rate."""
        rate = self.teraflops
        return None if rate is None or self.rates.matrix is None else 100 * rate / self.rates.matrix

    def to_dict(self) -> dict[str, Any]:
        """Everything, with every sample, as JSON takes it."""
        return {
            "name": self.name,
            "sizes": self.sizes,
            "median_us": self.median,
            "p10_us": self.p10,
            "p90_us": self.p90,
            "iqr_us": self.iqr,
            "bytes": self.bytes,
            "flops": self.flops,
            "gb_per_s": self.gigabytes_per_second,
            "tflop_per_s": self.teraflops,
            "percent_of_copy": self.percent_of_copy,
            "percent_of_matrix": self.percent_of_matrix,
            "cache": self.cache,
            "method": self.samples.method,
            "calls_per_sample": self.samples.calls_per_sample,
            "captured": self.samples.captured,
            "samples_us": self.samples.microseconds,
        }


@dataclass(frozen=True)
class Benchmark:
    """All measurements of one run on one device."""

    date: str
    """UTC, ISO 8601."""
    device: str
    driver: str
    """The newest CUDA version that the driver knows."""
    versions: dict[str, str]
    rates: Rates
    measurements: list[Measurement]
    notes: list[str] = field(default_factory=list[str])
    """What was left out or done otherwise than asked, and why."""

    def __getitem__(self, name: str) -> Measurement:
        """The first measurement of the contestant called `name`."""
        for measurement in self.measurements:
            if measurement.name == name:
                return measurement
        raise KeyError(name)

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON takes it. Clocks are those that the device chose; they are not recorded."""
        return {
            "date": self.date,
            "device": self.device,
            "driver": self.driver,
            "clocks": None,
            "versions": self.versions,
            "copy_gb_per_s": self.rates.copy,
            "matrix_tflop_per_s": self.rates.matrix,
            "notes": self.notes,
            "measurements": [measurement.to_dict() for measurement in self.measurements],
        }

    def plot(self, path: str | Path) -> None:
        """Draw time against size into an SVG, PNG or PDF file; needs matplotlib."""
        from cutecc.benchmarking.plot import plot

        plot(self, path)
