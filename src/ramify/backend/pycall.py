"""The function that Python calls, as LLVM IR.

    call(self, args, nargs, kwnames) -> result

It serves a builtin (METH_FASTCALL | METH_KEYWORDS), whose ``self`` is an Anchor, and an
instance of Vectorcall (vectorcallfunc); both hold the address of a Call.

The fast path takes arrays as they are: see pyarrays for which. Whatever else it meets,
it hands to the slow path before it has changed anything: wrong or just unusual, Python
decides.
"""

from __future__ import annotations

import functools

from ramify.backend import pyarrays
from ramify.backend.assembler import Code, Module, Value, const, load
from ramify.backend.pyarrays import REJECTED, UNBATCHED, absolute, api, emit_readers
from ramify.backend.words import INSTANCE_CALL, MAX_PORTS, VIEW_WORDS, Call, Kernel

FAILED = 0  # a Python exception is set, as NULL says


@functools.cache
def entry() -> int:
    """Return the address of ``call``."""
    return load(emit, ["call"], [__name__, pyarrays.__name__])[0]


def emit() -> Module:
    """Write the module."""
    module = Module("pycall")
    emit_slow(module)
    emit_bind(module)
    emit_readers(module)
    emit_make(module)
    emit_run(module)
    emit_call(module)
    emit_entry(module)
    return module


def emit_call(module: Module) -> None:
    """enter(call, args, nargs, names): the whole way."""
    code = module.function("enter", 4, local=True)
    call, args, nargs, names = code.arguments
    views, bound = code.cell(0, VIEW_WORDS * MAX_PORTS), code.cell(0, MAX_PORTS)

    def slow_if(condition: Value) -> None:
        with code.when(condition, likely=False):
            code.leave(code.call("slow", call, args, nargs, names))

    n_inputs, named = code.load(call, Call.N_INPUTS), code.compare(names, "!=", 0)
    miscounted = code.compare(nargs, "!=", n_inputs)
    slow_if(
        code.b.or_(
            code.compare(n_inputs, "<", 0), code.b.and_(miscounted, code.b.not_(named))
        )
    )
    given = code.choose(
        named, lambda: code.call("bind", call, args, nargs, names, bound), const(0)
    )
    slow_if(code.compare(given, "==", REJECTED))
    batch = code.call("inputs", call, code.b.select(named, bound, args), views)
    slow_if(code.compare(batch, "<=", REJECTED))
    single = code.compare(batch, "==", UNBATCHED)
    kernel = code.b.select(
        single, code.load(call, Call.SINGLE), code.load(call, Call.BATCH)
    )
    slow_if(code.compare(kernel, "==", 0))
    slow_if(code.compare(batch, "==", 0))
    slow_if(code.compare(batch, ">=", code.load(call, Call.SPLIT_FROM)))

    own = code.compare(given, "==", 0)
    made = code.choose(own, lambda: code.call("make", call, batch), const(0))
    code.leave_if(code.b.and_(own, code.compare(made, "==", 0)), FAILED)
    out = code.b.select(own, made, given)
    fits = code.call("outputs", call, out, views, batch)
    with code.when(code.compare(fits, "==", 0), likely=False):
        with code.when(own):
            api(code, call, "Py_DecRef", made)
        code.leave(code.call("slow", call, args, nargs, names))
    with code.when(code.b.not_(own)):
        api(code, call, "Py_IncRef", out)
    code.leave(code.call("run_kernel", call, kernel, views, batch, out))


def emit_entry(module: Module) -> None:
    """call(self, args, nargs, names): find the Call."""
    code = module.function("call", 4)
    instance, args, flagged, names = code.arguments
    count = code.b.and_(flagged, const(2**63 - 1))  # vectorcall's flag is no number
    address = code.load_at(instance, INSTANCE_CALL)
    code.leave(code.call("enter", address, args, count, names))


