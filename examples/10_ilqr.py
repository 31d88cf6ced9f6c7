"""Reach with an arm by iLQR: the derivatives of a whole trajectory in one call.

Prints the cost of each iteration, and how far the arm is from its goal at the end.
"""

import numpy as np

from ramidyn.builder import Body, Inertia, Joint, RobotBuilder

builder, parent = RobotBuilder("arm"), "world"
for name, axis in (("base", (0, 0, 1)), ("upper", (0, 1, 0)), ("lower", (0, 1, 0))):
    box = Inertia.from_box(2.0, (0.1, 0.1, 0.4), at=(0.0, 0.0, 0.2))
    joint = Joint.revolute(axis)
    builder.add(Body(name, box), parent, joint, (0.0, 0.0, 0.4))
    parent = name
robot = builder.robot()
nv, steps, dt = robot.nv, 100, 0.02
goal = np.array([0.5, 1.0, -1.5, 0.0, 0.0, 0.0])
state_cost, torque_cost = np.array([20.0] * nv + [1.0] * nv), 1e-2
last_cost = 50.0 * state_cost


def rollout(tau, old=None, K=None, k=None, size=0.0):
    """Return states and torques, with feedback about an old trajectory."""
    x, u = [np.zeros(2 * nv)], tau.copy()
    for t in range(steps):
        if old is not None:
            u[t] += size * k[t] + K[t] @ (x[t] - old[t])
        q, qd = x[t][:nv], x[t][nv:]
        qd = qd + dt * robot.forward_dynamics(q, qd, u[t])
        x.append(np.concatenate([robot.integrate(q, qd, dt), qd]))
    return np.array(x), u


def cost(x, u):
    """Return the cost of a trajectory."""
    e = (x - goal) ** 2
    on_the_way = (state_cost * e[:-1]).sum() + torque_cost * (u**2).sum()
    return 0.5 * (dt * on_the_way + last_cost @ e[-1])


x, u = rollout(np.zeros((steps, nv)))
for iteration in range(4):
    A, B = robot.linearize(x[:-1, :nv], x[:-1, nv:], u, dt)  # all steps at once
    V, v = np.diag(last_cost), last_cost * (x[-1] - goal)
    K, k = np.zeros((steps, nv, 2 * nv)), np.zeros((steps, nv))
    for t in reversed(range(steps)):
        Qx = dt * state_cost * (x[t] - goal) + A[t].T @ v
        Qu = dt * torque_cost * u[t] + B[t].T @ v
        Quu = dt * torque_cost * np.eye(nv) + B[t].T @ V @ B[t]
        Qux = B[t].T @ V @ A[t]
        K[t], k[t] = -np.linalg.solve(Quu, Qux), -np.linalg.solve(Quu, Qu)
        v = Qx + Qux.T @ k[t]
        V = dt * np.diag(state_cost) + A[t].T @ V @ A[t] + Qux.T @ K[t]
        V = 0.5 * (V + V.T)
    tried = [rollout(u, x, K, k, 0.5**n) for n in range(5)]
    x, u = min([(x, u), *tried], key=lambda found: cost(*found))
    print(f"iteration {iteration + 1}: cost {cost(x, u):.4f}")
print(f"distance to the goal: {np.abs(x[-1] - goal).max():.4f}")
