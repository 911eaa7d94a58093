"""How much sooner does Gauss-Newton reach what Adam reaches in 5000 steps?

    make bench-solver

For each network both solvers get the same data, start and objective (*), in the same process, one
thread. "Adam 5000" is the value of (*) after the papers' 5000 steps and its time; "sooner" is that
time divided by the time Gauss-Newton needs to pass that value. Compilation is reported apart.
Adam runs in float64 like Gauss-Newton, and again in float32 as the papers do.
"""

from __future__ import annotations

import os

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from neurobo import solve
from neurobo.networks import MLP
from neurobo.rows import ValueRows

CASES = [(64, MLP(5000, 1, "tanh")), (128, MLP(256, 2, "relu")), (256, MLP(1024, 1, "tanh"))]
DIM, STEPS, RIDGE, GAMMA = 6, 5000, 1e-2, 1.5


def pose(n: int, network: MLP) -> solve.Problem:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (n, DIM))
    y = np.sin(3 * x[:, 0]) + x[:, 1] * x[:, 2] + 0.1 * rng.normal(size=n)
    rows = ValueRows(network, jnp.array([GAMMA, GAMMA]), jnp.asarray(x))
    theta0 = jax.jit(network.init, static_argnums=1)(jax.random.key(1), DIM)
    y = (y - y.mean()) / y.std()
    return solve.Problem(rows, jnp.asarray(y), jnp.ones(n), jnp.asarray(RIDGE), theta0)


def timed(call: Any) -> tuple[Any, float]:
    began = time.perf_counter()
    result = jax.block_until_ready(call())
    return result, time.perf_counter() - began


def adam(problem: solve.Problem) -> tuple[float, float, float]:
    _, first = timed(lambda: solve._adam(problem, 0, 1e-3))  # warms shared code
    _, once = timed(lambda: solve._adam(problem, STEPS, 1e-3))
    (theta, _), again = timed(lambda: solve._adam(problem, STEPS, 1e-3))
    with jax.enable_x64(True):
        values = problem.rows.values(theta)
        exact = solve._objective(problem, problem.ridge, theta, values)[0]
    return float(exact), again, once - again


def gauss_newton(problem: solve.Problem, goal: float) -> tuple[float, int, float, float]:
    """Seconds and steps to pass `goal`, seconds of compilation, and the value in the end."""
    _, first = timed(lambda: solve.gauss_newton(problem, max_steps=1))
    best, steps = np.inf, 0
    for steps in range(1, 41):
        fit = solve.gauss_newton(problem, max_steps=steps, tolerance=0.0)
        if fit.objective <= goal:
            break
    else:
        return np.inf, steps, first, fit.objective
    times = []
    for _ in range(5):
        _, seconds = timed(lambda: solve.gauss_newton(problem, max_steps=steps, tolerance=0.0))
        times.append(seconds)
    best = solve.gauss_newton(problem, max_steps=60, tolerance=1e-6).objective
    return float(np.median(times)), steps, first - times[0] / steps, best


def main() -> None:
    print(f"{DIM} inputs, σ² = {RIDGE}, γ = {GAMMA}, one thread\n")
    print("| rows | network | Adam 5000: (*) | seconds | float32 s | GN passes it after | seconds | "
          "sooner | sooner than float32 | (*) at the end | compile GN / Adam s |")  # fmt: skip
    print("|---" * 11 + "|")
    for n, network in CASES:
        with jax.enable_x64(True):
            problem = pose(n, network)
            goal, slow, adam_compile = adam(problem)
        single = jax.tree.map(lambda a: a.astype(np.float32), problem)
        _, slow32, _ = adam(single)
        with jax.enable_x64(True):
            fast, steps, compile_seconds, end = gauss_newton(problem, goal)
        name = f"{network.depth}×{network.width} {network.activation}"
        print(f"| {n} | {name} | {goal:.5g} | {slow:.2f} | {slow32:.2f} | {steps} steps | {fast:.3f} "
              f"| {slow / fast:.0f}× | {slow32 / fast:.0f}× | {end:.5g} "
              f"| {compile_seconds:.1f} / {adam_compile:.1f} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
