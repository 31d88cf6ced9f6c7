"""Time other libraries, and compare their answers before."""

from __future__ import annotations

import numpy as np

from ramify.cli.peers import Peer, State
from ramify.cli.screen import call_time
from ramify.cli.selfcheck import relative
from ramify.compiling import compile


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
