"""Draw a box that is thrown, tumbles and comes to rest, with the forces of the ground.

python examples/pictures/contact.py docs/images/contact.png
"""

import sys

import numpy as np

from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.contacts import ContactBox

SIZE = (0.3, 0.2, 0.1)


def main() -> None:
    """Throw it, and draw it at five times."""
    builder = RobotBuilder("box")
    body = Body("box", Inertia.from_box(2.0, SIZE))
    builder.add(body, joint=Joint.floating())
    hull = ContactBox("box", SIZE, friction=0.5, restitution=0.3)
    box = builder.robot().add_contact(hull, name="hull")
    q = np.array([0, 0, 0.5, 0, 0, 0, 1])
    run = box.simulate(q, [2.0, 0, 1.0, 1, 8, 2], dt=1e-3, duration=1.5)
    times = [0.0, 0.12, 0.24, 0.36, 1.5]
    axes = run.draw(times, layers=["contacts"], trails=["box"], view=(14, -75))
    axes.get_legend().remove()
    axes.figure.savefig(sys.argv[1], dpi=110, bbox_inches="tight")


if __name__ == "__main__":
    main()
