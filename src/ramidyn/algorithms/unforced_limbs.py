"""How joints follow the trunk of their branch, when nothing pushes the branch itself.

With M = Lᵀ D L, the rows of L x = 0 beyond a joint c say how x there depends on x of c
and its ancestors, the trunk:

    x_k = −Σ L_ki x_i      over all ancestors i of k
        =  Σ W_ki x_i      over c and the ancestors of c

W has as many entries as the trunk is long, however far out k is.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from ramidyn.algorithms.crba import TreeEntries
from ramidyn.symbolic.dense import total
from ramidyn.symbolic.expr import Expr

Rules = dict[int, dict[int, Expr]]
"""W_k, by where its trunk ends"""


def following(
    k: int,
    L: TreeEntries,
    above: Sequence[Sequence[int]],
    trunks: Container[int],
    W: Mapping[int, Rules],
) -> Rules:
    """Return W_k of those ancestors of k that are in ``trunks``, nearest first.

    Args:
        k: a joint.
        L: the factor.
        above: the ancestors of each joint, its parent first.
        trunks: where trunks end.
        W: the rules of the joints between k and those places.
    """
    found: Rules = {}
    rule = {i: -L[k, i] for i in above[k]}
    for c in above[k]:
        if c in trunks:
            trunk = (c, *above[c])
            between = [m for m in rule if m not in trunk]
            rule = {
                i: rule[i] + total(rule[m] * W[m][c][i] for m in between) for i in trunk
            }
            found[c] = rule
    return found
