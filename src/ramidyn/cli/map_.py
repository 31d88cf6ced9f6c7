"""``ramidyn map``: compute quantities of states on disk, chunk by chunk."""

from __future__ import annotations

from pathlib import Path

import click

from ramidyn.cli.bulk import bulk_options, check_outputs, chunk_of, function_of, run_job
from ramidyn.cli.robots import RobotFile, robot_argument
from ramidyn.cli.screen import show_warnings
from ramidyn.errors import Error
from ramidyn.out_of_core.chunks import Job, default_chunk
from ramidyn.out_of_core.sinks import check_suffix
from ramidyn.out_of_core.sources import open_source


@click.command("map")
@robot_argument
@click.argument("states", type=click.Path())
@bulk_options
def command(
    robot: str,
    states: str,
    names: tuple[str, ...],
    output: str,
    chunk: int | None,
    resume: bool,
    overwrite: bool,
    workers: int,
    scheduler: str | None,
    **options: str,
) -> None:
    """Compute quantities of the states in a .zarr, .npy, .npz or .parquet file.

    Example: ramidyn map robot.urdf states.zarr -f inverse_dynamics -o tau.zarr
    """
    file = RobotFile(robot, **options)
    loaded = file.load()
    show_warnings(loaded.warnings)
    check_suffix(Path(output))
    check_outputs(output, file.path, Path(states))
    function, inputs, outputs = function_of(names, loaded, workers, scheduler)
    chunk = chunk_of(output, chunk, resume)
    source = open_source(Path(states), inputs)
    if source.rows == 0:
        raise Error(f"{states}: there are no states in it")
    job = Job(
        function,
        inputs,
        outputs,
        source.rows,
        min(chunk or default_chunk(inputs, outputs), source.rows),
        "float64",
        str(Path(output).resolve()),
        str(Path(states).resolve()),
    )
    del source  # workers open it themselves
    run_job(job, names, loaded, resume, overwrite, workers, scheduler)
