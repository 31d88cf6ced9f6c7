"""The function that Python calls, as LLVM IR.

    call(self, args, nargs, kwnames) -> result

It serves a builtin (METH_FASTCALL | METH_KEYWORDS), whose ``self`` is an Anchor, and an
instance of Vectorcall (vectorcallfunc); both hold the address of a CallBlock.

    bind --> attempt --rejected--> CONVERT some --> attempt --rejected--> SLOW

The fast path, ``attempt``, takes arrays and numbers as they are: see `arrays`.
Anything else it rejects before it has changed anything. Then Python converts the inputs
that were not read to arrays, or raises an error, and the fast path tries again; what it
rejects again, such as overlapping arrays, Python handles.

    choose(self, args, nargs, names) -> result

A Method that was called without options enters that function, if the arguments fit.
Otherwise ``f(q, "hand", out=J)`` takes the state first. The other arguments, with their
names, are the key of a dict of functions; the one found is called with the state and
``out``. Python handles a key that is new or not hashable.
"""

from __future__ import annotations

from ramidyn.backend.calls.arrays import (
    REJECTED,
    UNBATCHED,
    absolute,
    api,
    emit_is_plain,
    emit_may_be_float32,
    emit_number,
    emit_numbers,
    emit_readers,
    port_of,
)
from ramidyn.backend.calls.results import (
    FAILED,
    call_python,
    emit_make,
    give_up_if_null,
)
from ramidyn.backend.llvm.word_builder import Code, Module, Value, const
from ramidyn.backend.runtime.memory_layout import (
    BUFFER_WORDS,
    INSTANCE_CALL,
    MAX_PORTS,
    VIEW_WORDS,
    ArrayField,
    CallBlock,
    Kernel,
)


def emit() -> Module:
    """Write the module."""
    module = Module("pycall")
    emit_is_plain(module)
    emit_number(module)
    emit_numbers(module)
    emit_readers(module)
    emit_make(module)
    emit_run(module)
    emit_bind(module)
    emit_collect(module)
    emit_attempt(module)
    emit_convert(module)
    emit_again(module)
    emit_hand_over(module)
    emit_may_be_float32(module)
    emit_enter(module)
    emit_entry(module)
    emit_choose(module)
    return module


def emit_enter(module: Module) -> None:
    """enter(call, args, nargs, names, other): the whole way.

    Arguments that do not fit go to Python; or it is REJECTED, if there is another way:
    a Method may choose a function for float32.
    """
    code = module.function("enter", 5, local=True)
    call, args, nargs, names, other = code.arguments
    bound = code.cell(0, MAX_PORTS)
    n_inputs = code.load(call, CallBlock.N_INPUTS)
    named = code.compare(names, "!=", 0)
    binds = code.b.or_(named, code.compare(nargs, "!=", n_inputs))
    out = code.choose(
        binds, lambda: code.call("bind", call, args, nargs, names, bound), const(0)
    )
    with code.when(code.compare(out, "!=", REJECTED), likely=True):
        inputs = code.b.select(binds, bound, args)
        result = code.call("attempt", call, inputs, out)
        with code.when(code.compare(result, "!=", REJECTED), likely=True):
            code.leave(result)
        with code.when(code.compare(other, "!=", 0)):
            is_other = code.call("may_be_float32", call, inputs)
            code.leave_if(code.compare(is_other, "!=", 0), REJECTED)
        none = code.load(call, CallBlock.NONE)
        last = code.b.select(code.compare(out, "==", 0), none, out)
        given = code.call("collect", call, inputs, n_inputs, last)
        code.leave(code.call("again", call, given))
    code.leave_if(code.compare(other, "!=", 0), REJECTED)
    code.leave(code.call("hand_over", call, args, nargs, names))


def emit_hand_over(module: Module) -> None:
    """hand_over(call, args, nargs, names): let Python bind the arguments."""
    code = module.function("hand_over", 4, local=True)
    call, args, nargs, names = code.arguments
    pair = code.cell(0, 2)
    none, named = code.load(call, CallBlock.NONE), code.compare(names, "!=", 0)
    count = code.add(nargs, count_of(code, names))
    values = code.call("collect", call, args, count, const(0))
    code.leave_if(code.compare(values, "==", 0), FAILED)
    code.store(values, pair, 0)
    code.store(code.b.select(named, names, none), pair, 1)
    given = call_python(code, call, CallBlock.BIND, pair, 2)
    api(code, call, "Py_DecRef", values)
    code.leave(code.call("again", call, given))


