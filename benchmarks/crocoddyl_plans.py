"""Plans by Crocoddyl, in an environment of its own: see `optimal_control.py`.

    python benchmarks/crocoddyl_plans.py problems.json results.json

Each problem is solved by FDDP on one thread from the same first motion, again and
again; the shortest processor time of an iteration counts.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import crocoddyl  # type: ignore[import-not-found]
import numpy as np
import pinocchio  # type: ignore[import-not-found]


def model_of(problem: dict[str, Any]) -> Any:
    """Return the robot, without the joints that are locked at zero."""
    root = (pinocchio.JointModelFreeFlyer(),) if problem["floating"] else ()
    model = pinocchio.buildModelFromUrdf(problem["urdf"], *root)
    locked = [model.getJointId(name) for name in problem["locked"]]
    if locked:
        model = pinocchio.buildReducedModel(model, locked, pinocchio.neutral(model))
    return model


def shooting_problem(given: dict[str, Any]) -> Any:
    """Return the problem: weighted squares of x and u, feet that are pinned."""
    model = model_of(given)
    state = crocoddyl.StateMultibody(model)
    kind = "FloatingBase" if given["floating"] else "Full"
    actuation = getattr(crocoddyl, f"ActuationModel{kind}")(state)
    nu, rest = actuation.nu, np.zeros(model.nv)
    goal = np.concatenate([given["goal"], rest])

    def squares(weights: Any, residual: Any) -> Any:
        # half of a sum of squares is Crocoddyl's, the whole is ours
        activation = crocoddyl.ActivationModelWeightedQuad(2.0 * np.array(weights))
        return crocoddyl.CostModelResidual(state, activation, residual)

    def dynamics(weights: Any, effort: float) -> Any:
        costs = crocoddyl.CostModelSum(state, nu)
        difference = crocoddyl.ResidualModelState(state, goal, nu)
        costs.addCost("x", squares(weights, difference), 1.0)
        if effort:
            control = crocoddyl.ResidualModelControl(state, nu)
            costs.addCost("u", squares([effort] * nu, control), 1.0)
        if not given["feet"]:
            return crocoddyl.DifferentialActionModelFreeFwdDynamics(
                state, actuation, costs
            )
        contacts = crocoddyl.ContactModelMultiple(state, nu)
        axes = pinocchio.LOCAL_WORLD_ALIGNED
        for foot in given["feet"]:
            contact = crocoddyl.ContactModel3D(
                state, model.getFrameId(foot), np.zeros(3), axes, nu, np.zeros(2)
            )
            contacts.addContact(foot, contact)
        return crocoddyl.DifferentialActionModelContactFwdDynamics(
            state, actuation, contacts, costs, 0.0, False
        )

    running = dynamics(given["weights"], given["effort"])
    last = dynamics(given["final_weights"], 0.0)
    step = crocoddyl.IntegratedActionModelEuler(running, given["dt"])
    end = crocoddyl.IntegratedActionModelEuler(last, 0.0)
    first = np.concatenate([given["q"], rest])
    problem = crocoddyl.ShootingProblem(first, [step] * given["steps"], end)
    problem.nthreads = 1
    return problem


def solve(given: dict[str, Any]) -> dict[str, Any]:
    """Return the plan, and the time of an iteration."""
    problem = shooting_problem(given)
    u = [np.array(row) for row in given["u"]]
    x = list(problem.rollout(u))
    solver = crocoddyl.SolverFDDP(problem)
    solver.th_stop = 1e-14
    seconds: list[float] = []
    for _ in range(given["repeats"]):
        begin = time.process_time()
        solver.solve(x, u, 100, True)
        seconds.append((time.process_time() - begin) / max(1, solver.iter))
    return {
        "cost": solver.cost,
        "iterations": solver.iter,
        "microseconds": 1e6 * min(seconds),
        "x": [row.tolist() for row in solver.xs],
        "u": [row.tolist() for row in solver.us],
    }


def main() -> None:
    source, target = map(Path, sys.argv[1:])
    problems = json.loads(source.read_text())
    found = {name: solve(problem) for name, problem in problems.items()}
    target.write_text(json.dumps(found))


main()  # only optimal_control.py runs this file: it is not a benchmark by itself
