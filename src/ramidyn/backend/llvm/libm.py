"""The addresses of the C library's functions in this process."""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Iterator
from typing import Final

LIBM: Final = ("sin", "cos", "tan", "asin", "acos", "atan2", "log", "pow")
"""the C functions that emitted code calls by their place here"""


@functools.cache
def libm_table() -> ctypes.Array[ctypes.c_void_p]:
    """Return the functions of LIBM as an array of pointers, made once and kept."""
    libraries = list(c_libraries())
    return (ctypes.c_void_p * len(LIBM))(*(address(n, libraries) for n in LIBM))


def c_libraries() -> Iterator[ctypes.CDLL]:
    """Yield the libraries that may hold the functions, the likeliest first."""
    # None is this process with all that it has loaded; Windows has no such thing.
    names: dict[str, tuple[str | None, ...]] = {
        "win32": ("ucrtbase", "msvcrt"),
        "darwin": (None, "/usr/lib/libSystem.B.dylib"),
    }
    for name in names.get(sys.platform, (None, "libm.so.6", "libm.so")):
        try:
            yield ctypes.CDLL(name)
        except OSError:
            continue


def address(name: str, libraries: list[ctypes.CDLL]) -> int | None:
    """Return where a C function is."""
    for library in libraries:
        try:
            function = getattr(library, name)
        except AttributeError:
            continue
        return ctypes.cast(function, ctypes.c_void_p).value
    raise OSError(f"no C library in this process provides the function {name!r}")
