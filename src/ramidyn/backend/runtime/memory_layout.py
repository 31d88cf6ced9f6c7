"""Memory layout shared by emitted code and Python: blocks of 64-bit words.

    CallBlock  one callable: what the FASTCALL function reaches through its ``self``
    Kernel     one compiled program and the driver that runs it
    Port       one input or output: its core shape
    View       one array of one call: where its elements are
    TimeLoop   some steps of a scan

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
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

import numpy as np

WORD = 8
LANES = (1, 2, 4, 8, 16, 32, 64)  # states side by side in a kernel
ITEM_BYTES = {"float64": 8, "float32": 4}
LINE = 64  # bytes of a cache line, at which workspaces begin
PLACE, MOST_BYTES = 4, 2**31 - 1  # bytes of an offset in a workspace, and the largest
STACK_BYTES = 64 * 1024  # of workspaces on the stack; on Windows there are none
NEVER = 2**62  # more than there is of anything
MAX_PORTS = 32  # more inputs and outputs than this are read in Python
BUFFER_WORDS = 256  # on the stack, for inputs that are given as Python numbers

SCALAR_TYPES = (
    *(np.float64, np.float32, np.float16, np.bool_),
    *(np.int64, np.int32, np.int16, np.int8),
    *(np.uint64, np.uint32, np.uint16, np.uint8),
)
NUMBER_TYPES = (float, int, bool, *SCALAR_TYPES)
NUMBER_DTYPES = tuple(np.dtype(kind) for kind in SCALAR_TYPES)
"""Numbers that emitted code takes: exactly of these types, arrays of exactly these.

Converting them runs no user code.
"""


TABLE: Final = "table "
"""begins the name of an input that is a table: the same for all states of a time loop,
it stays where it is, and a workspace has its address only"""
ADDRESS: Final = 2
"""slots of an address, in float32 of one state too"""


def is_table(name: str) -> bool:
    """Return whether an input of this name is a table."""
    return name.startswith(TABLE)


def slots_of(name: str, size: int) -> int:
    """Return the slots that an input of so many entries takes in a workspace."""
    return ADDRESS if is_table(name) else size


IS_TABLE: Final = -2
"""`Port.BUFFER` of a table"""


class View(IntEnum):
    """One array of one call."""

    DATA = 0
    STEP = 1  # bytes from element to element
    STRIDE = 2  # bytes from state to state; 0 repeats one state
    PACE = 3  # of a scan: bytes from step to step; 0 for what has no time axis


class Port(IntEnum):
    """One input or output."""

    SIZE = 0
    RANK = 1
    SHAPE = 2  # address of RANK words
    BUFFER = 3  # of an input: its bytes' place in the buffer of numbers, -1 if none,
    # IS_TABLE if only its address is packed


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
    KEPT = 15  # address of memory for workspaces, 0 if none or while in use
    STEPS = 16  # address of N_STEPS instructions: see `instructions`
    N_STEPS = 17  # 0 if the cuts run one after another
    MOVES = 18  # address of the moves of all instructions
    KEPT_BYTES = 19  # of the memory at KEPT
    WRITERS = 20  # address of what writes each output of one state, 0 where PLACES does
    BRING = 21  # code address of the cut that brings inputs of the next tile, or 0
    TAKE = 22  # code address of the cut that takes outputs of the tile before, or 0


class Ferry(IntEnum):
    """One array of which a cut carries a tile's rows: see `llvm.ferries`."""

    SLOTS = 0  # address of a workspace
    ROWS = 1  # address of the first row
    STRIDE = 2  # bytes from row to row


FERRY_WORDS: Final = len(Ferry) * MAX_PORTS
"""of all inputs; those of outputs follow"""


class TimeLoop(IntEnum):
    """Some steps of a scan."""

    STEPS = 0
    WAIT = 1  # steps before the first one that is recorded
    EVERY = 2  # steps from one that is recorded to the next
    N_RECORDS = 3  # outputs that are recorded; those behind are of the last step
    MOVES = 4  # address of N_MOVES pairs of offsets: what the next step starts with
    N_MOVES = 5


