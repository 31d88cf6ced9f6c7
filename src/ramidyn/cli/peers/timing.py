"""Time other libraries, after comparing their results with ours."""

from __future__ import annotations

import numpy as np

from ramidyn.cli.peers import Peer, State
from ramidyn.cli.screen import best_of, call_time
from ramidyn.cli.selfcheck import relative
from ramidyn.compiler import compile


def answer_error(other: Peer, name: str, state: State) -> float:
    """Return how far apart we are on some states, by the largest entry."""
    answer = next(a for a in other.answers(()) if a.quantity.name == name)
    f = compile(answer.quantity, other.robot)
    ours = f(*(getattr(state, v.name) for v in f.program.inputs))
    theirs = np.array([answer.theirs(state[k]) for k in range(len(state))])
    return relative(ours, theirs)


def peer_time(other: Peer, name: str, state: State, duration: float) -> float | None:
    """Return the time of one call of another library, from Python."""
    call = other.caller(name, state)
    return None if call is None else call_time(call, duration)


def peer_loop_time(
    other: Peer, name: str, states: State, duration: float
) -> float | None:
    """Return the time of a state in a loop from Python that keeps every result.

    What a batch is to libraries that have none; the inputs are converted beforehand.
    """
    found = [other.caller(name, states[k]) for k in range(len(states))]
    calls = [call for call in found if call is not None]
    if not calls:
        return None
    kept = np.empty((len(states), *np.asarray(calls[0]()).shape))

    def loop() -> None:
        for k, call in enumerate(calls):
            kept[k] = call()

    return best_of(loop, duration) / len(states)
