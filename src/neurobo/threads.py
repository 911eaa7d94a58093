"""One BLAS thread while a suggestion is made.

JAX factorises matrices with SciPy's OpenBLAS. Its threads wait actively for each other, and for the
sizes here they lose more than they gain: with a second busy process on two cores, a 200-trial run
took 415 s instead of 32 s. The limit is lifted as soon as the suggestion is made.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = threading.Lock()
_inside = 0  # suggestions under way in this process, in any thread
_limit: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread until the last of overlapping uses has ended."""
    global _inside, _limit
    with _lock:
        _inside += 1
        if _inside == 1:
            _limit = ThreadpoolController().limit(limits=1, user_api="blas")
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _limit.restore_original_limits()
