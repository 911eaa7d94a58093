"""Minimise a Python function of two numbers and draw nothing but the result."""

import numpy as np

import neurobo


def branin(x: np.ndarray) -> float:
    """Three equal valleys; the lowest value is 0.397887."""
    bend = x[1] - 5.1 / (4 * np.pi**2) * x[0] ** 2 + 5 / np.pi * x[0] - 6
    return float(bend**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x[0]) + 10)


if __name__ == "__main__":
    study = neurobo.minimize(branin, [(-5, 10), (0, 15)], n_trials=30, seed=0)
    print(f"lowest value {study.best_value:.4f} at {study.best_params}")
