from __future__ import annotations

import threading

import numpy as np
from threadpoolctl import ThreadpoolController, threadpool_limits

from neurobo.threads import one_blas_thread


def _threads() -> set[int]:
    return {lib["num_threads"] for lib in ThreadpoolController().select(user_api="blas").info()}


def test_overlapping_limits_end_where_they_began() -> None:
    assert np.linalg.det(np.eye(2)) == 1  # BLAS is loaded
    with threadpool_limits(2):
        before = _threads()
        entered, leave = threading.Event(), threading.Event()

        def other() -> None:
            with one_blas_thread():
                entered.set()
                leave.wait(10)

        thread = threading.Thread(target=other)
        with one_blas_thread():
            assert _threads() == {1}
            thread.start()
            assert entered.wait(10)
        assert _threads() == {1}  # the other one is still inside
        leave.set()
        thread.join()
        assert _threads() == before