def emit_bind(module: Module) -> None:
    """bind(call, args, nargs, names, bound): find each argument; out, 0 or REJECTED.

    Fills ``bound`` with the inputs, in order. Names are compared by identity: those
    written in a call are interned, and any others are the slow path's.
    """
    code = module.function("bind", 5, local=True)
    call, args, nargs, names, bound = code.arguments
    used = code.cell(nargs)
    n_inputs, known = code.load(call, Call.N_INPUTS), code.load(call, Call.NAMES)
    code.leave_if(code.compare(nargs, ">", n_inputs), REJECTED)
    with code.loop(n_inputs) as i:
        source = code.at(args, i)
        given = code.compare(i, "<", nargs)
        value = code.choose(given, lambda: code.load(source), const(0))
        code.store(value, code.at(bound, i))
    count = api(code, call, "PyTuple_Size", names)
    with code.fold(count, 0) as turn:
        name = api(code, call, "PyTuple_GetItem", names, turn.index)
        value = code.load(code.at(args, code.add(nargs, turn.index)))
        is_out = code.compare(name, "==", code.load(call, Call.OUT_NAME))
        is_none = code.compare(value, "==", code.load(call, Call.NONE))
        out = code.b.select(is_none, const(0), value)
        turn.next = code.b.select(is_out, out, turn.value)
        with code.when(is_out):
            code.store(code.add(code.load(used), 1), used)
        with code.when(code.b.not_(is_out)):
            take_named(code, name, value, known, used)
    with code.loop(n_inputs) as i:
        missing = code.compare(code.load(code.at(bound, i)), "==", 0)
        code.leave_if(missing, REJECTED)
    complete = code.compare(code.load(used), "==", code.add(nargs, count))
    code.leave(code.b.select(complete, turn.result, const(REJECTED)))


def take_named(
    code: Code, name: Value, value: Value, known: Value, used: Value
) -> None:
    """Write a value to the input of that name, if it is still to be had."""
    call, *_, bound = code.arguments
    with code.loop(code.load(call, Call.N_INPUTS)) as i:
        place = code.at(bound, i)
        own = code.compare(code.load(code.at(known, i)), "==", name)
        with code.when(code.b.and_(own, code.compare(code.load(place), "==", 0))):
            code.store(value, place)
            code.store(code.add(code.load(used), 1), used)


def emit_slow(module: Module) -> None:
    """slow(call, args, nargs, names): hand everything to Python as (values, names)."""
    code = module.function("slow", 4, local=True)
    call, args, nargs, names = code.arguments
    pair = code.cell(0, 2)
    named = code.compare(names, "!=", 0)
    extra = code.choose(named, lambda: api(code, call, "PyTuple_Size", names), const(0))
    count = code.add(nargs, extra)
    values = api(code, call, "PyTuple_New", count)
    code.leave_if(code.compare(values, "==", 0), FAILED)
    with code.loop(count) as i:
        value = code.load(code.at(args, i))
        api(code, call, "Py_IncRef", value)
        api(code, call, "PyTuple_SetItem", values, i, value)
    code.store(values, pair, 0)
    code.store(code.b.select(named, names, code.load(call, Call.NONE)), pair, 1)
    python = code.load(call, Call.SLOW)
    result = api(
        code, call, "PyObject_VectorcallDict", python, pair, const(2), const(0)
    )
    api(code, call, "Py_DecRef", values)
    code.leave(result)


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
            api(code, call, "PyObject_VectorcallDict", empty, pair, const(2), const(0))
        )
    number = api(code, call, "PyLong_FromSsize_t", batch)
    code.leave_if(code.compare(number, "==", 0), FAILED)
    code.store(number, pair, 0)
    allocate = code.load(call, Call.ALLOCATE)
    made = api(
        code, call, "PyObject_VectorcallDict", allocate, pair, const(1), const(0)
    )
    api(code, call, "Py_DecRef", number)
    code.leave(made)


def emit_run(module: Module) -> None:
    """run_kernel(call, kernel, views, batch, out): run, a batch without the GIL."""
    code = module.function("run_kernel", 5, local=True)
    call, kernel, views, batch, out = code.arguments
    run = code.load(kernel, Kernel.RUN)
    batched = code.compare(batch, "!=", UNBATCHED)
    thread = code.choose(
        batched, lambda: api(code, call, "PyEval_SaveThread"), const(0)
    )
    failed = code.call_address(run, kernel, views, absolute(code, batch))
    with code.when(batched):
        api(code, call, "PyEval_RestoreThread", thread)
    with code.when(code.compare(failed, "!=", 0), likely=False):
        api(code, call, "Py_DecRef", out)
        code.leave(api(code, call, "PyErr_NoMemory"))
    code.leave(out)
