"""Many runs, each in a process of its own with one thread, finished ones kept and not repeated."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Protocol

from neurobo.bench.records import Job, Record, Store, read_line

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}
"""More threads than cores make small linear algebra slower, and one run must not slow another."""


class Display(Protocol):
    """Watches the runs."""

    def began(self, job: Job) -> None: ...
    def at(self, job: Job, evaluation: int) -> None: ...
    def ended(self, record: Record) -> None: ...


class Quiet:
    def began(self, job: Job) -> None: ...
    def at(self, job: Job, evaluation: int) -> None: ...
    def ended(self, record: Record) -> None: ...


def missing(jobs: Sequence[Job], store: Store, *, retry: bool = False) -> list[Job]:
    """The jobs without a record; with `retry`, those whose run broke off count as missing."""
    done = {record.job for record in store.read() if not (retry and record.error)}
    return [job for job in dict.fromkeys(jobs) if job not in done]


def run_all(
    jobs: Sequence[Job],
    store: Store,
    *,
    processes: int = 1,
    timeout: float | None = None,
    display: Display | None = None,
) -> None:
    """Run the jobs, at most `processes` at a time; each record is stored as its run ends.

    Killing this at any moment loses the runs in flight and nothing else.
    """
    display = display or Quiet()
    waiting = list(reversed(jobs))
    with ThreadPoolExecutor(processes) as pool, _Processes() as started:
        flying: set[Future[Record]] = set()
        while waiting or flying:
            while waiting and len(flying) < processes:
                job = waiting.pop()
                display.began(job)
                flying.add(pool.submit(_run, job, store.folder, started, timeout, display))
            done, flying = wait(flying, return_when=FIRST_COMPLETED)
            for future in done:
                record = future.result()
                store.append(record)
                display.ended(record)


class _Processes:
    """The running processes, ended when the harness leaves for any reason."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[str]] = set()
        self._lock = threading.Lock()
        self._closed = False

    def __enter__(self) -> _Processes:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._closed = True
            for process in self._running:
                process.kill()

    @contextmanager
    def run(self, command: list[str], **how: object) -> Iterator[subprocess.Popen[str]]:
        with self._lock:
            if self._closed:
                raise RuntimeError("the harness is stopping")
            process = subprocess.Popen(command, text=True, **how)  # type: ignore[call-overload]
            self._running.add(process)
        try:
            with process:
                try:
                    yield process
                finally:
                    process.kill()
        finally:
            with self._lock:
                self._running.discard(process)


def _run(
    job: Job, folder: Path, started: _Processes, timeout: float | None, display: Display
) -> Record:
    """One job in a fresh process; whatever happens there becomes a record."""
    late = threading.Event()
    last = ""
    with (
        tempfile.TemporaryFile("w+", errors="replace") as complaints,
        started.run(
            [sys.executable, "-m", "neurobo.bench.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            env={**os.environ, **ONE_THREAD},
        ) as process,
    ):

        def stop() -> None:
            late.set()
            process.kill()

        watch = threading.Timer(timeout or 0, stop)
        watch.daemon = True
        if timeout is not None:
            watch.start()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            # Standard input stays open: its end tells the worker that we are gone.
            print(json.dumps({"job": asdict(job), "folder": str(folder)}), file=process.stdin)
            process.stdin.flush()
        except BrokenPipeError:
            pass  # it died at once; what it said follows
        for line in process.stdout:
            last = line
            if line.strip().isdigit():
                display.at(job, int(line))
        watch.cancel()
        if last.startswith("{"):
            return read_line(last)
        if late.is_set():
            return Record(job, error=f"stopped after {timeout:g} seconds")
        complaints.seek(0)
        said = complaints.read().strip().splitlines()[-3:]
        return Record(
            job, error=f"the process ended with code {process.wait()}: {' | '.join(said)}"
        )