def emit_attempt(module: Module) -> None:
    """attempt(call, inputs, given): the result, FAILED or REJECTED; given is out= or 0.

    Reading the arguments runs no user code, so they cannot change meanwhile.
    """
    code = module.function("attempt", 3, local=True)
    call, inputs, given = code.arguments
    views = code.cell(0, VIEW_WORDS * MAX_PORTS)
    buffer = code.cell(0, BUFFER_WORDS)
    batch = code.call("inputs", call, inputs, views, buffer)
    code.leave_if(code.compare(batch, "<=", REJECTED), REJECTED)
    single = code.compare(batch, "==", UNBATCHED)
    kernel = code.b.select(
        single, code.load(call, CallBlock.SINGLE), code.load(call, CallBlock.BATCH)
    )
    for other in (
        code.compare(kernel, "==", 0),
        code.compare(batch, "==", 0),
        code.compare(batch, ">=", code.load(call, CallBlock.SPLIT_FROM)),
    ):
        code.leave_if(other, REJECTED)

    own = code.compare(given, "==", 0)
    made = code.choose(own, lambda: code.call("make", call, batch), const(0))
    code.leave_if(code.b.and_(own, code.compare(made, "==", 0)), FAILED)
    out = code.b.select(own, made, given)
    fits = code.call("outputs", call, out, views, batch)
    with code.when(code.compare(fits, "==", 0), likely=False):
        with code.when(own):
            api(code, call, "Py_DecRef", made)
        code.leave(REJECTED)
    with code.when(code.b.not_(own)):
        api(code, call, "Py_IncRef", out)
    code.leave(code.call("run_kernel", call, kernel, views, batch, out))


def emit_again(module: Module) -> None:
    """again(call, given): attempt with what Python makes of some inputs.

    ``given`` is 0, or an owned tuple of the inputs and of out= or None.
    """
    code = module.function("again", 2, local=True)
    call, given = code.arguments
    view, buffer = code.cell(0, VIEW_WORDS), code.cell(0, BUFFER_WORDS)
    pair, bound = code.cell(0, 2), code.cell(0, MAX_PORTS)
    code.leave_if(code.compare(given, "==", 0), FAILED)
    n_inputs = code.load(call, CallBlock.N_INPUTS)
    with code.when(code.compare(n_inputs, ">=", 0), likely=True):
        with code.loop(n_inputs) as i:
            value = api(code, call, "PyTuple_GetItem", given, i)
            own = code.call("input", call, value, port_of(code, call, i), view, buffer)
            with code.when(code.compare(own, "==", REJECTED)):
                array = code.call("convert", call, i, value)
                give_up_if_null(code, call, array, given)
                api(code, call, "PyTuple_SetItem", given, i, array)
            kept = api(code, call, "PyTuple_GetItem", given, i)
            code.store(kept, code.at(bound, i))
        last = api(code, call, "PyTuple_GetItem", given, n_inputs)
        is_none = code.compare(last, "==", code.load(call, CallBlock.NONE))
        out = code.b.select(is_none, const(0), last)
        result = code.call("attempt", call, bound, out)
        with code.when(code.compare(result, "!=", REJECTED), likely=True):
            api(code, call, "Py_DecRef", given)
            code.leave(result)
    code.store(given, pair, 0)
    result = call_python(code, call, CallBlock.SLOW, pair, 1)
    api(code, call, "Py_DecRef", given)
    code.leave(result)


def emit_convert(module: Module) -> None:
    """convert(call, index, value): a new array of an input that cannot be read."""
    code = module.function("convert", 3, local=True)
    call, index, value = code.arguments
    pair = code.cell(0, 2)
    plain = code.compare(code.call("is_plain", call, value), "!=", 0)
    with code.when(plain, likely=True):
        dtype = code.load(call, CallBlock.DTYPE)
        own = code.compare(code.load_at(value, ArrayField.DTYPE), "==", dtype)
        with code.when(code.b.not_(own), likely=True):
            code.store(value, pair, 0)
            code.store(dtype, pair, 1)
            code.leave(call_python(code, call, CallBlock.AS_TYPE, pair, 2))
    number = api(code, call, "PyLong_FromSsize_t", index)
    code.leave_if(code.compare(number, "==", 0), FAILED)
    code.store(number, pair, 0)
    code.store(value, pair, 1)
    array = call_python(code, call, CallBlock.CONVERT, pair, 2)
    api(code, call, "Py_DecRef", number)
    code.leave(array)


