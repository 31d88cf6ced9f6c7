"""Read arguments in emitted code: which are accepted, and where elements are.

Accepted are aligned numpy.ndarrays of the kernel's dtype whose core has the right shape
and even strides, with or without a batch axis; as inputs also numbers of Python:
values exactly of a type in NUMBER_TYPES, or arrays () of a dtype in NUMBER_DTYPES, for
a scalar, and a list or a tuple of them for a vector. They are written to a buffer. The
array's own struct is read (see `memory_layout`): a few loads, where PyObject_GetBuffer
would allocate memory and format a string.
"""

from __future__ import annotations

import numpy as np

from ramidyn.backend.llvm.word_builder import (
    DOUBLE,
    FLOAT,
    I64,
    Code,
    Module,
    Value,
    const,
    ir,
)
from ramidyn.backend.runtime.memory_layout import (
    ALIGNED,
    API,
    NUMBER_DTYPES,
    NUMBER_TYPES,
    PORT_WORDS,
    TYPE_OFFSET,
    VIEW_WORDS,
    WORD,
    WRITEABLE,
    ArrayField,
    CallBlock,
    Port,
    View,
)

REJECTED = -2
UNBATCHED = -1


def emit_readers(module: Module) -> None:
    """Write ``inputs`` and ``outputs`` and what they need."""
    emit_core(module)
    emit_read(module)
    emit_input(module)
    emit_inputs(module)
    emit_is_simple(module)
    emit_is_apart(module)
    emit_outputs(module)


def emit_core(module: Module) -> None:
    """core(array, port, skipped, view, itemsize): check a core's shape, find its step.

    Returns 1 if the shape, without the first ``skipped`` axes, is the port's and the
    elements are evenly spaced in C order.
    """
    code = module.function("core", 5, local=True)
    array, port, skipped, view, itemsize = code.arguments
    rank = code.load(port, Port.RANK)
    expected = code.load(port, Port.SHAPE)
    skip = code.mul(skipped, WORD)
    shape = code.add(code.load_at(array, ArrayField.SHAPE), skip)
    strides = code.add(code.load_at(array, ArrayField.STRIDES), skip)
    code.store(itemsize, view, View.STEP)
    with code.fold(rank, 0) as turn:
        axis = code.mul(code.add(code.b.sub(rank, turn.index), -1), WORD)
        length = code.load(code.add(shape, axis))
        code.leave_if(
            code.compare(length, "!=", code.load(code.add(expected, axis))), 0
        )
        stride = code.load(code.add(strides, axis))
        matters = code.compare(length, "!=", 1)
        code.leave_if(code.b.and_(matters, code.compare(stride, "==", 0)), 0)
        innermost = code.compare(turn.value, "==", 0)
        uneven = code.compare(stride, "!=", turn.value)
        code.leave_if(
            code.b.and_(matters, code.b.and_(uneven, code.b.not_(innermost))), 0
        )
        with code.when(code.b.and_(matters, innermost)):
            code.store(stride, view, View.STEP)
        turn.next = code.b.select(matters, code.mul(stride, length), turn.value)
    code.leave(1)


def emit_read(module: Module) -> None:
    """read(call, array, port, view, flags): fill a view; its batch, or REJECTED."""
    code = module.function("read", 5, local=True)
    call, array, port, view, flags = code.arguments
    kind = code.load_at(array, TYPE_OFFSET)
    code.leave_if(
        code.compare(kind, "!=", code.load(call, CallBlock.ARRAY_TYPE)), REJECTED
    )
    dtype = code.load_at(array, ArrayField.DTYPE)
    code.leave_if(code.compare(dtype, "!=", code.load(call, CallBlock.DTYPE)), REJECTED)
    own = code.b.and_(code.load_int(code.add(array, ArrayField.FLAGS)), flags)
    code.leave_if(code.compare(own, "!=", flags), REJECTED)

    rank = code.load_int(code.add(array, ArrayField.RANK))
    extra = code.b.sub(rank, code.load(port, Port.RANK))
    code.leave_if(code.b.icmp_unsigned(">", extra, const(1)), REJECTED)
    code.store(code.load_at(array, ArrayField.DATA), view, View.DATA)
    code.store(const(0), view, View.STRIDE)
    last = code.load(call, CallBlock.BATCH_LAST)
    skipped = code.b.select(code.compare(last, "==", 0), extra, const(0))
    fits = code.call(
        "core", array, port, skipped, view, code.load(call, CallBlock.ITEMSIZE)
    )
    code.leave_if(code.compare(fits, "==", 0), REJECTED)
    with code.when(code.compare(extra, "==", 0)):
        code.leave(UNBATCHED)
    axis = code.mul(code.mul(last, code.add(rank, -1)), WORD)
    batch = code.load(code.add(code.load_at(array, ArrayField.SHAPE), axis))
    stride = code.load(code.add(code.load_at(array, ArrayField.STRIDES), axis))
    repeats = code.compare(batch, "==", 1)
    code.store(code.b.select(repeats, const(0), stride), view, View.STRIDE)
    code.leave(batch)