class CallBlock(IntEnum):
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
    SHAPES = 9  # address of the outputs' shapes, Python tuples
    API = 10  # address of the functions of API
    NUMBER_TYPES = 11  # address of the types of NUMBER_TYPES
    DEFAULTS = 12  # address of what inputs are unless given: Python objects, or 0
    NEW_TUPLE = 13  # address of what makes a tuple of a subclass
    NUMBER_DTYPES = 14  # address of the dtypes of NUMBER_DTYPES
    DTYPE = 15  # this and all below: Python objects
    ARRAY_TYPE = 16
    LIST_TYPE = 17
    TUPLE_TYPE = 18
    RESULT_TYPE = 19
    OUT_NAME = 20
    NONE = 21
    EMPTY = 22  # numpy.empty
    AS_TYPE = 23  # numpy.ndarray.astype
    BIND = 24  # (values, names) -> (*inputs, out)
    CONVERT = 25  # (index of an input, value) -> array
    SLOW = 26  # (*inputs, out) -> result
    CHOSEN = 27  # of a Method: the dict of the functions that it has found so far
    OUT_NAMES = 28  # ("out",)
    N_STATE = 29  # of a Method, a number: of the arguments that choose nothing
    NEW_ARRAY = 30  # address of PyArray_NewFromDescr, 0 if it is not known
    KEPT = 31  # owned: the last array that was returned for one state, or 0
    KEPT_BEFORE = 32  # owned: the one before
    PLAIN = 33  # of a Method: the CallBlock without options, or 0
    LARGE_EMPTY = 34  # a Python object: EMPTY of large results, in memory used again


API = (
    "PyDict_GetItemWithError",
    "PyErr_Clear",
    "PyErr_NoMemory",
    "PyErr_Occurred",
    "PyEval_RestoreThread",
    "PyEval_SaveThread",
    "PyFloat_AsDouble",
    "PyList_GetItem",
    "PyList_Size",
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
INSTANCE_ENTRY = HEAD  # of a Vectorcall: the function, and the address of its CallBlock
INSTANCE_CALL = HEAD + WORD
INSTANCE_BYTES = HEAD + 2 * WORD
TYPE_OFFSET = HEAD - WORD


class ArrayField(IntEnum):
    """Offsets into PyArrayObject."""

    DATA = HEAD
    RANK = HEAD + 8  # int
    SHAPE = HEAD + 16
    STRIDES = HEAD + 24
    BASE = HEAD + 32
    DTYPE = HEAD + 40
    FLAGS = HEAD + 48  # int
    WEAK_REFERENCES = HEAD + 56


TP_NEW = 65  # the number of a slot, see CPython's typeslots.h
ARRAY_TYPE_PLACE, NEW_ARRAY_PLACE = 2, 94  # in NumPy's table of functions
CONTIGUOUS, OWNS_DATA = 0x0001, 0x0004
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
def new_tuple() -> int:
    """Return the address of ``tuple.__new__`` in C."""
    kind = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_int)
    return kind(("PyType_GetSlot", ctypes.pythonapi))(tuple, TP_NEW)


@functools.cache
def new_array() -> int:
    """Return the address of NumPy's PyArray_NewFromDescr, or 0 if it is not known.

    Its place in the table of functions, like that of the type of arrays, is part of
    NumPy's binary interface since 1.0. It takes half the time of numpy.empty.
    """
    table, at = _array_api(), ctypes.c_void_p.from_address
    if not table or at(table + ARRAY_TYPE_PLACE * WORD).value != id(np.ndarray):
        return 0
    return at(table + NEW_ARRAY_PLACE * WORD).value or 0


def _array_api() -> int:
    """Return the address of the table that NumPy gives to extensions, or 0."""
    core: object = getattr(np, "_core", None)  # NumPy 1 has another name for it
    capsule: object = getattr(getattr(core, "multiarray", None), "_ARRAY_API", None)
    if type(capsule).__name__ != "PyCapsule":
        return 0
    kind = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    return kind(("PyCapsule_GetPointer", ctypes.pythonapi))(capsule, None) or 0


@functools.cache
def api_table() -> Words:
    """Return the addresses of the functions of API."""
    return words([python_function(name) for name in API])


@functools.cache
def number_types() -> Words:
    """Return the types of NUMBER_TYPES, which live as long as the process."""
    return words([id(kind) for kind in NUMBER_TYPES])


@functools.cache
def number_dtypes() -> Words:
    """Return the dtypes of NUMBER_DTYPES, which live as long as the process."""
    return words([id(dtype) for dtype in NUMBER_DTYPES])