def emit_collect(module: Module) -> None:
    """collect(call, items, count, last): a new tuple; a last item of 0 is left out."""
    code = module.function("collect", 4, local=True)
    call, items, count, last = code.arguments
    ends = code.compare(last, "!=", 0)
    size = code.add(count, code.b.zext(ends, count.type))
    made = api(code, call, "PyTuple_New", size)
    code.leave_if(code.compare(made, "==", 0), FAILED)
    with code.loop(count) as i:
        value = code.load(code.at(items, i))
        api(code, call, "Py_IncRef", value)
        api(code, call, "PyTuple_SetItem", made, i, value)
    with code.when(ends):
        api(code, call, "Py_IncRef", last)
        api(code, call, "PyTuple_SetItem", made, count, last)
    code.leave(made)


def emit_entry(module: Module) -> None:
    """call(self, args, nargs, names): find the CallBlock."""
    code = module.function("call", 4)
    instance, args, flagged, names = code.arguments
    count = code.b.and_(flagged, const(FLAGLESS))
    address = code.load_at(instance, INSTANCE_CALL)
    code.leave(code.call("enter", address, args, count, names, const(0)))


def emit_bind(module: Module) -> None:
    """bind(call, args, nargs, names, bound): find each argument; out, 0 or REJECTED.

    Fills ``bound`` with the inputs, in order. Names are compared by identity: those
    written in a call are interned, and any others are for Python.
    """
    code = module.function("bind", 5, local=True)
    call, args, nargs, names, bound = code.arguments
    used = code.cell(nargs)
    n_inputs, known = (
        code.load(call, CallBlock.N_INPUTS),
        code.load(call, CallBlock.NAMES),
    )
    code.leave_if(code.compare(nargs, ">", n_inputs), REJECTED)  # all if that is -1
    with code.loop(n_inputs) as i:
        source = code.at(args, i)
        given = code.compare(i, "<", nargs)
        value = code.choose(given, lambda: code.load(source), const(0))
        code.store(value, code.at(bound, i))
    count = count_of(code, names)
    with code.fold(count, 0) as turn:
        name = api(code, call, "PyTuple_GetItem", names, turn.index)
        value = code.load(code.at(args, code.add(nargs, turn.index)))
        is_out = code.compare(name, "==", code.load(call, CallBlock.OUT_NAME))
        is_none = code.compare(value, "==", code.load(call, CallBlock.NONE))
        out = code.b.select(is_none, const(0), value)
        turn.next = code.b.select(is_out, out, turn.value)
        with code.when(is_out):
            code.store(code.add(code.load(used), 1), used)
        with code.when(code.b.not_(is_out)):
            take_named(code, name, value, known, used)
    defaults = code.load(call, CallBlock.DEFAULTS)
    with code.loop(n_inputs) as i:
        place = code.at(bound, i)
        with code.when(code.compare(code.load(place), "==", 0), likely=False):
            default = code.load(code.at(defaults, i))
            code.leave_if(code.compare(default, "==", 0), REJECTED)
            code.store(default, place)
    complete = code.compare(code.load(used), "==", code.add(nargs, count))
    code.leave(code.b.select(complete, turn.result, const(REJECTED)))


def take_named(
    code: Code, name: Value, value: Value, known: Value, used: Value
) -> None:
    """Write a value to the input of that name, if it is still to be had."""
    call, *_, bound = code.arguments
    with code.loop(code.load(call, CallBlock.N_INPUTS)) as i:
        place = code.at(bound, i)
        own = code.compare(code.load(code.at(known, i)), "==", name)
        with code.when(code.b.and_(own, code.compare(code.load(place), "==", 0))):
            code.store(value, place)
            code.store(code.add(code.load(used), 1), used)


def count_of(code: Code, names: Value) -> Value:
    """Return the number of arguments by name; there may be no tuple of names."""
    call, *_ = code.arguments
    named = code.compare(names, "!=", 0)
    return code.choose(named, lambda: api(code, call, "PyTuple_Size", names), const(0))


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


