"""Leases: the attribute of a trial that says who works on it and until when."""

from __future__ import annotations

import os
import platform
import time
from typing import Any

from optuna.trial import FrozenTrial, TrialState

LEASE = "neurobo:lease"
ATTEMPT = "attempt"
"""The user attribute that counts how often the point was begun."""


def lease(seconds: float, *, by_process: bool) -> dict[str, Any]:
    """A lease from now on; `by_process` if it ends with this process at the latest."""
    found: dict[str, Any] = {"until": time.time() + seconds, "by_process": by_process}
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
    return is_leased(trial) and bool(trial.system_attrs[LEASE].get("by_process"))


def is_leased(trial: FrozenTrial) -> bool:
    """Whether neurobo began the trial; others are none of our business."""
    return trial.state == TrialState.RUNNING and LEASE in trial.system_attrs


def seconds_left(trial: FrozenTrial) -> float:
    """Of a running trial's lease; 0 if its holder is dead."""
    held = trial.system_attrs[LEASE]
    if "pid" in held:
        here, there = _place(os.getpid()), held["place"]
        same_machine = here is not None and here.rpartition(":")[0] == there.rpartition(":")[0]
        if same_machine and _place(held["pid"]) != there:
            return 0.0
    return max(float(held["until"]) - time.time(), 0.0)
