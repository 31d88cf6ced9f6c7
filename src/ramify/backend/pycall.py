"""The function that Python calls, as LLVM IR: METH_FASTCALL | METH_KEYWORDS.

    call(self, args, nargs, kwnames) -> result

The fast path takes arrays as they are: every argument a numpy.ndarray of the kernel's
dtype, aligned, its core uniformly strided, given by position, with or without ``out=``.
It reads the arrays' own struct (see words), which costs a few loads where
PyObject_GetBuffer would allocate and format a string. Whatever else it meets, it hands
to the slow path before it has changed anything: wrong or just unusual, Python decides.
"""

from __future__ import annotations

import functools

from ramify.backend.assembler import Code, Module, Value, const, load, python_functions
from ramify.backend.words import (
    ALIGNED,
    MAX_PORTS,
    PORT_WORDS,
    TYPE_OFFSET,
    VIEW_WORDS,
    WORD,
    WRITEABLE,
    ArrayField,
    Call,
    Kernel,
    Port,
    View,
)

API = (
    "PyErr_NoMemory",
    "PyEval_RestoreThread",
    "PyEval_SaveThread",
    "PyLong_AsVoidPtr",
    "PyLong_FromSsize_t",
    "PyObject_VectorcallDict",
    "PyTuple_GetItem",
    "PyTuple_New",
    "PyTuple_SetItem",
    "PyTuple_Size",
    "Py_DecRef",
    "Py_IncRef",
)

REJECTED = -2
UNBATCHED = -1
FAILED = 0  # a Python exception is set, as NULL says


@functools.cache
def entry() -> int:
    """Return the address of ``call``."""
    return load("call", emit, python_functions(*API), "")


def emit() -> Module:
    """Write the module."""
    module = Module("pycall")
    emit_slow(module)
    emit_core(module)
    emit_read(module)
    emit_inputs(module)
    emit_is_simple(module)
    emit_is_apart(module)
    emit_outputs(module)
    emit_make(module)
    emit_run(module)
    emit_call(module)
    return module


def emit_call(module: Module) -> None:
    """call(self, args, nargs, kwnames): the whole way."""
    code = module.function("call", 4)
    owner, args, nargs, names = code.arguments
    views = code.cell(0, VIEW_WORDS * MAX_PORTS)
    call = code.call("PyLong_AsVoidPtr", owner)

    def slow_if(condition: Value) -> None:
        with code.when(condition, likely=False):
            code.leave(code.call("slow", call, args, nargs, names))

    slow_if(code.compare(nargs, "!=", code.load(call, Call.N_INPUTS)))
    given = given_out(code, call, slow_if)
    batch = code.call("inputs", call, args, views)
    slow_if(code.compare(batch, "<=", REJECTED))
    single = code.compare(batch, "==", UNBATCHED)
    kernel = code.b.select(
        single, code.load(call, Call.SINGLE), code.load(call, Call.BATCH)
    )
    slow_if(code.compare(kernel, "==", 0))
    slow_if(code.compare(batch, "==", 0))
    slow_if(code.compare(batch, ">=", code.load(call, Call.THREADED_FROM)))

    own = code.compare(given, "==", 0)
    made = code.choose(own, lambda: code.call("make", call, batch), const(0))
    code.leave_if(code.b.and_(own, code.compare(made, "==", 0)), FAILED)
    out = code.b.select(own, made, given)
    fits = code.call("outputs", call, out, views, batch)
    with code.when(code.compare(fits, "==", 0), likely=False):
        with code.when(own):
            code.call("Py_DecRef", made)
        code.leave(code.call("slow", call, args, nargs, names))
    with code.when(code.b.not_(own)):
        code.call("Py_IncRef", out)
    code.leave(code.call("run_kernel", kernel, views, batch, out))


def given_out(code: Code, call: Value, slow_if: object) -> Value:
    """Return the object given as ``out=``, or 0."""
    assert callable(slow_if)
    _, args, nargs, names = code.arguments
    named = code.compare(names, "!=", 0)
    count = code.choose(named, lambda: code.call("PyTuple_Size", names), const(0))
    slow_if(code.compare(count, ">", 1))

    def value() -> Value:
        name = code.call("PyTuple_GetItem", names, 0)
        known = code.compare(name, "==", code.load(call, Call.OUT_NAME))
        out = code.load(code.add(args, code.mul(nargs, WORD)))
        is_none = code.compare(out, "==", code.load(call, Call.NONE))
        return code.b.select(
            known, code.b.select(is_none, const(0), out), const(REJECTED)
        )

    out = code.choose(code.compare(count, "==", 1), value, const(0))
    slow_if(code.compare(out, "==", REJECTED))
    return out


