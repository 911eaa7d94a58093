"""How long tests take, so that `make test-quick` can leave out those that take long.

    make durations       # runs the default tests, writes tests/durations.json

Processor time counts: other work on the machine does not change it much. A test that was never
measured counts as quick.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from pathlib import Path

import pytest

FILE = Path(__file__).with_name("durations.json")
QUICK = 0.6
"""Seconds of all cases of a test function together: shorter ones run every time."""
PROPERTY = "processor seconds"
ALWAYS = ("tests/test_style.py",)


def longer() -> dict[str, float]:
    """The test functions that are not quick."""
    return json.loads(FILE.read_text())


def is_quick(node: str, long: dict[str, float]) -> bool:
    return node.startswith(ALWAYS) or function(node) not in long


def function(node: str) -> str:
    """The name of a test without the case."""
    return node.partition("[")[0]


def file(node: str) -> str:
    """The name of the file that a test is in."""
    return node.partition("::")[0]


def of_files(long: dict[str, float]) -> dict[str, float]:
    """Seconds of each file's tests that are not quick. Two processes take whole files, so that
    what one test has compiled serves the next; the longest file comes first, so that neither waits
    for the other at the end."""
    seconds: dict[str, float] = defaultdict(float)
    for name, spent in long.items():
        seconds[file(name)] += spent
    return seconds


class Stopwatch:
    """A pytest plugin that writes how long each test function took, all cases together.

    The process that runs a test measures it, and its report tells the process that writes.
    """

    def __init__(self) -> None:
        self.began = 0.0
        self.seconds: dict[str, float] = defaultdict(float)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self) -> None:
        self.began = _processor()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        if call.when == "teardown":
            item.user_properties.append((PROPERTY, _processor() - self.began))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown":
            self.seconds[function(report.nodeid)] += float(dict(report.user_properties)[PROPERTY])  # type: ignore[arg-type]

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if not hasattr(session.config, "workerinput"):
            long = {name: round(s, 1) for name, s in sorted(self.seconds.items()) if s > QUICK}
            FILE.write_text(json.dumps(long, indent=0) + "\n")


def _processor() -> float:
    """Of this process and its finished children."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
