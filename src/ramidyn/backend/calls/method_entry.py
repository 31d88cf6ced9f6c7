"""The function that Python calls when arguments select what is compiled.

    choose(self, args, nargs, names) -> result

A Method that was called without options enters that function, if the arguments fit.
Otherwise ``f(q, "hand", out=J)`` takes the state first. The other arguments, with their
names, are the key of a dict of functions; the one found is called with the state and
``out``. Python handles a key that is new or not hashable.
"""

from __future__ import annotations

from ramidyn.backend.calls.arrays import REJECTED, api
from ramidyn.backend.llvm.word_builder import Code, Module, Value, const
from ramidyn.backend.runtime.memory_layout import INSTANCE_CALL, MAX_PORTS, Call

FLAGLESS = 2**63 - 1  # what vectorcall's flag leaves of a number of arguments


def emit_choose(module: Module) -> None:
    """choose(self, args, nargs, names): find the function and enter it."""
    emit_key(module)
    code = module.function("choose", 4)
    instance, args, flagged, names = code.arguments
    bound, place = code.cell(0, MAX_PORTS), code.cell(-1)
    nargs = code.b.and_(flagged, const(FLAGLESS))
    call = code.load_at(instance, INSTANCE_CALL)
    plain = code.load(call, Call.PLAIN)
    with code.when(code.compare(plain, "!=", 0), likely=True):
        result = code.call("enter", plain, args, nargs, names, const(1))
        with code.when(code.compare(result, "!=", REJECTED), likely=True):
            code.leave(result)
    n_state = code.load(call, Call.N_STATE)
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
    with code.when(code.compare(out_at, "<", 0)):
        code.leave(code.call("enter", chosen, bound, n_state, const(0), const(0)))
    code.store(code.load(code.at(args, out_at)), code.at(bound, n_state))
    only_out = code.load(call, Call.OUT_NAMES)
    code.leave(code.call("enter", chosen, bound, n_state, only_out, const(0)))


def _find(code: Code, call: Value, key: Value) -> Value:
    """Return what the dict holds for a key, borrowed, or 0; release the key."""
    table = code.load(call, Call.CHOSEN)
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
    n_state, none = code.load(call, Call.N_STATE), code.load(call, Call.NONE)
    named = code.compare(names, "!=", 0)
    count = code.choose(named, lambda: api(code, call, "PyTuple_Size", names), const(0))
    with code.loop(count) as i:
        name = api(code, call, "PyTuple_GetItem", names, i)
        is_out = code.compare(name, "==", code.load(call, Call.OUT_NAME))
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
