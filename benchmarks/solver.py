"""How much sooner does Gauss-Newton reach what Adam reaches in 5000 steps?

    make bench-solver

For each network both solvers get the same data, start and objective (*), in one process with one
thread. "sooner" is the time of Adam's 5000 steps divided by the time Gauss-Newton needs to pass the
value of (*) they reach. Adam runs in single precision, as in the papers, Gauss-Newton in double.
Times are without compilation, which has its own columns.
"""

from __future__ import annotations

import os

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from neurobo.networks.mlp import MLP
from neurobo.training import gauss_newton, gradient_descent
from neurobo.training.blas_threads import one_blas_thread
from neurobo.training.problem import TrainingProblem
from neurobo.training.residuals import ValueRows

CASES = [(64, MLP(5000, 1, "tanh")), (128, MLP(256, 2, "relu")), (256, MLP(1024, 1, "tanh"))]
DIM, STEPS, RIDGE, GAMMA = 6, 5000, 1e-2, 1.5


def pose(n: int, network: MLP) -> TrainingProblem:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (n, DIM))
    y = np.sin(3 * x[:, 0]) + x[:, 1] * x[:, 2] + 0.1 * rng.normal(size=n)
    y = (y - y.mean()) / y.std()
    rows = ValueRows(network, jnp.array([GAMMA, GAMMA]), jnp.asarray(x))
    theta0 = jax.jit(network.init, static_argnums=1)(jax.random.key(1), DIM)
    return TrainingProblem(rows, jnp.asarray(y), jnp.ones(n), jnp.asarray(RIDGE), theta0)


def timed(call: Callable[[], Any], repeats: int) -> tuple[Any, float]:
    """The result and the median time of calls after the first, which may compile."""
    times = []
    for _ in range(repeats + 1):
        began = time.perf_counter()
        result = jax.block_until_ready(call())
        times.append(time.perf_counter() - began)
    return result, float(np.median(times[1:]))


def compilation(function: Any, *arguments: Any) -> float:
    began = time.perf_counter()
    function.lower(*arguments).compile()
    return time.perf_counter() - began


def steps_to_pass(problem: TrainingProblem, goal: float) -> int:
    for steps in range(1, 61):
        if gauss_newton.gauss_newton(problem, max_steps=steps, tolerance=0.0).objective <= goal:
            return steps
    raise SystemExit(f"Gauss-Newton did not reach {goal} in 60 steps")


def compare(n: int, network: MLP) -> list[str]:
    with jax.enable_x64(True):
        problem = pose(n, network)
        adam_compile = compilation(gradient_descent._adam, problem, STEPS, 1e-3)
        newton_compile = compilation(gauss_newton._step, problem, gauss_newton.first_state(problem))
        (_, (reached, _)), adam = timed(lambda: gradient_descent._adam(problem, STEPS, 1e-3), 1)
        goal = float(reached)
    with jax.enable_x64(True), one_blas_thread():
        steps = steps_to_pass(problem, goal)
        _, newton = timed(
            lambda: gauss_newton.gauss_newton(problem, max_steps=steps, tolerance=0.0), 7
        )
        end = gauss_newton.gauss_newton(problem, max_steps=60, tolerance=1e-6).objective
    return [
        str(n),
        f"{network.depth}×{network.width} {network.activation}",
        f"{goal:.4g}",
        f"{adam:.2f}",
        f"{newton:.3f} ({steps} steps)",
        f"**{adam / newton:.0f}×**",
        f"{end:.4g}",
        f"{adam_compile:.1f}",
        f"{newton_compile:.1f}",
    ]


def main() -> None:
    heads = ["rows", "network", "Adam's (*)", "Adam s", "Gauss-Newton s", "sooner"]
    heads += ["(*) in the end", "compile Adam s", "compile GN s"]
    print(f"{DIM} inputs, σ² = {RIDGE}, γ = {GAMMA}, one thread\n")
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|", flush=True)
    for n, network in CASES:
        print("| " + " | ".join(compare(n, network)) + " |", flush=True)


if __name__ == "__main__":
    main()
