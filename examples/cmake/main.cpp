// Drops a humanoid: prints the acceleration of its base, which is that of gravity, for
// one state and for a thousand states in one call.
#include <cstdio>
#include <vector>

#include "robot.h"

int main() {
  const int nq = 31, nv = 30, states = 1000;
  std::vector<double> q(states * nq, 0.0), qd(states * nv, 0.0), tau(states * nv, 0.0);
  std::vector<double> qdd(states * nv);
  for (int i = 0; i < states; ++i) q[i * nq + 6] = 1.0;  // quaternion x, y, z, w

  if (robot(q.data(), qd.data(), tau.data(), qdd.data()) != 0) return 1;
  std::printf("one state: %.6f m/s^2\n", qdd[2]);

  if (robot_batch(states, q.data(), qd.data(), tau.data(), qdd.data()) != 0) return 1;
  std::printf("the last of %d: %.6f m/s^2\n", states, qdd[(states - 1) * nv + 2]);
  return 0;
}
