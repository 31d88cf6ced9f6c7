"""Draw the quadruped of the tutorial: it falls, lands and stands.

python examples/pictures/standing.py docs/images/standing.png
"""

import re
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "standing_robot.md"


def main() -> None:
    """Run the first blocks of the page, and save their picture."""
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    scope: dict = {}
    exec("\n".join(blocks[:3]), scope)
    scope["axes"].figure.savefig(sys.argv[1], dpi=110)


if __name__ == "__main__":
    main()
