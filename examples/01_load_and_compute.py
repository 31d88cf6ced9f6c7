"""Load a robot and compute its dynamics, for one state and a batch.

Prints the robot's tree, the joint forces that hold it still, the error of forward
dynamics after inverse dynamics, and the states per second of a batch.
"""

import time

import numpy as np

import ramidyn

PENDULUM = """
<robot name="double_pendulum">
  <link name="stand"/>
  <link name="upper">
    <inertial><origin xyz="0 0 -0.5"/><mass value="1"/>
      <inertia ixx="0.08" iyy="0.08" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <link name="lower">
    <inertial><origin xyz="0 0 -0.4"/><mass value="0.5"/>
      <inertia ixx="0.03" iyy="0.03" izz="0.005" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="shoulder" type="continuous">
    <parent link="stand"/><child link="upper"/><axis xyz="0 1 0"/></joint>
  <joint name="elbow" type="continuous">
    <parent link="upper"/><child link="lower"/><origin xyz="0 0 -1"/>
    <axis xyz="0 1 0"/></joint>
</robot>
"""


def main() -> None:
    """Run the example."""
    robot = ramidyn.load(PENDULUM)  # a path to a URDF or MJCF file works too
    print(robot)

    q, qd = np.array([0.3, -0.2]), np.zeros(2)
    print("holding torques:", robot.gravity_forces(q).round(3), "N m")

    qdd = np.array([1.0, -2.0])
    tau = robot.inverse_dynamics(q, qd, qdd)
    error = np.abs(robot.forward_dynamics(q, qd, tau) - qdd).max()
    print(f"forward after inverse dynamics: error {error:.1e}")

    n = 100_000
    rng = np.random.default_rng(0)
    q, qd, tau = rng.normal(size=(3, n, robot.nv))
    out = robot.forward_dynamics(q, qd, tau)
    start = time.perf_counter()
    robot.forward_dynamics(q, qd, tau, out=out)
    print(f"{n / (time.perf_counter() - start) / 1e6:.0f} million states per second")


if __name__ == "__main__":
    main()
