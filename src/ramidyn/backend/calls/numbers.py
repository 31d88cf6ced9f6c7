"""Read Python's numbers in emitted code: a scalar, a list or a tuple of them.

Accepted are values exactly of a type in NUMBER_TYPES, or arrays () of a dtype in
NUMBER_DTYPES, for a scalar, and a list or a tuple of such numbers for a vector. They
are written to a buffer, as elements of the kernel's dtype.
"""

from __future__ import annotations

from ramidyn.backend.calls.arrays import api, api_address
from ramidyn.backend.llvm.word_builder import (
    DOUBLE,
    FLOAT,
    Code,
    Module,
    Value,
    const,
    ir,
)
from ramidyn.backend.runtime.memory_layout import (
    NUMBER_DTYPES,
    NUMBER_TYPES,
    TYPE_OFFSET,
    WORD,
    ArrayField,
    Call,
    Port,
    View,
)


def is_among(code: Code, value: Value, block: Value, count: int) -> Value:
    """Return whether a value is one of the words of a block."""
    found = code.compare(value, "==", code.load(block))
    for i in range(1, count):
        found = code.b.or_(found, code.compare(value, "==", code.load(block, i)))
    return found


def emit_is_plain(module: Module) -> None:
    """is_plain(call, object): 1 if it is an array of a dtype in NUMBER_DTYPES."""
    code = module.function("is_plain", 2, local=True)
    call, given = code.arguments
    kind = code.load_at(given, TYPE_OFFSET)
    code.leave_if(code.compare(kind, "!=", code.load(call, Call.ARRAY_TYPE)), 0)
    dtype = code.load_at(given, ArrayField.DTYPE)
    dtypes = code.load(call, Call.NUMBER_DTYPES)
    found = is_among(code, dtype, dtypes, len(NUMBER_DTYPES))
    code.leave(code.b.zext(found, dtype.type))


def emit_number(module: Module) -> None:
    """number(call, object, target): 1 if it is a number, which is then written."""
    code = module.function("number", 3, local=True)
    call, given, target = code.arguments
    kind, types = code.load_at(given, TYPE_OFFSET), code.load(call, Call.NUMBER_TYPES)
    is_other = code.b.not_(is_among(code, kind, types, len(NUMBER_TYPES)))
    with code.when(is_other, likely=False):
        is_array = code.call("is_plain", call, given)
        code.leave_if(code.compare(is_array, "==", 0), 0)
        rank = code.load_int(code.add(given, ArrayField.RANK))
        code.leave_if(code.compare(rank, "!=", 0), 0)
    value = api(code, call, "PyFloat_AsDouble", given, gives=DOUBLE)
    may_have_failed = code.b.fcmp_ordered("==", value, ir.Constant(DOUBLE, -1.0))
    with code.when(may_have_failed, likely=False):
        error = api(code, call, "PyErr_Occurred")
        with code.when(code.compare(error, "!=", 0)):  # an int too large for a double
            api(code, call, "PyErr_Clear")
            code.leave(0)
    with code.when(code.compare(code.load(call, Call.ITEMSIZE), "==", WORD)):
        code.store_as(value, target, WORD)
        code.leave(1)
    code.store_as(code.b.fptrunc(value, FLOAT), target, WORD // 2)
    code.leave(1)


def emit_numbers(module: Module) -> None:
    """numbers(call, object, port, view, buffer): 1 if they are; then fill a view."""
    code = module.function("numbers", 5, local=True)
    call, given, port, view, buffer = code.arguments
    item, place = code.load(call, Call.ITEMSIZE), code.load(port, Port.BUFFER)
    code.leave_if(code.compare(place, "<", 0), 0)
    target = code.add(buffer, place)
    code.store(target, view, View.DATA)
    code.store(item, view, View.STEP)
    code.store(const(0), view, View.STRIDE)
    rank = code.load(port, Port.RANK)
    with code.when(code.compare(rank, "==", 0), likely=True):
        code.leave(code.call("number", call, given, target))

    kind = code.load_at(given, TYPE_OFFSET)
    is_list = code.compare(kind, "==", code.load(call, Call.LIST_TYPE))
    is_tuple = code.compare(kind, "==", code.load(call, Call.TUPLE_TYPE))
    fits = code.b.and_(code.b.or_(is_list, is_tuple), code.compare(rank, "==", 1))
    code.leave_if(code.b.not_(fits), 0)
    size_of, item_of = (
        code.b.select(
            is_list,
            api_address(code, call, f"PyList_{name}"),
            api_address(code, call, f"PyTuple_{name}"),
        )
        for name in ("Size", "GetItem")
    )
    size = code.load(port, Port.SIZE)
    code.leave_if(code.compare(code.call_address(size_of, given), "!=", size), 0)
    with code.loop(size) as i:
        value = code.call_address(item_of, given, i)
        written = code.call("number", call, value, code.add(target, code.mul(i, item)))
        code.leave_if(code.compare(written, "==", 0), 0)
    code.leave(1)
