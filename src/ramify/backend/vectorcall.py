"""A base class whose instances are called as fast as a builtin.

An instance of a Python class is called through ``__call__``: a look-up, a tuple and a
dict, 0.2 us. An instance of ``Vectorcall`` holds the address of the emitted function,
and the interpreter jumps there. Where that cannot be, ``__call__`` does the same.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from ramify.backend.words import (
    HAS_KNOWN_OBJECTS,
    INSTANCE_BYTES,
    INSTANCE_CALL,
    INSTANCE_ENTRY,
    Call,
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
    """Return the type that holds a function and the address of its Call."""
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
    name = b"ramify.backend.vectorcall.Vectorcall"
    spec = Spec(name, INSTANCE_BYTES, 0, flags, ctypes.addressof(slots))
    _kept.extend((members, slots, spec, name))
    new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)
    return new(("PyType_FromSpec", ctypes.pythonapi))(ctypes.addressof(spec))


if TYPE_CHECKING:
    Vectorcall = Plain
else:
    Vectorcall = _make_base()


class Anchor(Vectorcall):
    """The address of a Call, and the owner of what is there; itself not callable."""

    def __init__(self, address: int, keepalive: object) -> None:
        target: Any = self
        target._call = address
        self.keepalive = keepalive


T = TypeVar("T", bound=type)


def vectorcalled(cls: T) -> T:
    """Let a subclass of Vectorcall use it: a decorator, needed before Python 3.12."""
    if sys.version_info < (3, 12) and not issubclass(cls, Plain):
        flags = ctypes.c_ulong.from_address(id(cls) + FLAGS_OFFSET)
        expected: Any = cls.__flags__
        if flags.value == expected:
            flags.value |= HAVE_VECTORCALL
    return cls


def forward(function: Callable[..., Any]) -> Anchor:
    """Return a Call that hands everything to a Python function."""

    def bind(*given: object) -> tuple[object, ...]:
        return given

    def slow(given: tuple[tuple[object, ...], tuple[str, ...] | None]) -> object:
        values, names = given
        count = len(values) - len(names or ())
        return function(
            *values[:count], **dict(zip(names or (), values[count:], strict=True))
        )

    block = words([0] * len(Call))
    block[Call.API] = ctypes.addressof(api_table())
    block[Call.N_INPUTS], block[Call.NONE] = -1, id(None)
    block[Call.BIND], block[Call.SLOW] = id(bind), id(slow)
    return Anchor(ctypes.addressof(block), (block, bind, slow))


def attach(instance: Vectorcall, function: Callable[..., Any]) -> None:
    """Make an instance of a subclass callable, by what make_callable returned."""
    target: Any = instance
    target._attached = function  # keeps alive what _call leads to
    if Vectorcall is Plain:
        return
    from ramify.backend.pycall import entry  # noqa: PLC0415 (llvmlite only where used)

    owner: object = getattr(function, "__self__", None)
    anchor: Any = owner
    if not isinstance(owner, Anchor):
        target._attached = anchor = forward(function)
    target._call = anchor._call
    target._entry = entry()
