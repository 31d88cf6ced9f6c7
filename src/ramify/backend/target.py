"""The processor that code is made for: its name, its features, its vector width."""

from __future__ import annotations

import functools
import importlib
from dataclasses import dataclass
from typing import Any

# llvmlite carries no types; behind Any it stays out of the signatures below.
llvm: Any = importlib.import_module("llvmlite.binding")

BYTES = {"float64": 8, "float32": 4}


@dataclass(frozen=True, slots=True)
class Target:
    """A processor as LLVM knows it."""

    triple: str
    cpu: str
    features: str
    vector_bytes: int

    @property
    def is_fused(self) -> bool:
        """Whether a multiply-add is one instruction."""
        is_arm = self.triple.startswith(("aarch64", "arm64"))  # the latter is Apple's
        return is_arm or "+fma" in self.features.split(",")

    def lanes(self, dtype: str) -> int:
        """Return how many states one vector register holds."""
        return self.vector_bytes // BYTES[dtype]


@functools.cache
def host() -> Target:
    """Return the processor that this process runs on."""
    features: Any = llvm.get_host_cpu_features()
    if features.get("avx512f"):
        width = 64
    elif features.get("avx2"):
        width = 32
    else:
        width = 16
    return Target(
        llvm.get_process_triple(),
        llvm.get_host_cpu_name(),
        features.flatten(),
        width,
    )
