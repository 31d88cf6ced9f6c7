"""What the emitted call path and Python agree on: blocks of 64-bit words in memory.

    Call    one callable: what the FASTCALL function needs, reached through its ``self``
    Kernel  one compiled program and the driver that runs it
    Port    one input or output: its core shape
    View    one array of one call: where its elements are

An address, a Python object and a number are one word each, so a block is a plain array
of int64 here and an offset from an address in the emitted code. ARRAY are the fields of
a NumPy array's own struct, part of NumPy's binary interface since 1.0.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
import sysconfig
from collections.abc import Sequence
from enum import IntEnum

import numpy as np

WORD = 8
LINE = 64  # bytes of a cache line, at which workspaces begin
PLACE, MOST_BYTES = 4, 2**31 - 1  # bytes of an offset in a workspace, and the largest
NEVER = 2**62  # more than there is of anything
MAX_PORTS = 32  # more inputs and outputs than this are read in Python


class View(IntEnum):
    """One array of one call."""

    DATA = 0
    STEP = 1  # bytes from element to element
    STRIDE = 2  # bytes from state to state; 0 repeats one state


class Port(IntEnum):
    """One input or output."""

    SIZE = 0
    RANK = 1
    SHAPE = 2  # address of RANK words


class Kernel(IntEnum):
    """One compiled program."""

    RUN = 0
    CUTS = 1  # address of N_CUTS code addresses
    N_CUTS = 2
    N_INPUTS = 3
    N_OUTPUTS = 4
    PORTS = 5  # address of the inputs' and outputs' ports
    BYTES = 6  # of the workspace of one tile
    TILES = 7  # that run together at most
    PLACES = 8  # address of the outputs' offsets in a workspace
    ELEMENTS = 9  # of all outputs
    PART = 10  # elements that are streamed after a cut, at most
    FAR = 11  # bytes of results from which on they are streamed
    LIBM = 12
    MALLOC = 13
    FREE = 14


class Call(IntEnum):
    """One callable."""

    SINGLE = 0  # address of a Kernel, 0 until compiled
    BATCH = 1
    PORTS = 2
    N_INPUTS = 3  # -1 sends every call to SLOW
    N_OUTPUTS = 4
    ITEMSIZE = 5
    BATCH_LAST = 6
    SPLIT_FROM = 7  # batches of this size on go to SLOW, which splits them
    NAMES = 8  # address of the inputs' names, Python strings
    DTYPE = 9  # this and all below: Python objects
    ARRAY_TYPE = 10
    OUT_NAME = 11
    NONE = 12
    TUPLE_TYPE = 13
    RESULT_TYPE = 14
    EMPTY = 15  # numpy.empty
    SHAPE = 16  # the one output's shape
    ALLOCATE = 17  # makes the outputs of a batch
    SLOW = 18
    API = 19  # address of the functions of API


API = (
    "PyErr_NoMemory",
    "PyEval_RestoreThread",
    "PyEval_SaveThread",
    "PyLong_FromSsize_t",
    "PyObject_VectorcallDict",
    "PyTuple_GetItem",
    "PyTuple_New",
    "PyTuple_SetItem",
    "PyTuple_Size",
    "Py_DecRef",
    "Py_IncRef",
)
"""The functions of Python that are called; by address, as the code is kept on disk."""

VIEW_WORDS = 4
PORT_WORDS = 4

HEAD = object.__basicsize__
INSTANCE_ENTRY = HEAD  # of a Vectorcall: the function, and the address of its Call
INSTANCE_CALL = HEAD + WORD
INSTANCE_BYTES = HEAD + 2 * WORD
TYPE_OFFSET = HEAD - WORD


class ArrayField(IntEnum):
    """Offsets into PyArrayObject."""

    DATA = HEAD
    RANK = HEAD + 8  # int
    SHAPE = HEAD + 16
    STRIDES = HEAD + 24
    DTYPE = HEAD + 40
    FLAGS = HEAD + 48  # int


ALIGNED = 0x0100
WRITEABLE = 0x0400

Words = ctypes.Array[ctypes.c_int64]


def words(values: Sequence[int]) -> Words:
    """Return a block that holds the values; it must outlive the uses of its address."""
    return (ctypes.c_int64 * max(len(values), 1))(*values)


def python_function(name: str) -> int:
    """Return the address of a function of Python's C interface."""
    function = getattr(ctypes.pythonapi, name)
    return ctypes.cast(function, ctypes.c_void_p).value or 0


@functools.cache
def api_table() -> Words:
    """Return the addresses of the functions of API."""
    return words([python_function(name) for name in API])


def objects_are_as_expected() -> bool:
    """Say whether this interpreter's objects and arrays have the layout used here."""
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != WORD:
        return False
    if sysconfig.get_config_var("Py_GIL_DISABLED") or HEAD != 2 * WORD:
        return False
    probe = np.zeros((3, 5, 2), np.float32)[::2, ::-1]
    probe.flags.writeable = False
    address = id(probe)
    at = ctypes.c_int64.from_address
    half = ctypes.c_int32.from_address
    return (
        at(address + TYPE_OFFSET).value == id(np.ndarray)
        and at(address + ArrayField.DATA).value == probe.ctypes.data
        and half(address + ArrayField.RANK).value == probe.ndim
        and at(address + ArrayField.DTYPE).value == id(np.dtype(np.float32))
        and half(address + ArrayField.FLAGS).value == probe.flags.num
        and _three(at(address + ArrayField.SHAPE).value) == probe.shape
        and _three(at(address + ArrayField.STRIDES).value) == probe.strides
    )


def _three(address: int) -> tuple[int, ...]:
    """Return three words, if the address can be one."""
    return tuple((ctypes.c_int64 * 3).from_address(address)) if address > 4096 else ()


def wants_plain_calls() -> bool:
    """Say whether the user forces calls through Python, as on an unknown layout."""
    return os.environ.get("RAMIFY_PLAIN_CALLS", "0") not in ("", "0")


HAS_KNOWN_OBJECTS = not wants_plain_calls() and objects_are_as_expected()