def objects_are_as_expected() -> bool:
    """Say whether this interpreter's objects and arrays have the layout used here."""
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != WORD:
        return False
    if sysconfig.get_config_var("Py_GIL_DISABLED") or HEAD != 2 * WORD:
        return False
    probe = np.zeros((3, 5, 2), np.float32)[::2, ::-1]
    probe.flags.writeable = False
    address = id(probe)
    reference = weakref.ref(probe)
    at = ctypes.c_int64.from_address
    half = ctypes.c_int32.from_address
    return (
        at(address + TYPE_OFFSET).value == id(np.ndarray)
        and at(address + ArrayField.DATA).value == probe.ctypes.data
        and half(address + ArrayField.RANK).value == probe.ndim
        and at(address + ArrayField.DTYPE).value == id(np.dtype(np.float32))
        and half(address + ArrayField.FLAGS).value == probe.flags.num
        and at(address + ArrayField.BASE).value == id(probe.base)
        and at(address + ArrayField.WEAK_REFERENCES).value == id(reference)
        and _three(at(address + ArrayField.SHAPE).value) == probe.shape
        and _three(at(address + ArrayField.STRIDES).value) == probe.strides
    )


def _three(address: int) -> tuple[int, ...]:
    """Return three words, if the address can be one."""
    return tuple((ctypes.c_int64 * 3).from_address(address)) if address > 4096 else ()


def wants_plain_calls() -> bool:
    """Say whether the user forces calls through Python, as on an unknown layout."""
    return os.environ.get("RAMIDYN_PLAIN_CALLS", "0") not in ("", "0")


HAS_KNOWN_OBJECTS = not wants_plain_calls() and objects_are_as_expected()


# The numbers of a Kernel block that follow from its program and lanes.

TILES = 8
"""Tiles that a cut runs on before the next, at most; see `tiles_together`."""
NEAR, CUT_BYTES = 7 * 2**17, 16 * 1024
"""Bytes of code and workspaces that a second cache of 1 MB keeps, and code of a cut."""
AHEAD = 2**18
"""Bytes of the workspaces of a group whose results are streamed with the next one's."""
FETCHED = 5 * 2**19
"""Bytes of a call's inputs of which the next are fetched while a cut computes.

Fewer are in a cache, and fetching them would take longer than it saves.
"""
LARGE = 2**20
"""Bytes of a result that has memory of its own; see `calls.result_memory`."""
FAR, PIECE = 16 * 1024 * 1024, 5 * 1024
"""Bytes of a call's results that are streamed, and of a tile's that follow a cut.

FAR is what a last cache hardly keeps beside all else. Some 3 kB wait in the processor
to be written while a cut computes; smaller pieces cost more than they hide, and tiles
with fewer results are not streamed.
"""


@dataclass(frozen=True, slots=True)
class KernelSizes:
    """The sizes of a kernel, and the offsets of its results in a workspace."""

    fields: dict[Kernel, int]
    places: list[int]
    bytes: int
    """of the workspace of one tile"""


def kernel_sizes(
    slots: int,
    outputs: Sequence[int],
    cuts: int,
    lanes: int,
    dtype: str,
    has_open_ends: bool,
) -> KernelSizes:
    """Return the sizes of a kernel with so many slots, results and cuts."""
    slot = lanes * ITEM_BYTES[dtype]
    size = max(-(-slots * slot // LINE), 1) * LINE  # the driver divides by it
    places = [k * slot for k in outputs]
    part = max(PIECE // slot, -(-len(places) // max(cuts, 1)))
    fields = {
        Kernel.BYTES: size,
        Kernel.TILES: tiles_together(size, slot, cuts, has_open_ends),
        Kernel.ELEMENTS: len(places),
        Kernel.PART: part,
        Kernel.FAR: FAR if len(places) * slot >= PIECE else NEVER,
    }
    return KernelSizes(fields, places, size)


def tiles_together(size: int, slot: int, cuts: int, has_open_ends: bool) -> int:
    """Return how many tiles run each cut together.

    If all code and a workspace fit in the second cache, the code stays there. It is
    joined by as many workspaces as fit in two thirds of what it leaves; arrays have the
    rest. Of vectors shorter than a line, there may be twice as many. Otherwise each
    group fetches its code from the last cache, so as many tiles share it as that cache
    can hold. Where loops have open ends, many tiles run together, too: their last
    states share tiles.

    Args:
        size: the bytes of a workspace.
        slot: the bytes of a slot.
        cuts: their number.
        has_open_ends: whether a loop ends when its states do.
    """
    room = NEAR - CUT_BYTES * cuts
    is_near = size <= room and not has_open_ends
    share = room * 2 // 3 if is_near else FAR // 2
    most = 2 * TILES if is_near and slot < LINE else TILES
    return max(1, min(most, share // size))


# ------------------------------------------------------------ C functions


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
