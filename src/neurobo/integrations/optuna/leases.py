"""Leases: the attribute of a trial that says who works on it and until when."""

from __future__ import annotations

import math
import os
import platform
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from optuna.trial import FrozenTrial, TrialState

LEASE = "neurobo:lease"


CLOCKS = 300.0
"""Seconds by which the clocks of two machines may differ."""


class Lease(NamedTuple):
    """Who works on a trial and until when."""

    until: float
    """Seconds since 1970, by the clock of whoever holds it."""
    by_process: bool = False
    """Whether a process works on it, rather than a person."""
    pid: int | None = None
    place: str = ""
    """See `_place`; only with a process id."""
    seconds: float | None = None
    """For how long it was given; a process renews it before that."""


def lease_of(trial: FrozenTrial) -> Lease | None:
    """The lease of a running trial; None if it has none, or one that cannot be read."""
    found = trial.system_attrs.get(LEASE)
    if trial.state != TrialState.RUNNING or not isinstance(found, Mapping):
        return None
    until, pid, place = found.get("until"), found.get("pid"), found.get("place")
    if isinstance(until, bool) or not isinstance(until, int | float) or not math.isfinite(until):
        return None
    if not isinstance(pid, int) or pid < 1 or not isinstance(place, str):
        pid, place = None, ""
    seconds = found.get("seconds")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
        seconds = None
    return Lease(until, found.get("by_process") is True, pid, place, seconds)


def lease(seconds: float, *, by_process: bool) -> dict[str, Any]:
    """A lease from now on; `by_process` if it ends with this process at the latest."""
    found: dict[str, Any] = {
        "until": time.time() + seconds, "by_process": by_process, "seconds": seconds,
    }  # fmt: skip
    if by_process and (place := _place(os.getpid())) is not None:
        found |= {"pid": os.getpid(), "place": place}
    return found


def _place(pid: int) -> str | None:
    """The machine, its boot, the name space of process ids, and when the process began: what makes
    a process id unique. None where that cannot be known, or for a process that is no more."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            boot = file.read().strip()
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        if fields[0] == "Z":  # ended, and not yet noticed by its parent
            return None
        return f"{platform.node()}:{boot}:{os.stat('/proc/self/ns/pid').st_ino}:{fields[19]}"
    except OSError:
        return None


def is_evaluated(trial: FrozenTrial) -> bool:
    """Whether a process works on the trial now, not a person."""
    held = lease_of(trial)
    return held is not None and held.by_process


def is_leased(trial: FrozenTrial) -> bool:
    """Whether neurobo began the trial; others are none of our business."""
    return lease_of(trial) is not None


def is_unreadable(trial: FrozenTrial) -> bool:
    """Whether a running trial has something in the place of its lease that is none."""
    running = trial.state == TrialState.RUNNING
    return running and LEASE in trial.system_attrs and lease_of(trial) is None


def is_dead(held: Lease) -> bool:
    """Whether the holder is known to have ended: a process of this machine that is no more."""
    if held.pid is None:
        return False
    here = _place(os.getpid())
    same_machine = here is not None and here.rpartition(":")[0] == held.place.rpartition(":")[0]
    return same_machine and _place(held.pid) != held.place


def seconds_left(trial: FrozenTrial) -> float:
    """Of a running trial's lease; 0 if its holder is dead."""
    held = lease_of(trial)
    if held is None or is_dead(held):
        return 0.0
    return max(held.until - time.time(), 0.0)


class Watch:
    """Tells which leases have run out, without trust in the clocks of other machines.

    A process renews its lease, which changes it. One that has not changed for as long as it was
    given has run out, by the monotonic clock of whoever watches. A lease of a person is not
    renewed: it runs out at its time, and days do not depend on minutes.
    """

    def __init__(self) -> None:
        self._since: dict[int, tuple[float, float]] = {}
        """By trial, how long its lease is and when it was first seen so."""

    def has_run_out(self, trial: FrozenTrial) -> bool:
        held = lease_of(trial)
        if held is None:
            return False
        if is_dead(held):
            return True
        if not held.by_process or held.seconds is None:
            return held.until < time.time()
        until, since = self._since.get(trial.number, (math.nan, 0.0))
        if until != held.until:
            self._since[trial.number] = (held.until, time.monotonic())
            return False
        return time.monotonic() - since > held.seconds

    def forget(self) -> None:
        """Watch leases from now on: none could be renewed while the storage was away."""
        self._since.clear()


class Glance:
    """The same for somebody who looks only once: clocks may differ by minutes."""

    def has_run_out(self, trial: FrozenTrial) -> bool:
        held = lease_of(trial)
        if held is None or is_dead(held):
            return held is not None
        apart = CLOCKS if held.by_process and held.seconds is not None else 0.0
        return held.until + apart < time.time()