def emit_input(module: Module) -> None:
    """input(call, value, port, view, buffer): read one; its batch, or REJECTED."""
    code = module.function("input", 5, local=True)
    call, value, port, view, buffer = code.arguments
    batch = code.call("read", call, value, port, view, ALIGNED)
    with code.when(code.compare(batch, "==", REJECTED), likely=False):
        taken = code.call("numbers", call, value, port, view, buffer)
        is_taken = code.compare(taken, "!=", 0)
        code.leave(code.b.select(is_taken, const(UNBATCHED), const(REJECTED)))
    code.leave(batch)


def emit_inputs(module: Module) -> None:
    """inputs(call, args, views, buffer): read all inputs; their common batch."""
    code = module.function("inputs", 4, local=True)
    call, args, views, buffer = code.arguments
    with code.fold(code.load(call, CallBlock.N_INPUTS), UNBATCHED) as turn:
        i, batch = turn.index, turn.value
        value, port = code.load(code.at(args, i)), port_of(code, call, i)
        own = code.call("input", call, value, port, view_of(code, views, i), buffer)
        code.leave_if(code.compare(own, "==", REJECTED), REJECTED)
        # UNBATCHED gives way to a batch of one, and that to any other.
        open_ended = code.compare(batch, "<=", UNBATCHED)
        follows = code.b.or_(open_ended, code.compare(batch, "==", 1))
        yields = code.b.or_(
            code.compare(own, "==", UNBATCHED), code.compare(own, "==", 1)
        )
        same = code.compare(own, "==", batch)
        agrees = code.b.or_(same, code.b.or_(follows, yields))
        code.leave_if(code.b.not_(agrees), REJECTED)
        takes = code.b.or_(
            code.b.and_(open_ended, code.compare(own, "!=", UNBATCHED)),
            code.b.and_(follows, code.b.not_(yields)),
        )
        turn.next = code.b.select(takes, own, batch)
    code.leave(turn.result)


def emit_outputs(module: Module) -> None:
    """outputs(call, out, views, batch): read the outputs; 1 if they can be written."""
    code = module.function("outputs", 4, local=True)
    call, out, views, batch = code.arguments
    several = code.compare(code.load(call, CallBlock.N_OUTPUTS), "!=", 1)
    with code.when(several):
        kind = code.load_at(out, TYPE_OFFSET)
        plain = code.compare(kind, "==", code.load(call, CallBlock.TUPLE_TYPE))
        named = code.compare(kind, "==", code.load(call, CallBlock.RESULT_TYPE))
        code.leave_if(code.b.not_(code.b.or_(plain, named)), 0)
        size = api(code, call, "PyTuple_Size", out)
        code.leave_if(code.compare(size, "!=", code.load(call, CallBlock.N_OUTPUTS)), 0)
    n_inputs = code.load(call, CallBlock.N_INPUTS)
    with code.loop(code.load(call, CallBlock.N_OUTPUTS)) as i:
        array = code.choose(
            several, lambda: api(code, call, "PyTuple_GetItem", out, i), out
        )
        index = code.add(n_inputs, i)
        port = port_of(code, call, index)
        view = view_of(code, views, index)
        own = code.call("read", call, array, port, view, ALIGNED | WRITEABLE)
        code.leave_if(code.compare(own, "!=", batch), 0)
        simple = code.call("is_simple", call, views, index, batch)
        code.leave_if(code.compare(simple, "==", 0), 0)
        # A single state is read whole before anything is written; a batch is not.
        inputs = code.b.select(code.compare(batch, "==", UNBATCHED), n_inputs, const(0))
        with code.loop(code.b.sub(index, inputs)) as k:
            other = code.add(inputs, k)
            apart = code.call("is_apart", call, views, index, other, batch)
            code.leave_if(code.compare(apart, "==", 0), 0)
    code.leave(1)


