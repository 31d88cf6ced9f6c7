"""Pieces of the call path in memory: code from the disk cache, or compiled now.

They are written by `word_builder`, whose modules are imported if the cache has no code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ramidyn.backend.llvm import cache
from ramidyn.backend.llvm.jit import LoadedCode, compile_objects, llvm_version
from ramidyn.backend.llvm.target import Processor, runnable
from ramidyn.backend.runtime.memory_layout import HEAD
from ramidyn.concurrency import Lock
from ramidyn.errors import CompileError
from ramidyn.version import source_digest

_loaded: list[LoadedCode] = []  # code that is called until the process ends
_lock = Lock()


def load(
    write: Callable[[], str], functions: Sequence[str], what: str
) -> tuple[int, ...]:
    """Return the addresses of functions, from the disk cache or compiled now.

    Args:
        write: returns the LLVM IR.
        functions: names of functions in it.
        what: says which piece it is, and all that it depends on besides our sources and
            the processor.
    """
    with _lock:
        target = runnable()
        key = key_of(what, target)
        code = cache.load(key)
        loaded = code and _load(code, functions, target)
        if not loaded:
            (code,) = compile_objects([write], target)
            cache.store(key, code)
            loaded = LoadedCode([(code, functions)], target)
        _loaded.append(loaded)
        return loaded.addresses


def key_of(what: str, target: Processor) -> str:
    """Return the cache key of a piece."""
    parts = (what, source_digest(), llvm_version(), repr(target), repr(HEAD))
    return cache.key("emitted", *parts)


def _load(
    code: bytes, functions: Sequence[str], target: Processor
) -> LoadedCode | None:
    """Return code from the cache, or None if it is invalid."""
    try:
        return LoadedCode([(code, functions)], target)
    except CompileError:
        return None
