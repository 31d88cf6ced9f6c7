"""A base class whose instances are called as fast as a builtin.

An instance of a Python class is called through ``__call__``: a look-up, a tuple and a
dict, 0.2 us. An instance of ``Vectorcall`` holds the address of the emitted function,
and the interpreter jumps there. Where that is impossible, ``__call__`` does the same.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ramidyn.backend.runtime.memory_layout import (
    HAS_KNOWN_OBJECTS,
    INSTANCE_BYTES,
    INSTANCE_CALL,
    INSTANCE_ENTRY,
    MAX_PORTS,
    WORD,
    CallBlock,
    api_table,
    python_function,
    words,
)

DEFAULT, BASETYPE, HAVE_VECTORCALL = 1 << 18, 1 << 10, 1 << 11
TP_CALL, TP_MEMBERS = 50, 72  # numbers of slots, see CPython's typeslots.h
T_SSIZE, T_ULONGLONG, READONLY = 19, 18, 1
FLAGS_OFFSET = 168  # of tp_flags in the struct of a type


class Member(ctypes.Structure):
    """CPython's PyMemberDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int),
        ("offset", ctypes.c_ssize_t),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class Slot(ctypes.Structure):
    """CPython's PyType_Slot."""

    _fields_ = (("slot", ctypes.c_int), ("function", ctypes.c_void_p))


class Spec(ctypes.Structure):
    """CPython's PyType_Spec."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("basicsize", ctypes.c_int),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.c_void_p),
    )


class Plain:
    """The base class where instances cannot hold a function."""

    def __call__(self, *values: Any, **named: Any) -> Any:
        """Call the attached function."""
        return self._attached(*values, **named)  # type: ignore[attr-defined]


_kept: list[object] = []  # what the type points to


def _make_base() -> type:
    """Return the type that holds a function and the address of its CallBlock."""
    if not HAS_KNOWN_OBJECTS:
        return Plain
    members = (Member * 4)(
        Member(b"__vectorcalloffset__", T_SSIZE, INSTANCE_ENTRY, READONLY, None),
        Member(b"_entry", T_ULONGLONG, INSTANCE_ENTRY, 0, None),
        Member(b"_call", T_ULONGLONG, INSTANCE_CALL, 0, None),
    )
    through = python_function("PyVectorcall_Call")
    slots = (Slot * 3)(
        Slot(TP_CALL, through), Slot(TP_MEMBERS, ctypes.addressof(members))
    )
    flags = DEFAULT | BASETYPE | HAVE_VECTORCALL
    name = b"ramidyn.backend.calls.vectorcall.Vectorcall"
    spec = Spec(name, INSTANCE_BYTES, 0, flags, ctypes.addressof(slots))
    _kept.extend((members, slots, spec, name))
    new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)
    return new(("PyType_FromSpec", ctypes.pythonapi))(ctypes.addressof(spec))


if TYPE_CHECKING:
    Vectorcall = Plain
else:
    Vectorcall = _make_base()


class Anchor(Vectorcall):
    """The address of a CallBlock, and the owner of its objects; itself not callable."""

    def __init__(self, address: int, keepalive: object) -> None:
        target: Any = self
        target._call = address
        self.keepalive = keepalive


T = TypeVar("T", bound=type)


def use_vectorcall(cls: T) -> T:
    """Let a subclass of Vectorcall use it: a decorator, needed before Python 3.12."""
    if sys.version_info < (3, 12) and not issubclass(cls, Plain):
        flags = ctypes.c_ulong.from_address(id(cls) + FLAGS_OFFSET)
        expected: Any = cls.__flags__
        if flags.value == expected:
            flags.value |= HAVE_VECTORCALL
    return cls


def forward(
    function: Callable[..., Any], n_state: int, chosen: Mapping[Any, Vectorcall]
) -> Anchor:
    """Return a CallBlock that hands all to a Python function; see attach_choice."""

    def bind(*given: object) -> tuple[object, ...]:
        return given

    def slow(given: tuple[tuple[object, ...], tuple[str, ...] | None]) -> object:
        values, names = given
        count = len(values) - len(names or ())
        return function(
            *values[:count], **dict(zip(names or (), values[count:], strict=True))
        )

    block = words([0] * len(CallBlock))
    block[CallBlock.API] = ctypes.addressof(api_table())
    block[CallBlock.N_INPUTS], block[CallBlock.N_STATE] = -1, n_state
    out = sys.intern("out")
    objects = {CallBlock.NONE: None, CallBlock.BIND: bind, CallBlock.SLOW: slow}
    objects |= {
        CallBlock.CHOSEN: chosen,
        CallBlock.OUT_NAME: out,
        CallBlock.OUT_NAMES: (out,),
    }
    for word, value in objects.items():
        block[word] = id(value)
    return Anchor(ctypes.addressof(block), (block, objects))


def enter_first(instance: Vectorcall, plain: Vectorcall) -> None:
    """Let an instance with a choice try another one first, which must outlive it."""
    if Vectorcall is not Plain:
        own, other = cast("Any", instance), cast("Any", plain)
        word = own._call + int(CallBlock.PLAIN) * WORD
        ctypes.c_int64.from_address(word).value = other._call


def attach(instance: Vectorcall, function: Callable[..., Any]) -> None:
    """Make an instance of a subclass callable, by what make_callable returned."""
    owner: object = getattr(function, "__self__", None)
    if Vectorcall is Plain or isinstance(owner, Anchor):
        _attach(instance, function, owner, "call")
    else:
        attach_choice(instance, function, MAX_PORTS - 1, {})


def attach_choice(
    instance: Vectorcall,
    function: Callable[..., Any],
    n_state: int,
    chosen: Mapping[Any, Vectorcall],
) -> None:
    """Make an instance of a subclass callable that chooses what it calls.

    Args:
        instance: what is called.
        function: called for what is not in ``chosen``.
        n_state: the number of arguments that choose nothing, which come first.
        chosen: by (names or None, *the other arguments except out).
    """
    assert n_state < MAX_PORTS
    if Vectorcall is Plain:
        _attach(instance, function, None, "choose")
    else:
        anchor = forward(function, n_state, chosen)
        _attach(instance, anchor, anchor, "choose")


def _attach(instance: Vectorcall, kept: object, anchor: Any, name: str) -> None:
    """Let an instance hold a CallBlock and its owner, or a Python function."""
    target: Any = instance
    target._attached = kept
    if Vectorcall is not Plain:
        target._call = anchor._call
        target._entry = entries()[name]


@functools.cache  # the code is the same for all callables of a process
def entries() -> dict[str, int]:
    """Return the addresses of ``call`` and ``choose``; `entry_code` writes them."""
    from ramidyn.backend.llvm.build import load_functions  # noqa: PLC0415 (llvmlite only where used)

    names = ("call", "choose")
    return dict(zip(names, load_functions(_entry_ir, names, "pycall"), strict=True))


def _entry_ir() -> str:
    from ramidyn.backend.calls.entry_code import emit  # noqa: PLC0415  not in the cache

    return str(emit().llvm)
