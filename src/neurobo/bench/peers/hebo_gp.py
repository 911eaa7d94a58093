"""HEBO in an environment of its own, because its dependencies clash with everybody else's."""

from __future__ import annotations

import json
import math
import os
import subprocess
import tempfile
import weakref
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from neurobo.bench.peers.base import Method, Task
from neurobo.bench.peers.plain import PlainSpace
from neurobo.bench.problem import Evaluation
from neurobo.errors import MissingPackage, NeuroboError
from neurobo.space.search_space import Params

PYTHON = "NEUROBO_HEBO_PYTHON"
"""Environment variable: the interpreter of the environment that has HEBO."""
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
SERVER = Path(__file__).with_name("hebo_server.py")


class Hebo:
    """Asks and tells a HEBO in a process of its own, which ends with this object."""

    def __init__(self, task: Task) -> None:
        self._space = PlainSpace(task.space)
        self._process, self._errors = _serve()
        weakref.finalize(self, _end, self._process, self._errors)
        plain = [asdict(p) for p in self._space.parameters]
        for entry in plain:
            del entry["distribution"]
        self.versions: dict[str, str] = self._call(
            "start", parameters=plain, seed=task.seed % 2**32, n_start=task.n_start
        )
        """Of the other environment."""

    def ask(self) -> Params:
        return self._space.params(self._call("ask"))

    def tell(self, params: Params, outcome: Evaluation) -> None:
        value = outcome.value if math.isfinite(outcome.value) else None
        self._call("tell", numbers=self._space.numbers(params), value=value)

    def _call(self, do: str, **given: Any) -> Any:
        requests, replies = self._process.stdin, self._process.stdout
        assert requests is not None
        assert replies is not None
        try:
            requests.write(json.dumps({"do": do, **given}) + "\n")
            requests.flush()
        except BrokenPipeError:
            pass  # its last words say why
        line = replies.readline()
        if not line:
            self._errors.seek(0)
            raise NeuroboError(f"HEBO must answer, but it stopped: {self._errors.read()[-2000:]}")
        return json.loads(line)


def _serve() -> tuple[subprocess.Popen[str], IO[str]]:
    """The process, and the file of its last words."""
    python = os.environ.get(PYTHON)
    if not python:
        raise MissingPackage(
            f"HEBO needs an environment of its own; {SERVER.name} says how to make it, and the "
            f"variable {PYTHON} must name its interpreter, got none"
        )
    errors = tempfile.TemporaryFile("w+")  # noqa: SIM115  # closed by _end
    try:
        process = subprocess.Popen(
            [python, "-I", str(SERVER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={**os.environ, **ONE_THREAD},
        )
    except OSError as error:
        errors.close()
        raise MissingPackage(
            f"{PYTHON} must name an interpreter, got {python!r}: {error}"
        ) from error
    return process, errors


def _end(process: subprocess.Popen[str], errors: IO[str]) -> None:
    for stream in (process.stdin, process.stdout, errors):
        if stream is not None:
            stream.close()
    process.terminate()
    process.wait()


METHODS = (
    Method(
        "hebo",
        "HEBO: a Gaussian process on warped values, with an ensemble of acquisitions.",
        Hebo,
        packages=("HEBO",),
        handles=frozenset({"mixed"}),
    ),
)
