"""One BLAS thread while a suggestion is made.

JAX factorises matrices with SciPy's OpenBLAS. Its threads wait actively for each other, and for the
sizes here they lose more than they gain: beside a second busy process on two cores, a 200-trial run
took 415 s with them and 32 s without. The limit is lifted as soon as the suggestion is made.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_environment = dict(os.environ)
from threadpoolctl import OpenBLASController, ThreadpoolController  # noqa: E402

for _name in os.environ.keys() - _environment.keys():  # it sets a variable when imported
    del os.environ[_name]

_lock = threading.Lock()
_inside = 0  # suggestions under way in this process, in any thread
_limit: Any = None
_found: tuple[int, Any] = 0, None
"""How many modules were imported when the libraries were looked for, and those found."""


def _libraries() -> Any:
    """To look through all that is loaded takes milliseconds; a new BLAS comes with a new module."""
    global _found
    if _found[0] != len(sys.modules):
        _found = len(sys.modules), ThreadpoolController()
    return _found[1]


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread until the last of overlapping uses has ended.

    threadpoolctl lets only the first thread that sets a limit lift it again, and overlapping limits
    restore each other's. Counting makes one pair of calls of them, whichever threads make it.
    """
    global _inside, _limit
    with _lock:
        _inside += 1
        if _inside == 1:
            OpenBLASController.clear_controlling_thread(force=True)
            _limit = _libraries().limit(limits=1, user_api="blas")
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                OpenBLASController.clear_controlling_thread(force=True)
                _limit.restore_original_limits()
                OpenBLASController.clear_controlling_thread(force=True)
