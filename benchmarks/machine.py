"""The machine that measures, in a line; what else it was doing.

In: the operating system, the installed packages. Out: text.
"""

from __future__ import annotations

import os
import platform
import time
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from audit.spark.embedded import java

_PACKAGES = ("pyspark", "delta-spark", "sqlglot", "spark-access-history")


def describe() -> str:
    """Cores, memory, and the versions of what matters."""
    runtime = java.find(os.environ)
    packages = ", ".join(f"{name} {_version(name)}" for name in _PACKAGES)
    return (
        f"{os.cpu_count()} cores ({_processor()}), {_memory():.0f} GiB,"
        f" {platform.system()} {platform.machine()}; Python {platform.python_version()},"
        f" Java {runtime.version}, {packages}"
    )


def load() -> str:
    """The load average of the last minute: what the figures had to share the cores with."""
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"


def pace() -> float:
    """Seconds that a fixed piece of work takes: machines of one name differ up to threefold by the hour."""
    return min(_fixed_work() for _ in range(5))


def _fixed_work() -> float:
    began, number = time.perf_counter(), 0
    for step in range(1_000_000):
        number = (number * 31 + step) & 0xFFFF
    return time.perf_counter() - began


@dataclass(frozen=True, slots=True)
class ProcessorTime:
    """Since the machine started, in ticks: what its cores worked, and what they waited for their host."""

    worked: int
    stolen: int

    def __sub__(self, earlier: ProcessorTime) -> ProcessorTime:
        return ProcessorTime(self.worked - earlier.worked, self.stolen - earlier.stolen)

    @property
    def stolen_share(self) -> float:
        """Of the time that the cores had work, the part that the host gave to other guests."""
        return self.stolen / max(1, self.worked + self.stolen)


def processor_time() -> ProcessorTime:
    """By Linux's /proc/stat (man 5 proc: user nice system idle iowait irq softirq steal); else nothing."""
    listed = Path("/proc/stat")
    if not listed.exists():
        return ProcessorTime(0, 0)
    user, nice, system, _idle, _iowait, irq, softirq, steal, *_ = map(
        int, listed.read_text(encoding="ascii").splitlines()[0].split()[1:]
    )
    return ProcessorTime(user + nice + system + irq + softirq, steal)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # this project itself, run from its folder
        return "(from source)"


def _processor() -> str:
    listed = Path("/proc/cpuinfo")
    lines = listed.read_text(encoding="utf-8").splitlines() if listed.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


def _memory() -> float:
    """Physical memory in GiB."""
    if not hasattr(os, "sysconf"):
        return float("nan")
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
