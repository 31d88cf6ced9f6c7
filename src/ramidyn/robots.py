"""Robots by name: those in the founding papers, and trees of any shape.

    humanoid30, chain30        Featherstone 2005: 30 degrees of freedom
    featherstone_tree1         the same, Fig. 1: seven bodies
    asimo                      Wensing, Featherstone & Orin 2012
    chang_khatib24             Chang & Khatib 2000: two arms, 24 joints
    hmmwv                      Negrut, Serban & Potra 1997: a vehicle with loops
    tractor_semitrailer        a larger one: ten wheels, 20 loops
    chain, binary_tree, square_grid, chain_with_side_branches, random_tree
    load_description           a robot of the package robot_descriptions

Each of the others takes ``geometry="general"`` (random, seeded) or ``"plain"`` and
returns a `Robot`; `ramidyn.catalog.paper_robots` has them as descriptions. "general" is
the default; the vehicle is "plain".

>>> from ramidyn import robots
>>> robots.humanoid30("plain").nv
30
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import ParamSpec

from ramidyn.catalog import paper_robots as catalog
from ramidyn.description.description import Description
from ramidyn.loading import load_description
from ramidyn.robot import Robot

P = ParamSpec("P")

__all__ = [
    "asimo",
    "binary_tree",
    "chain",
    "chain30",
    "chain_with_side_branches",
    "chang_khatib24",
    "featherstone_tree1",
    "hmmwv",
    "humanoid30",
    "load_description",
    "random_tree",
    "square_grid",
    "tractor_semitrailer",
]


def __dir__() -> list[str]:
    return __all__


GEOMETRY = """
``geometry="plain"`` has joint axes along x, y or z, parallel frames, and simple solids
as bodies. ``"general"`` has random placements and inertias instead, of about the same
size, by ``seed``, as the operation counts of the papers assume.
"""


def _robot(describe: Callable[P, Description]) -> Callable[P, Robot]:
    signature = inspect.signature(describe)

    @functools.wraps(describe)
    def robot(*args: P.args, **kwargs: P.kwargs) -> Robot:
        return Robot.from_description(describe(*args, **kwargs))

    if "geometry" in signature.parameters:
        robot.__doc__ = f"{inspect.getdoc(describe)}\n{GEOMETRY}"
    robot.__module__ = __name__
    robot.__annotations__["return"] = "Robot"
    robot.__dict__["__signature__"] = signature.replace(return_annotation="Robot")
    return robot


featherstone_tree1 = _robot(catalog.featherstone_tree1)
humanoid30 = _robot(catalog.humanoid30)
chain30 = _robot(catalog.chain30)
asimo = _robot(catalog.asimo)
chang_khatib24 = _robot(catalog.chang_khatib24)
hmmwv = _robot(catalog.hmmwv)
tractor_semitrailer = _robot(catalog.tractor_semitrailer)
chain = _robot(catalog.chain)
chain_with_side_branches = _robot(catalog.chain_with_side_branches)
binary_tree = _robot(catalog.binary_tree)
square_grid = _robot(catalog.square_grid)
random_tree = _robot(catalog.random_tree)