def api(
    code: Code, call: Value, name: str, *arguments: Value | int, gives: Value = I64
) -> Value:
    """Call a function of Python."""
    values = [const(a) if isinstance(a, int) else a for a in arguments]
    return code.call_address(api_address(code, call, name), *values, gives=gives)


def api_address(code: Code, call: Value, name: str) -> Value:
    """Return the address of a function of Python."""
    return code.load(code.load(call, CallBlock.API), API.index(name))


def view_of(code: Code, views: Value, index: Value) -> Value:
    """Return the address of a View."""
    return code.add(views, code.mul(index, VIEW_WORDS * WORD))


def port_of(code: Code, call: Value, index: Value) -> Value:
    """Return the address of a Port."""
    return code.add(
        code.load(call, CallBlock.PORTS), code.mul(index, PORT_WORDS * WORD)
    )


def absolute(code: Code, value: Value) -> Value:
    """Return |value|."""
    return code.max(value, code.b.neg(value))


def emit_is_simple(module: Module) -> None:
    """is_simple(call, views, index, batch): 1 if no two elements share memory for sure.

    True of arrays where the elements of a state lie within the step to the next state,
    or the other way round; all others are Python's.
    """
    code = module.function("is_simple", 4, local=True)
    call, views, index, batch = code.arguments
    view = view_of(code, views, index)
    port = port_of(code, call, index)
    size, item = code.load(port, Port.SIZE), code.load(call, CallBlock.ITEMSIZE)
    step = absolute(code, code.load(view, View.STEP))
    stride = absolute(code, code.load(view, View.STRIDE))
    states = code.max(batch, 1)
    core = code.add(code.mul(code.add(size, -1), step), item)
    column = code.add(code.mul(code.add(states, -1), stride), item)
    one_element, one_state = code.compare(size, "<=", 1), code.compare(states, "<=", 1)
    steps = code.b.or_(one_element, code.compare(step, ">=", item))
    strides = code.b.or_(one_state, code.compare(stride, ">=", item))
    rows = code.b.or_(one_state, code.compare(stride, ">=", core))
    columns = code.b.or_(one_element, code.compare(step, ">=", column))
    simple = code.b.and_(code.b.and_(steps, strides), code.b.or_(rows, columns))
    code.leave(code.b.zext(simple, size.type))


def emit_is_apart(module: Module) -> None:
    """is_apart(call, views, index, other, batch): 1 if an output may be written freely.

    It may where it shares no memory with the other array, or is the very same input.
    """
    code = module.function("is_apart", 5, local=True)
    call, views, index, other, batch = code.arguments
    spans = [extent(code, call, views, k, batch) for k in (index, other)]
    (low, high), (other_low, other_high) = spans
    apart = code.b.or_(
        code.compare(high, "<=", other_low), code.compare(other_high, "<=", low)
    )
    with code.when(apart, likely=True):
        code.leave(1)
    same = code.compare(other, "<", code.load(call, CallBlock.N_INPUTS))
    pairs = [(view_of(code, views, k), port_of(code, call, k)) for k in (index, other)]
    (view, port), (other_view, other_port) = pairs
    for word in (View.DATA, View.STEP, View.STRIDE):
        equal = code.compare(code.load(view, word), "==", code.load(other_view, word))
        same = code.b.and_(same, equal)
    sizes = code.compare(
        code.load(port, Port.SIZE), "==", code.load(other_port, Port.SIZE)
    )
    code.leave(code.b.zext(code.b.and_(same, sizes), index.type))