# ------------------------------------------------------------ methods

FLAGLESS = 2**63 - 1  # what vectorcall's flag leaves of a number of arguments


def emit_choose(module: Module) -> None:
    """choose(self, args, nargs, names): find the function and enter it."""
    emit_key(module)
    code = module.function("choose", 4)
    instance, args, flagged, names = code.arguments
    bound, place = code.cell(0, MAX_PORTS), code.cell(-1)
    nargs = code.b.and_(flagged, const(FLAGLESS))
    call = code.load_at(instance, INSTANCE_CALL)
    plain = code.load(call, CallBlock.PLAIN)
    with code.when(code.compare(plain, "!=", 0), likely=True):
        result = code.call("enter", plain, args, nargs, names, const(1))
        with code.when(code.compare(result, "!=", REJECTED), likely=True):
            code.leave(result)
    n_state = code.load(call, CallBlock.N_STATE)
    key = code.choose(
        code.compare(nargs, ">=", n_state),
        lambda: code.call("key", call, args, nargs, names, place),
        const(0),
    )
    found = code.choose(
        code.compare(key, "!=", 0), lambda: _find(code, call, key), const(0)
    )
    with code.when(code.compare(found, "==", 0), likely=False):
        code.leave(code.call("hand_over", call, args, nargs, names))
    chosen = code.load_at(found, INSTANCE_CALL)
    with code.loop(n_state) as i:
        code.store(code.load(code.at(args, i)), code.at(bound, i))
    out_at = code.load(place)
    has_out = code.compare(out_at, ">=", 0)
    with code.when(has_out):
        code.store(code.load(code.at(args, out_at)), code.at(bound, n_state))
    only_out = code.b.select(has_out, code.load(call, CallBlock.OUT_NAMES), const(0))
    result = code.call("enter", chosen, bound, n_state, only_out, const(1))
    with code.when(code.compare(result, "!=", REJECTED), likely=True):
        code.leave(result)
    code.leave(code.call("hand_over", call, args, nargs, names))


def _find(code: Code, call: Value, key: Value) -> Value:
    """Return what the dict holds for a key, borrowed, or 0; release the key."""
    table = code.load(call, CallBlock.CHOSEN)
    found = api(code, call, "PyDict_GetItemWithError", table, key)
    api(code, call, "Py_DecRef", key)
    with code.when(code.compare(found, "==", 0), likely=False):
        api(code, call, "PyErr_Clear")  # it cannot be a key
    return found


def emit_key(module: Module) -> None:
    """key(call, args, nargs, names, place): (names, *what is not the state), or 0.

    Writes to ``place`` where out is among the arguments, if it is.
    """
    code = module.function("key", 5, local=True)
    call, args, nargs, names, place = code.arguments
    n_state, none = code.load(call, CallBlock.N_STATE), code.load(call, CallBlock.NONE)
    named = code.compare(names, "!=", 0)
    count = code.choose(named, lambda: api(code, call, "PyTuple_Size", names), const(0))
    with code.loop(count) as i:
        name = api(code, call, "PyTuple_GetItem", names, i)
        is_out = code.compare(name, "==", code.load(call, CallBlock.OUT_NAME))
        with code.when(is_out):
            code.store(code.add(nargs, i), place)
    out_at = code.load(place)
    end = code.add(nargs, count)
    has_out = code.b.zext(code.compare(out_at, ">=", 0), end.type)
    size = code.b.sub(code.add(code.b.sub(end, n_state), 1), has_out)
    key = api(code, call, "PyTuple_New", size)
    with code.when(code.compare(key, "==", 0), likely=False):
        api(code, call, "PyErr_Clear")
        code.leave(0)
    first = code.b.select(named, names, none)
    api(code, call, "Py_IncRef", first)
    api(code, call, "PyTuple_SetItem", key, 0, first)
    with code.fold(code.b.sub(end, n_state), 1) as turn:
        k = code.add(n_state, turn.index)
        is_other = code.compare(k, "!=", out_at)
        with code.when(is_other, likely=True):
            value = code.load(code.at(args, k))
            api(code, call, "Py_IncRef", value)
            api(code, call, "PyTuple_SetItem", key, turn.value, value)
        turn.next = code.add(turn.value, code.b.zext(is_other, k.type))
    code.leave(key)
