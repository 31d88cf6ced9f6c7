"""``ramidyn map`` and ``sample``: quantities of many states on disk, in chunks."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from ramidyn.cli.arguments import (
    RobotFile,
    check_output,
    quantity_named,
    robot_argument,
)
from ramidyn.cli.screen import paragraph, show_warnings, wrap_text
from ramidyn.compiler import compile
from ramidyn.errors import Error
from ramidyn.function import Function
from ramidyn.out_of_core.chunks import Job, Journal, default_chunk
from ramidyn.out_of_core.run import connected, prepare, run
from ramidyn.out_of_core.sinks import check_suffix
from ramidyn.out_of_core.sources import Shapes, open_source
from ramidyn.progress import compile_progress_hidden
from ramidyn.robot import Robot

MOST_WORKERS: Final = 1024
"""processes on one machine: more are a slip of the keyboard"""

Command = TypeVar("Command", bound=Callable[..., Any])


def bulk_options(command: Command) -> Command:
    """Add the options that both commands have."""
    options = (
        click.option(
            "-f", "--function", "names", multiple=True, default=["inverse_dynamics"],
            show_default=True, help="A quantity, or quantity:frame; repeatable.",
        ),
        click.option(
            "-o", "--output", required=True, type=click.Path(),
            help="Output: .zarr, .npy or .parquet.",
        ),
        click.option(
            "--chunk", type=click.IntRange(min=1), help="States in a chunk.",
        ),
        click.option(
            "--workers", type=click.IntRange(0, MOST_WORKERS), default=0,
            help="Worker processes on this machine (Dask).",
        ),
        click.option("--scheduler", help="Dask scheduler, such as tcp://host:8786."),
        click.option("--resume", is_flag=True, help="Finish an output begun before."),
        click.option("--overwrite", is_flag=True, help="Replace an existing output."),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def function_of(
    names: tuple[str, ...], robot: Robot, workers: int, scheduler: str | None
) -> tuple[Function, Shapes, Shapes]:
    """Return the compiled function, with its inputs and outputs.

    A worker has one thread; alone, this process uses all cores.
    """
    is_alone = scheduler is None and workers <= 1
    threads = (os.cpu_count() or 1) if is_alone else 1
    wanted = [quantity_named(n) for n in names]
    function = compile(wanted, robot, threads=threads)
    program = function.program
    inputs = tuple((v.name, v.shape) for v in program.inputs)
    outputs = tuple((v.name, v.shape) for v in program.outputs)
    return function, inputs, outputs


def check_outputs(output: str, *inputs: Path | None) -> None:
    """Raise Error where the output, or the folder of its progress, has an input."""
    check_output(output, *inputs)
    check_output(Journal(Path(output).resolve()).folder, *inputs)


def chunk_of(output: str, chunk: int | None, resume: bool) -> int | None:
    """Return the chunk size that is asked for, or that of the output to resume."""
    path = Path(output).resolve()
    journal = Journal(path)
    if chunk is None and resume and path.exists():
        found = journal.plan().get("chunk")
        return found if isinstance(found, int) else None
    return chunk


def run_job(
    job: Job,
    names: tuple[str, ...],
    robot: Robot,
    resume: bool,
    overwrite: bool,
    workers: int,
    scheduler: str | None,
) -> None:
    """Run a job with a progress bar, and say what was done."""
    plan: dict[str, Any] = {
        "robot": f"{robot.name} {robot.fingerprint}",
        "functions": list(names),
        "states": f"random, seed {job.seed}" if job.source is None else "from a file",
        "rows": job.rows,
        "chunk": job.chunk,
    }
    with connected(workers, scheduler) as client:
        todo, corrupt = prepare(job, plan, resume=resume, overwrite=overwrite)
        _show_corrupt(corrupt)
        _run(job, todo, client)


def _show_corrupt(corrupt: tuple[int, ...]) -> None:
    if corrupt:
        shown = ", ".join(map(str, corrupt[:10])) + (", ..." if corrupt[10:] else "")
        message = (
            f"{len(corrupt)} chunks have changed since they were written, and are "
            f"computed again: {shown}"
        )
        click.echo(f"ramidyn: {message}", err=True)


def _run(job: Job, todo: list[int], client: object) -> None:
    start, kept = time.perf_counter(), job.chunks - len(todo)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f}%"),
        TimeRemainingColumn(),
        console=Console(file=sys.stderr),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
    rows = 0
    with compile_progress_hidden(), bar:
        task = bar.add_task("states", total=job.rows, completed=kept * job.chunk)

        def step(count: int) -> None:
            nonlocal rows
            rows += count
            bar.advance(task, count)

        run(job, todo, step, client)
    seconds = time.perf_counter() - start
    rate = f", {rows / seconds:,.0f} states/s" if rows else ""
    earlier = f"; {kept} chunks were there already" if kept else ""
    paragraph(
        wrap_text(
            f"{Path(job.output).name}: {job.rows:,} states in {job.chunks} chunks, "
            f"{rows:,} computed in {seconds:.1f} s{rate}{earlier}"
        )
    )


@click.command("map")
@robot_argument
@click.argument("states", type=click.Path())
@bulk_options
def map_command(
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


@click.command("sample")
@robot_argument
@click.option(
    "-n", "--number", "number", type=float, required=True, help="How many states: 1e6.",
)  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed.")
@bulk_options
def sample_command(
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
    if not 1 <= number < 2**53 or number % 1:
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
