"""The pictures of docs/gallery.md: what the surrogates believe after a few observations.

python benchmarks/gallery.py            # writes docs/pictures/*.png; some minutes
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import neurobo

HERE = Path(__file__).parents[1] / "docs" / "pictures"
SPACE = {"x": (0.0, 1.0)}


def objective(x: float) -> float:
    """Wiggly on the left, a broad bowl on the right."""
    return float(np.sin(12 * x) * np.exp(-2 * x) + 0.8 * (x - 0.7) ** 2)


class Members:
    """Single members of an ensemble, fresh ones for each draw, like the other panels."""

    def __init__(self, **options: Any) -> None:
        self.decide = neurobo.DeepEnsemble(acquisition="draw", **options).decide


def panels(path: Path, where: np.ndarray, algorithms: dict[str, Any], draws: int) -> None:
    history = [({"x": float(x)}, objective(x)) for x in where]
    line = np.linspace(0, 1, 400)
    rows = -(-len(algorithms) // 2)
    figure = Figure(figsize=(9, 3 * rows), layout="constrained")
    axes = figure.subplots(rows, 2, sharex=True, sharey=True).ravel()
    for axis, (title, algorithm) in zip(axes, algorithms.items(), strict=True):
        neurobo.plots.bands(SPACE, history, algorithm=algorithm, draws=draws, samples=60, axis=axis)
        axis.plot(line, [objective(x) for x in line], "k--", linewidth=1, label="objective")
        axis.set_title(title, fontsize=10, loc="left")
        axis.set_ylim(-1.6, 2.2)
        axis.label_outer()
        if axis is not axes[0]:
            axis.get_legend().remove()
    axes[0].legend(frameon=False, fontsize=8, ncols=2, loc="upper right")
    HERE.mkdir(exist_ok=True)
    figure.savefig(path, dpi=90, metadata={"Software": None})


def main() -> None:
    greedy: dict[str, Any] = {"restless": False, "noise": 0.0}
    panels(
        HERE / "bands.png",
        np.array([0.05, 0.12, 0.2, 0.28, 0.6, 0.66, 0.95]),
        {
            "neural-greedy (SimpleSMB), γ by evidence": neurobo.NeuralGreedy(**greedy),
            "neural-greedy-posterior (PosteriorSMB)": neurobo.NeuralGreedy(
                surrogate="posterior", **greedy
            ),
            "neural-greedy with γ = 1: too smooth, too sure": neurobo.NeuralGreedy(
                gamma=1.0, **greedy
            ),
            "ntk-gp: infinitely wide network, exact": neurobo.NTKGP(ard=False, noise=0.0),
            "neural-ucb: gradients of a trained network": neurobo.NeuralBandit(),
            "neural-linear-ts: its last hidden layer": neurobo.NeuralLinear(),
        },
        draws=6,
    )
    relu: dict[str, Any] = {"activation": "relu", "depth": 2, "width": 256, "gamma": "evidence"}
    panels(
        HERE / "draws.png",
        np.array([0.02, 0.1, 0.45, 0.5, 0.56, 0.9]),
        {
            "Deep ensemble: trained from random starts": Members(**relu),
            "STO-BNTS: with the tangent's random part": neurobo.STOBNTS(),
            "STO-BNTS-Linear: the tangent alone": neurobo.STOBNTS(linear=True),
            "ntk-gp with an infinitely wide ReLU network": neurobo.NTKGP(
                activation="relu", depth=2, ard=False
            ),
        },
        draws=20,
    )


if __name__ == "__main__":
    main()
