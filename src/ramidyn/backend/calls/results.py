"""Allocate result arrays in emitted code: one, or a named tuple of them."""

from __future__ import annotations

from ramidyn.backend.calls.arrays import UNBATCHED, api, port_of
from ramidyn.backend.llvm.word_builder import Code, Module, Value, const
from ramidyn.backend.runtime.memory_layout import (
    ALIGNED,
    CONTIGUOUS,
    LARGE,
    OWNS_DATA,
    WRITEABLE,
    ArrayField,
    CallBlock,
    Port,
)

FAILED = 0  # a Python exception is set, as NULL says


SMALL = 512
"""elements of a result that is kept, to be used again"""
AS_MADE = CONTIGUOUS | OWNS_DATA | ALIGNED | WRITEABLE


def emit_make(module: Module) -> None:
    """make(call, batch): output arrays, one or a named tuple of them."""
    emit_shape(module)
    emit_array(module)
    emit_is_free(module)
    emit_one(module)
    code = module.function("make", 2, local=True)
    call, batch = code.arguments
    count = code.load(call, CallBlock.N_OUTPUTS)
    with code.when(code.compare(count, "==", 1), likely=True):
        with code.when(code.compare(batch, "==", UNBATCHED), likely=True):
            code.leave(code.call("one", call))
        code.leave(code.call("array", call, const(0), batch))
    arrays = api(code, call, "PyTuple_New", count)
    code.leave_if(code.compare(arrays, "==", 0), FAILED)
    with code.loop(count) as i:
        array = code.call("array", call, i, batch)
        give_up_if_null(code, call, array, arrays)
        api(code, call, "PyTuple_SetItem", arrays, i, array)
    values = api(code, call, "PyTuple_New", const(1))
    give_up_if_null(code, call, values, arrays)
    api(code, call, "PyTuple_SetItem", values, const(0), arrays)
    new, kind = (
        code.load(call, CallBlock.NEW_TUPLE),
        code.load(call, CallBlock.RESULT_TYPE),
    )
    named = code.call_address(new, kind, values, const(0))
    api(code, call, "Py_DecRef", values)
    code.leave(named)


def emit_one(module: Module) -> None:
    """one(call): the array of the only output, of one state; new, or used again.

    The last two results are kept, as a loop that computes a state from the one before
    holds one of them.
    """
    code = module.function("one", 1, local=True)
    (call,) = code.arguments
    port = port_of(code, call, code.load(call, CallBlock.N_INPUTS))
    for word in (CallBlock.KEPT_BEFORE, CallBlock.KEPT):
        kept = code.load(call, word)
        with code.when(code.compare(kept, "!=", 0)):
            free = code.call("is_free", call, kept, port)
            with code.when(code.compare(free, "!=", 0), likely=True):
                api(code, call, "Py_IncRef", kept)
                code.leave(kept)
    made = code.call("array", call, const(0), const(UNBATCHED))
    code.leave_if(code.compare(made, "==", 0), FAILED)
    with code.when(code.compare(code.load(port, Port.SIZE), "<=", SMALL), likely=True):
        before = code.load(call, CallBlock.KEPT_BEFORE)
        code.store(code.load(call, CallBlock.KEPT), call, CallBlock.KEPT_BEFORE)
        api(code, call, "Py_IncRef", made)
        code.store(made, call, CallBlock.KEPT)
        with code.when(code.compare(before, "!=", 0)):
            api(code, call, "Py_DecRef", before)
    code.leave(made)


def emit_is_free(module: Module) -> None:
    """is_free(call, array, port): 1 if nobody else has an array, and it is as made.

    No view of it is left either, as a view holds it, and no weak reference.
    """
    code = module.function("is_free", 3, local=True)
    call, array, port = code.arguments
    flags = code.b.and_(
        code.load_int(code.add(array, ArrayField.FLAGS)), const(AS_MADE)
    )
    rank = code.load_int(code.add(array, ArrayField.RANK))
    for found, expected in (
        (code.load(array), const(1)),  # the references to it: the CallBlock's
        (code.load_at(array, ArrayField.DTYPE), code.load(call, CallBlock.DTYPE)),
        (code.load_at(array, ArrayField.WEAK_REFERENCES), const(0)),
        (flags, const(AS_MADE)),
        (rank, code.load(port, Port.RANK)),
    ):
        code.leave_if(code.compare(found, "!=", expected), 0)
    shape, lengths = code.load_at(array, ArrayField.SHAPE), code.load(port, Port.SHAPE)
    with code.loop(rank) as i:
        own, expected = code.load(code.at(shape, i)), code.load(code.at(lengths, i))
        code.leave_if(code.compare(own, "!=", expected), 0)
    code.leave(1)


