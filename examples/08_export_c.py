"""Export a robot's dynamics as C, check it and run it.

Prints the files written, one step of the code, and the error relative to the compiled
kernel.
"""

import shutil
import subprocess
import tempfile
from pathlib import Path

import ramidyn
from ramidyn import robots


def main() -> None:
    """Run the example."""
    robot = robots.chain(6, "plain")
    with tempfile.TemporaryDirectory() as folder:
        exported = ramidyn.export_c(
            [ramidyn.mass_matrix, ramidyn.bias_forces],
            robot,
            Path(folder) / "arm",
            name="arm_dynamics",
        )
        print(f"{exported.ops}; at most {exported.stack_bytes} bytes of stack")
        for path in sorted(exported.folder.iterdir()):
            print(f"  {path.name:20} {path.stat().st_size:7,} bytes")

        lines = exported.source.read_text().splitlines()
        start = next(
            k for k, line in enumerate(lines) if "static void net_force" in line
        )
        print("\n".join(lines[start - 1 : lines.index("}", start) + 1]))

        if shutil.which("cc") is None:
            print("no C compiler here: not checked")
            return
        print(exported.check())
        program = Path(folder) / "example"
        sources = [str(exported.source), str(exported.example)]
        subprocess.run(["cc", "-O2", *sources, "-lm", "-o", str(program)], check=True)
        done = subprocess.run(
            [str(program)], capture_output=True, text=True, check=True
        )
        print("\n".join(done.stdout.splitlines()[:3]))


if __name__ == "__main__":
    main()
