"""M⁻¹ times many columns through a loop, on trees of any shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ramidyn.quantities.mass_matrix import MassSolver, solved_columns
from ramidyn.symbolic.calls import unrolled
from ramidyn.symbolic.checker import check
from ramidyn.symbolic.count import count
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.symbolic.program import FRESH, Program
from ramidyn.symbolic.trace import trace
from ramidyn.tree.tree import ROOT, ancestors


def random_tree(n: int, seed: int) -> list[int]:
    """Return parents: mostly chains, with branches on branches, and several roots."""
    rng = np.random.default_rng(seed)
    return [
        k - 1 if k and rng.random() < 0.6 else int(rng.integers(ROOT, k))
        for k in range(n)
    ]


def body_with_limbs(limbs: int, length: int, trunk: int = 3) -> list[int]:
    parents = list(range(ROOT, trunk - 1))
    for _ in range(limbs):
        parents += [trunk - 1, *range(len(parents), len(parents) + length - 1)]
    return parents


TREES = {
    "a chain": list(range(ROOT, 13)),
    "limbs": body_with_limbs(4, 5),
    "hands": [*body_with_limbs(2, 8), *(k for f in range(6) for k in (10, 19 + 2 * f))],
    "two bodies": [
        *body_with_limbs(2, 5),
        *(p + 13 if p != ROOT else ROOT for p in body_with_limbs(3, 4)),
    ],
    **{f"random {seed}": random_tree(16, seed) for seed in range(4)},
}


def related(parents: Sequence[int]) -> Any:
    """Return where M has entries: k and its ancestors, both triangles."""
    found = np.eye(len(parents), dtype=bool)
    for k in range(len(parents)):
        for i in ancestors(parents, k):
            found[k, i] = found[i, k] = True
    return found


def traced(parents: Sequence[int], is_half: bool = True) -> Program:
    """Return the program of M⁻¹ [B 1], B with entries where M has some.

    Of M⁻¹, half of the entries are computed, or all.
    """
    n, pattern = len(parents), related(parents)
    order = tuple(range(n))

    def solution(M: Any, B: Any) -> Any:
        entries = {(i, j): M[i, j] for i in order for j in range(i + 1)}
        sparse = {e: x for e, x in entries.items() if pattern[e]}
        columns = [{i: B[i, c] for i in order if pattern[i, c]} for c in order]
        columns += [{c: 0 * M[0, 0] + 1.0} for c in order]
        solver = MassSolver(sparse, tuple(parents), order)
        return np.array(solved_columns(solver, columns, unit=n if is_half else None))

    return check(trace(solution, {"M": (n, n), "B": (n, n)}))


@pytest.mark.parametrize("name", TREES)
def test_a_loop_solves_for_all_columns(name: str, rng: np.random.Generator) -> None:
    parents = TREES[name]
    n, pattern = len(parents), related(parents)
    M = rng.normal(size=(n, n)) * pattern
    M = M + M.T + 4.0 * n * np.eye(n)
    B = rng.normal(size=(n, n)) * pattern
    program = traced(parents)
    (found,) = evaluate(program, {"M": M, "B": B}).values()
    expected = np.linalg.solve(M, np.hstack([B, np.eye(n)]))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)
    (same,) = evaluate(unrolled(program), {"M": M, "B": B}).values()
    np.testing.assert_array_equal(same, found)


def test_limbs_that_nothing_pushes_follow_their_trunk() -> None:
    """For a column of a limb, the rows of the others have three terms each."""
    (call,) = traced(TREES["limbs"]).calls
    loop = call.value.body
    limbs = [range(k, k + 5) for k in range(3, 23, 5)]
    found: list[int] = []
    for sweep in loop.sweeps:
        pushed = {step.row for step in sweep.steps if step.scale >= 0}
        idle = [k for limb in limbs if pushed.isdisjoint(limb) for k in limb]
        steps = {step.row: step for step in sweep.steps if step.scale == FRESH}
        found += [len(steps[k].terms) for k in idle if k in steps]
    assert len(found) >= 20
    assert set(found) == {3}


def test_a_chain_has_no_limbs_that_follow() -> None:
    program = traced(TREES["a chain"])
    n = len(TREES["a chain"])
    (call,) = program.calls
    assert call.value.body.shared == n * (n - 1) // 2 + n


@pytest.mark.parametrize("name", TREES)
def test_half_of_the_inverse_is_computed_where_that_is_less(name: str) -> None:
    half, whole = (count(traced(TREES[name], is_half)) for is_half in (True, False))
    assert half.total <= whole.total
    if name in ("hands", "random 3"):
        assert half.total < 0.92 * whole.total