def extent(
    code: Code, call: Value, views: Value, index: Value, batch: Value
) -> tuple[Value, Value]:
    """Return the first byte of an array and the byte behind its last."""
    view = view_of(code, views, index)
    port = port_of(code, call, index)
    low = high = code.load(view, View.DATA)
    for count, word in ((code.load(port, Port.SIZE), View.STEP), (batch, View.STRIDE)):
        reach = code.mul(code.max(code.add(count, -1), 0), code.load(view, word))
        low, high = (
            code.add(low, code.min(reach, 0)),
            code.add(high, code.max(reach, 0)),
        )
    return low, code.add(high, code.load(call, CallBlock.ITEMSIZE))


# ------------------------------------------------------------ numbers


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
    code.leave_if(code.compare(kind, "!=", code.load(call, CallBlock.ARRAY_TYPE)), 0)
    dtype = code.load_at(given, ArrayField.DTYPE)
    dtypes = code.load(call, CallBlock.NUMBER_DTYPES)
    found = is_among(code, dtype, dtypes, len(NUMBER_DTYPES))
    code.leave(code.b.zext(found, dtype.type))


def emit_may_be_float32(module: Module) -> None:
    """may_be_float32(call, inputs): 1 if an input may be, but the function is not.

    Those are arrays of float32, and everything that only Python can read.
    """
    code = module.function("may_be_float32", 2, local=True)
    call, inputs = code.arguments
    dtypes, own = (
        code.load(call, CallBlock.NUMBER_DTYPES),
        code.load(call, CallBlock.DTYPE),
    )
    float32 = code.load(dtypes, NUMBER_DTYPES.index(np.dtype("float32")))
    code.leave_if(code.compare(own, "==", float32), 0)
    types = code.load(call, CallBlock.NUMBER_TYPES)
    with code.loop(code.load(call, CallBlock.N_INPUTS)) as i:
        value = code.load(code.at(inputs, i))
        kind = code.load_at(value, TYPE_OFFSET)
        is_array = code.compare(kind, "==", code.load(call, CallBlock.ARRAY_TYPE))
        with code.when(is_array):
            dtype = code.load_at(value, ArrayField.DTYPE)
            code.leave_if(code.compare(dtype, "==", float32), 1)
        is_known = is_among(code, kind, types, len(NUMBER_TYPES))
        for word in (CallBlock.ARRAY_TYPE, CallBlock.LIST_TYPE, CallBlock.TUPLE_TYPE):
            own_type = code.compare(kind, "==", code.load(call, word))
            is_known = code.b.or_(is_known, own_type)
        code.leave_if(code.b.not_(is_known), 1)
    code.leave(0)


def emit_number(module: Module) -> None:
    """number(call, object, target): 1 if it is a number, which is then written."""
    code = module.function("number", 3, local=True)
    call, given, target = code.arguments
    kind, types = (
        code.load_at(given, TYPE_OFFSET),
        code.load(call, CallBlock.NUMBER_TYPES),
    )
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
    with code.when(code.compare(code.load(call, CallBlock.ITEMSIZE), "==", WORD)):
        code.store_as(value, target, WORD)
        code.leave(1)
    code.store_as(code.b.fptrunc(value, FLOAT), target, WORD // 2)
    code.leave(1)


def emit_numbers(module: Module) -> None:
    """numbers(call, object, port, view, buffer): 1 if they are; then fill a view."""
    code = module.function("numbers", 5, local=True)
    call, given, port, view, buffer = code.arguments
    item, place = code.load(call, CallBlock.ITEMSIZE), code.load(port, Port.BUFFER)
    code.leave_if(code.compare(place, "<", 0), 0)
    target = code.add(buffer, place)
    code.store(target, view, View.DATA)
    code.store(item, view, View.STEP)
    code.store(const(0), view, View.STRIDE)
    rank = code.load(port, Port.RANK)
    with code.when(code.compare(rank, "==", 0), likely=True):
        code.leave(code.call("number", call, given, target))

    kind = code.load_at(given, TYPE_OFFSET)
    is_list = code.compare(kind, "==", code.load(call, CallBlock.LIST_TYPE))
    is_tuple = code.compare(kind, "==", code.load(call, CallBlock.TUPLE_TYPE))
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
