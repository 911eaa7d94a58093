"""Floats, integers and categories together, some evaluations fail, and the run can be resumed."""

import math
import tempfile
from pathlib import Path
from typing import Any

import neurobo

SPACE = {
    "learning_rate": neurobo.Float(1e-5, 1e-1, log=True),
    "dropout": neurobo.Float(0.0, 0.5, step=0.05),
    "layers": neurobo.Int(1, 8),
    "width": neurobo.Int(16, 1024, log=True),
    "activation": neurobo.Categorical(["relu", "tanh", "gelu"]),
}


def validation_loss(p: dict[str, Any]) -> float:
    """Stands for a training run. Very large networks run out of memory."""
    if p["layers"] * p["width"] > 6000:
        raise MemoryError("the network does not fit")
    rate = (math.log10(p["learning_rate"]) + 2.5) ** 2
    size = (math.log2(p["layers"] * p["width"]) - 10) ** 2 / 20
    return rate + size + (p["dropout"] - 0.2) ** 2 + 0.2 * (p["activation"] != "gelu")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        storage = f"sqlite:///{Path(folder) / 'study.db'}"
        for budget in (12, 20):  # the second call goes on where the first one stopped
            study = neurobo.minimize(
                validation_loss, SPACE, budget, seed=0, storage=storage, study_name="tuning"
            )
        print(len(study.trials), "trials, best:", study.best_params, round(study.best_value, 4))
