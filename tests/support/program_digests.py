"""Print, as JSON, what programs robots give: fingerprints, digests, counts, C text.

Run with the names of shared robots, and ``catalog`` for those of the papers.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import ramidyn
from ramidyn.catalog import paper_robots as catalog
from ramidyn.catalog.general_geometry import GEOMETRIES
from ramidyn.compiler import program_of
from ramidyn.export.c_export import export_c
from ramidyn.loading import load
from ramidyn.robot import Robot
from ramidyn.simplify.passes import simplify
from ramidyn.symbolic.count import count
from ramidyn.tracing.quantity import Quantity
from support.paths import SHARED_ROBOTS
from support.references import path_of

PAPERS = ("humanoid30", "chain30", "asimo", "chang_khatib24", "hmmwv")


def robots(names: list[str]) -> Iterator[tuple[str, Robot]]:
    for name in names:
        if name == "catalog":
            for paper in PAPERS:
                for geometry in GEOMETRIES:
                    made = getattr(catalog, paper)(geometry)
                    yield f"{paper} {geometry}", Robot.from_description(made)
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield name, load(path_of(name))


def quantities(robot: Robot) -> Iterator[Quantity]:
    yield ramidyn.inverse_dynamics
    yield ramidyn.forward_dynamics
    yield ramidyn.mass_matrix
    if robot.loops:
        yield ramidyn.loop_forces
    yield ramidyn.operational_inertia_inverse(robot.body_names[-1])


def found(robot: Robot, folder: str) -> Iterator[tuple[str, object]]:
    yield "fingerprint", robot.fingerprint
    for quantity in quantities(robot):
        yield f"{quantity} digest", program_of(quantity, robot).digest()
        program = simplify(program_of(quantity, robot))
        yield f"{quantity} count", str(count(program))
        made = export_c(quantity, robot, folder, "program", batch=False)
        text = made.source.read_bytes() + made.header.read_bytes()
        yield f"{quantity} C", hashlib.sha256(text).hexdigest()


def main(names: list[str]) -> None:
    out: dict[str, dict[str, object]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, robot in robots(names):
            out[name] = dict(found(robot, str(Path(folder) / name.replace(" ", "_"))))
    print(json.dumps(out))


if __name__ == "__main__":
    assert SHARED_ROBOTS.is_dir() or sys.argv[1:] == ["catalog"]
    main(sys.argv[1:])