def emit_array(module: Module) -> None:
    """array(call, index, batch): a new array for one output."""
    code = module.function("array", 3, local=True)
    call, index, batch = code.arguments
    pair = code.cell(0, 2)
    core = code.load(code.at(code.load(call, CallBlock.SHAPES), index))
    batched = code.compare(batch, "!=", UNBATCHED)
    new = code.load(call, CallBlock.NEW_ARRAY)
    known = code.compare(new, "!=", 0)
    with code.when(code.b.and_(known, code.b.not_(batched)), likely=True):
        kind, dtype = (
            code.load(call, CallBlock.ARRAY_TYPE),
            code.load(call, CallBlock.DTYPE),
        )
        port = port_of(code, call, code.add(code.load(call, CallBlock.N_INPUTS), index))
        rank, lengths = code.load(port, Port.RANK), code.load(port, Port.SHAPE)
        api(code, call, "Py_IncRef", dtype)  # it takes that over
        nothing = [const(0)] * 4  # no strides, no data, no flags, no object
        code.leave(code.call_address(new, kind, dtype, rank, lengths, *nothing))
    shape = code.choose(batched, lambda: code.call("shape", call, core, batch), core)
    code.leave_if(code.compare(shape, "==", 0), FAILED)
    code.store(shape, pair, 0)
    code.store(code.load(call, CallBlock.DTYPE), pair, 1)
    port = port_of(code, call, code.add(code.load(call, CallBlock.N_INPUTS), index))
    states = code.choose(batched, lambda: batch, const(1))
    size = code.mul(code.load(port, Port.SIZE), code.load(call, CallBlock.ITEMSIZE))
    is_large = code.compare(code.mul(size, states), ">=", LARGE)
    words = (code.load(call, w) for w in (CallBlock.LARGE_EMPTY, CallBlock.EMPTY))
    made = call_object(code, call, code.b.select(is_large, *words), pair, 2)
    with code.when(batched):
        api(code, call, "Py_DecRef", shape)
    code.leave(made)


def emit_shape(module: Module) -> None:
    """shape(call, core, batch): a new tuple, of a core's shape with a batch axis."""
    code = module.function("shape", 3, local=True)
    call, core, batch = code.arguments
    rank = api(code, call, "PyTuple_Size", core)
    shape = api(code, call, "PyTuple_New", code.add(rank, 1))
    code.leave_if(code.compare(shape, "==", 0), FAILED)
    number = api(code, call, "PyLong_FromSsize_t", batch)
    give_up_if_null(code, call, number, shape)
    last = code.load(call, CallBlock.BATCH_LAST)
    api(code, call, "PyTuple_SetItem", shape, code.mul(last, rank), number)
    with code.loop(rank) as i:
        length = api(code, call, "PyTuple_GetItem", core, i)
        api(code, call, "Py_IncRef", length)
        place = code.add(code.add(i, 1), code.b.neg(last))
        api(code, call, "PyTuple_SetItem", shape, place, length)
    code.leave(shape)


def call_python(
    code: Code, call: Value, function: CallBlock, arguments: Value, count: int
) -> Value:
    """Call a Python object of a CallBlock, with some words of arguments."""
    return call_object(code, call, code.load(call, function), arguments, count)


def call_object(
    code: Code, call: Value, function: Value, arguments: Value, count: int
) -> Value:
    """Call a Python object, with some words of arguments."""
    values = function, arguments, const(count), const(0)
    return api(code, call, "PyObject_VectorcallDict", *values)


def give_up_if_null(code: Code, call: Value, value: Value, owned: Value) -> None:
    """Release an object and return, if a value is missing."""
    with code.when(code.compare(value, "==", 0), likely=False):
        api(code, call, "Py_DecRef", owned)
        code.leave(FAILED)
