"""A growing history must not recompile the world."""

from __future__ import annotations

from collections import Counter
from typing import Any

import jax
import pytest

import neurobo
from neurobo.compilation import disk, programs
from neurobo.data.observations import bucket


@pytest.mark.slow
@pytest.mark.parametrize("surrogate", ["simple", "posterior"])
def test_a_run_of_130_trials_compiles_each_function_once_per_bucket(
    surrogate: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    traced: Counter[str] = Counter()
    now = "start"
    seen: list[str] = []

    def listen(event: str, duration_secs: float, **about: Any) -> None:
        if event == "/jax/core/compile/jaxpr_trace_duration":
            traced[f"{about['fun_name']} {now}"] += 1

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        monkeypatch.setenv(disk.VARIABLE, "off")  # a program that is loaded is not traced
        programs.forget()
        jax.clear_caches()
        space = {"x": (-5.0, 10.0), "y": (0.0, 15.0), "n": neurobo.Int(0, 9)}
        history: list[Any] = []
        algorithm = neurobo.NeuralGreedy(surrogate=surrogate, width=32, gamma=2.0)
        for i in range(130):
            now = f"at {bucket(len(history))}"
            seen.append(now)
            (p,) = neurobo.suggest(space, history, seed=0, algorithm=algorithm)
            history.append((p, (p["x"] - 1) ** 2 + p["y"] + p["n"] * (i % 3)))
    finally:
        jax.monitoring.clear_event_listeners()

    per_bucket = {"_step"} | ({"values_of"} if surrogate == "posterior" else set())
    names = per_bucket | ONCE
    ours = {k: v for k, v in traced.items() if k.split()[0] in names}
    assert {k.split()[0] for k in ours} == names  # they are the real ones
    assert len(set(seen)) == 3  # 64, 128, 192
    assert all(count == 1 for count in ours.values()), ours
    # Nothing else depends on the number of rows at all.
    per_function = Counter(k.split()[0] for k in ours)
    assert per_function == {name: 3 if name in per_bucket else 1 for name in names}


ONCE = {"random_network", "_normal", "_evaluate", "_descend", "_value_and_gradient"}
