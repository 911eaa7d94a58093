"""Signals set flags; the work looks at them between two steps."""

from __future__ import annotations

import gc
import os
import signal

import pytest

from neurobo.running.interrupts import StopFlags


def test_signals_set_flags_and_raise_nothing() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with StopFlags() as flags:
        flags.check()
        os.kill(os.getpid(), signal.SIGINT)
        assert (flags.soon, flags.now) == (True, False)
        flags.check()
        os.kill(os.getpid(), signal.SIGINT)
        assert flags.now
        with pytest.raises(KeyboardInterrupt):
            flags.check()
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_sigterm_stops_now_wherever_it_comes() -> None:
    """Python ignores what is raised in a garbage collection, where JAX has a function called."""

    def collect(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            os.kill(os.getpid(), signal.SIGTERM)

    with StopFlags() as flags:
        gc.callbacks.append(collect)
        try:
            gc.collect()
        finally:
            gc.callbacks.remove(collect)
        assert flags.now


def test_one_that_nobody_looks_at_leaves_the_way_free_for_the_next() -> None:
    with StopFlags():
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        assert signal.getsignal(signal.SIGINT) is not signal.SIG_DFL
