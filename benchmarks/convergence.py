"""The picture of README.md: `auto` against peers, from the kept runs of the suite `peers`.

    python benchmarks/convergence.py

Reads benchmarks/reference/finals/peers.csv and writes docs/pictures/convergence.png; runs nothing.
Each panel is a problem; a line is the median of the simple regret over the seeds, its band the
quartiles.
"""

from __future__ import annotations

from pathlib import Path

import finals
import matplotlib
import numpy as np
from jaxtyping import Float

matplotlib.use("agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import StrMethodFormatter

PICTURE = Path(__file__).parent.parent / "docs" / "pictures" / "convergence.png"
PROBLEMS = {
    "branin-2+shift": "Branin, 2 parameters",
    "hartmann-6+shift": "Hartmann, 6",
    "styblinski-tang-10+shift": "Styblinski–Tang, 10",
    "levy-15+shift": "Levy, 15",
    "ackley-20+shift": "Ackley, 20",
    "rosenbrock-40+shift": "Rosenbrock, 40",
}
"""All problems of the suite that every method ran on: good and bad ones."""
METHODS = {
    "auto": ("neurobo auto", "#3f51b5"),
    "botorch-logei": ("BoTorch log EI", "#e65100"),
    "optuna-gp": ("Optuna GP", "#00897b"),
    "optuna-tpe": ("Optuna TPE", "#8d6e63"),
    "nevergrad-ngopt": ("Nevergrad NGOpt", "#c2185b"),
    "random": ("random search", "#9e9e9e"),
}


def curves(problem: str, method: str) -> Float[np.ndarray, "seeds budget"]:
    """Simple regret after each evaluation, one row for each kept run."""
    found = [
        finals.curve(row["steps"], int(row["budget"]))
        for row in finals.rows("peers")
        if (row["problem"], row["method"]) == (problem, method)
    ]
    return np.array(found)


def draw() -> None:
    plt.rcParams["font.size"] = 9
    figure, axes = plt.subplots(2, 3, figsize=(9, 5), layout="constrained")
    for axis, (problem, title) in zip(axes.flat, PROBLEMS.items(), strict=True):
        for method, (label, colour) in METHODS.items():
            found = np.maximum(curves(problem, method), 1e-12)
            x = np.arange(1, found.shape[1] + 1)
            low, middle, high = np.percentile(found, [25, 50, 75], axis=0)
            ours = method == "auto"
            width, front = (2.2, 3) if ours else (1.1, 2)
            axis.plot(x, middle, color=colour, lw=width, zorder=front, label=label)
            axis.fill_between(x, low, high, color=colour, alpha=0.18 if ours else 0.08, lw=0)
        axis.set(title=title, yscale="log")
        axis.grid(alpha=0.3)
        low, high = axis.get_ylim()
        if high < 10 * low:  # no power of ten in between
            axis.yaxis.set_minor_formatter(StrMethodFormatter("{x:g}"))
    for axis in axes[1]:
        axis.set_xlabel("evaluations")
    for axis in axes[:, 0]:
        axis.set_ylabel("regret, lower is better")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False)
    figure.savefig(PICTURE, dpi=150)


if __name__ == "__main__":
    draw()
