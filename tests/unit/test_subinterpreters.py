"""A subinterpreter is refused by a sentence, and its process goes on."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import sys
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
run = getattr(interpreters, "exec", None) or interpreters.run_string
other = interpreters.create()
text = '''
try:
    import ramidyn
except ImportError as error:
    print(error, flush=True)
'''
failed = run(other, text)
assert failed is None, failed
import ramidyn
print(ramidyn.robots.chain(3).nv)
"""


def test_a_subinterpreter_is_refused_by_a_sentence() -> None:
    said = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False
    )
    assert said.returncode == 0, said.stderr
    assert said.stdout.splitlines() == [
        "Ramidyn cannot be imported in a subinterpreter: NumPy does not support them. "
        "Use threads (a batch runs without the GIL) or processes",
        "3",
    ]