def emit_slow(module: Module) -> None:
    """slow(call, args, nargs, names): hand everything to Python as (values, names)."""
    code = module.function("slow", 4, local=True)
    call, args, nargs, names = code.arguments
    pair = code.cell(0, 2)
    named = code.compare(names, "!=", 0)
    extra = code.choose(named, lambda: code.call("PyTuple_Size", names), const(0))
    count = code.add(nargs, extra)
    values = code.call("PyTuple_New", count)
    code.leave_if(code.compare(values, "==", 0), FAILED)
    with code.loop(count) as i:
        value = code.load(code.add(args, code.mul(i, WORD)))
        code.call("Py_IncRef", value)
        code.call("PyTuple_SetItem", values, i, value)
    code.store(values, pair, 0)
    code.store(code.b.select(named, names, code.load(call, Call.NONE)), pair, 1)
    python = code.load(call, Call.SLOW)
    result = code.call("PyObject_VectorcallDict", python, pair, const(2), const(0))
    code.call("Py_DecRef", values)
    code.leave(result)


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
    code.leave_if(code.compare(kind, "!=", code.load(call, Call.ARRAY_TYPE)), REJECTED)
    dtype = code.load_at(array, ArrayField.DTYPE)
    code.leave_if(code.compare(dtype, "!=", code.load(call, Call.DTYPE)), REJECTED)
    own = code.b.and_(code.load_int(code.add(array, ArrayField.FLAGS)), flags)
    code.leave_if(code.compare(own, "!=", flags), REJECTED)

    rank = code.load_int(code.add(array, ArrayField.RANK))
    extra = code.b.sub(rank, code.load(port, Port.RANK))
    code.leave_if(code.b.icmp_unsigned(">", extra, const(1)), REJECTED)
    code.store(code.load_at(array, ArrayField.DATA), view, View.DATA)
    code.store(const(0), view, View.STRIDE)
    last = code.load(call, Call.BATCH_LAST)
    skipped = code.b.select(code.compare(last, "==", 0), extra, const(0))
    fits = code.call("core", array, port, skipped, view, code.load(call, Call.ITEMSIZE))
    code.leave_if(code.compare(fits, "==", 0), REJECTED)
    with code.when(code.compare(extra, "==", 0)):
        code.leave(UNBATCHED)
    axis = code.mul(code.mul(last, code.add(rank, -1)), WORD)
    batch = code.load(code.add(code.load_at(array, ArrayField.SHAPE), axis))
    stride = code.load(code.add(code.load_at(array, ArrayField.STRIDES), axis))
    repeats = code.compare(batch, "==", 1)
    code.store(code.b.select(repeats, const(0), stride), view, View.STRIDE)
    code.leave(batch)


def emit_inputs(module: Module) -> None:
    """inputs(call, args, views): read all inputs; their common batch."""
    code = module.function("inputs", 3, local=True)
    call, args, views = code.arguments
    with code.fold(code.load(call, Call.N_INPUTS), UNBATCHED) as turn:
        i, batch = turn.index, turn.value
        array = code.load(code.add(args, code.mul(i, WORD)))
        port = port_of(code, call, i)
        view = view_of(code, views, i)
        own = code.call("read", call, array, port, view, ALIGNED)
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
    several = code.compare(code.load(call, Call.N_OUTPUTS), "!=", 1)
    with code.when(several):
        kind = code.load_at(out, TYPE_OFFSET)
        plain = code.compare(kind, "==", code.load(call, Call.TUPLE_TYPE))
        named = code.compare(kind, "==", code.load(call, Call.RESULT_TYPE))
        code.leave_if(code.b.not_(code.b.or_(plain, named)), 0)
        size = code.call("PyTuple_Size", out)
        code.leave_if(code.compare(size, "!=", code.load(call, Call.N_OUTPUTS)), 0)
    n_inputs = code.load(call, Call.N_INPUTS)
    with code.loop(code.load(call, Call.N_OUTPUTS)) as i:
        array = code.choose(several, lambda: code.call("PyTuple_GetItem", out, i), out)
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


def view_of(code: Code, views: Value, index: Value) -> Value:
    """Return the address of a View."""
    return code.add(views, code.mul(index, VIEW_WORDS * WORD))


def port_of(code: Code, call: Value, index: Value) -> Value:
    """Return the address of a Port."""
    return code.add(code.load(call, Call.PORTS), code.mul(index, PORT_WORDS * WORD))


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
    size, item = code.load(port, Port.SIZE), code.load(call, Call.ITEMSIZE)
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
    same = code.compare(other, "<", code.load(call, Call.N_INPUTS))
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
    return low, code.add(high, code.load(call, Call.ITEMSIZE))


def emit_make(module: Module) -> None:
    """make(call, batch): new output arrays, one or a tuple of them."""
    code = module.function("make", 2, local=True)
    call, batch = code.arguments
    one = code.compare(code.load(call, Call.N_OUTPUTS), "==", 1)
    pair = code.cell(0, 2)
    with code.when(code.b.and_(one, code.compare(batch, "==", UNBATCHED)), likely=True):
        code.store(code.load(call, Call.SHAPE), pair, 0)
        code.store(code.load(call, Call.DTYPE), pair, 1)
        empty = code.load(call, Call.EMPTY)
        code.leave(
            code.call("PyObject_VectorcallDict", empty, pair, const(2), const(0))
        )
    number = code.call("PyLong_FromSsize_t", batch)
    code.leave_if(code.compare(number, "==", 0), FAILED)
    code.store(number, pair, 0)
    allocate = code.load(call, Call.ALLOCATE)
    made = code.call("PyObject_VectorcallDict", allocate, pair, const(1), const(0))
    code.call("Py_DecRef", number)
    code.leave(made)


def emit_run(module: Module) -> None:
    """run_kernel(kernel, views, batch, out): run, without the GIL if it takes long."""
    code = module.function("run_kernel", 4, local=True)
    kernel, views, batch, out = code.arguments
    run = code.load(kernel, Kernel.RUN)
    batched = code.compare(batch, "!=", UNBATCHED)
    thread = code.choose(batched, lambda: code.call("PyEval_SaveThread"), const(0))
    failed = code.call_address(run, kernel, views, absolute(code, batch))
    with code.when(batched):
        code.call("PyEval_RestoreThread", thread)
    with code.when(code.compare(failed, "!=", 0), likely=False):
        code.call("Py_DecRef", out)
        code.leave(code.call("PyErr_NoMemory"))
    code.leave(out)
