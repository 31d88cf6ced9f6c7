"""Run a job: in this process, in worker processes, or on a Dask cluster; and resume."""

from __future__ import annotations

import contextlib
import errno
import importlib
import itertools
import logging
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from ramidyn.errors import Error, install_command
from ramidyn.out_of_core.chunks import Job, Journal, run_chunk
from ramidyn.out_of_core.sources import Source, one_line

ANSWER_SECONDS: Final = 8
"""within which a scheduler must answer"""
LOOPBACK: Final = "127.0.0.1"

Progress = Callable[[int], None]
"""told the rows of a finished chunk"""


def prepare(
    job: Job, plan: dict[str, Any], *, resume: bool, overwrite: bool
) -> tuple[list[int], tuple[int, ...]]:
    """Create the output, or check the one to resume; return the chunks to compute.

    Raises:
        Error: the output exists, or is of another plan or of other states.
    """
    output = Path(job.output)
    journal = Journal(output)
    if not (resume and output.exists()):
        if output.exists() and not overwrite:
            raise Error(f"{output}: exists; use --resume to finish it, or --overwrite")
        output.parent.mkdir(parents=True, exist_ok=True)
        # Nothing may claim chunks of what is being removed.
        journal.clear()
        job.sink().create()
        journal.start(plan)
        return list(range(job.chunks)), ()
    before = journal.plan()
    changed = [key for key in plan if before.get(key) != plan[key]]
    if changed:
        shown = ", ".join(f"{k} was {before.get(k)!r}, is {plan[k]!r}" for k in changed)
        raise Error(
            f"{output}: --resume, but it was begun otherwise: {shown}; use --overwrite"
        )
    sink, source = job.sink(), job.opened_source()
    todo: list[int] = []
    corrupt: list[int] = []
    for chunk in range(job.chunks):
        match journal.state(chunk, sink):
            case "done":
                if source is not None:
                    _check_states(job, source, journal, chunk)
                continue
            case "corrupt":
                journal.forget(chunk)
                corrupt.append(chunk)
            case _:
                pass
        todo.append(chunk)
    if len(todo) == job.chunks:  # nothing of it is valid
        sink.create()
    return todo, tuple(corrupt)


def _check_states(job: Job, source: Source, journal: Journal, chunk: int) -> None:
    if not journal.is_of(chunk, job.read(source, chunk)):
        first, end = job.bounds(chunk)
        raise Error(
            f"{job.output}: --resume, but states {first:,} to {end - 1:,} of "
            f"{job.source} have changed since their results were written, which would "
            "mix old and new results; use --overwrite"
        )


def run(job: Job, todo: Sequence[int], progress: Progress, client: Any = None) -> None:
    """Compute chunks: here, or by the workers of a client of Dask.

    Raises:
        Error: the disk is full; what is finished stays valid.
    """
    payload = job.payload()
    try:
        for chunk in _finished(payload, todo, client):
            progress(min((chunk + 1) * job.chunk, job.rows) - chunk * job.chunk)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise Error(
                f"{job.output}: the disk is full ({error.strerror}). Finished chunks "
                "stay valid: make room and run again with --resume"
            ) from None
        raise


def _finished(payload: bytes, todo: Sequence[int], client: Any) -> Iterator[int]:
    if client is None:
        yield from (run_chunk(payload, chunk) for chunk in todo)
        return
    count = max(len(client.scheduler_info(n_workers=-1)["workers"]), 1)
    rest = iter(todo)

    def submit(chunk: int) -> Any:
        # Writing a chunk twice is writing the same bytes: that of a lost worker is
        # simply computed again.
        return client.submit(run_chunk, payload, chunk, pure=False, retries=2)

    first = [submit(chunk) for chunk in itertools.islice(rest, 3 * count)]
    waiting = _distributed().as_completed(first)
    for future in waiting:
        yield int(future.result())
        for chunk in itertools.islice(rest, 1):
            waiting.add(submit(chunk))


def _distributed() -> Any:
    try:
        return importlib.import_module("distributed")
    except ImportError:
        raise Error(
            "worker processes and schedulers need the package distributed: "
            f"{install_command('bulk')}"
        ) from None


@contextlib.contextmanager
def connected(workers: int, scheduler: str | None) -> Generator[Any]:
    """Yield a client: of a scheduler, of worker processes here, or None for neither.

    Raises:
        Error: the scheduler does not answer.
    """
    if scheduler is None and workers <= 1:
        yield None
        return
    distributed = _distributed()
    if scheduler is None:
        with (
            distributed.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                dashboard_address=f"{LOOPBACK}:0",
                silence_logs=logging.CRITICAL,
                host=LOOPBACK,
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client
        return
    try:
        client = distributed.Client(scheduler, timeout=ANSWER_SECONDS)
    except (OSError, ValueError, TimeoutError) as error:
        said = one_line(error)[:200]
        raise Error(
            f"no Dask scheduler answers at {scheduler} ({said}); start one with "
            "`dask scheduler`, and workers with `dask worker`"
        ) from None
    with client:
        yield client
