"""``ramidyn sample``: write random states and their dynamics to disk."""

from __future__ import annotations

from pathlib import Path

import click

from ramidyn.cli.bulk import bulk_options, check_outputs, chunk_of, function_of, run_job
from ramidyn.cli.robots import RobotFile, robot_argument
from ramidyn.cli.screen import show_warnings
from ramidyn.errors import Error
from ramidyn.out_of_core.chunks import Job, default_chunk
from ramidyn.out_of_core.sinks import check_suffix


@click.command("sample")
@robot_argument
@click.option(
    "-n", "--number", "number", type=float, required=True, help="How many states: 1e6.",
)  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed.")
@bulk_options
def command(
    robot: str,
    number: float,
    seed: int,
    names: tuple[str, ...],
    output: str,
    chunk: int | None,
    resume: bool,
    overwrite: bool,
    workers: int,
    scheduler: str | None,
    **options: str,
) -> None:
    """Write random states within limits, and quantities of them.

    States are the inputs of the quantities. They depend on the seed, not on chunks or
    workers.

    Example: ramidyn sample robot.urdf -n 1e6 -f forward_dynamics -o data.zarr
    """
    if number < 1 or number != int(number):
        raise Error(f"-n is {number:g}; expected a whole number of states, 1 or more")
    if seed < 0:
        raise Error(f"--seed is {seed}; expected 0 or more")
    file = RobotFile(robot, **options)
    loaded = file.load()
    show_warnings(loaded.warnings)
    if loaded.model.loops:
        raise Error(
            f"robot {loaded.name!r} has closed loops; random states would not close "
            "them"
        )
    check_suffix(Path(output))
    check_outputs(output, file.path)
    function, inputs, results = function_of(names, loaded, workers, scheduler)
    for name, _ in inputs:
        if name not in ("q", "qd", "qdd", "tau"):
            raise Error(f"{name!r} cannot be drawn; possible: q, qd, qdd and tau")
    chunk = chunk_of(output, chunk, resume)
    outputs = (*inputs, *results)
    job = Job(
        function,
        inputs,
        outputs,
        int(number),
        chunk or default_chunk((), outputs),
        "float64",
        str(Path(output).resolve()),
        None,
        loaded,
        seed,
    )
    run_job(job, names, loaded, resume, overwrite, workers, scheduler)
