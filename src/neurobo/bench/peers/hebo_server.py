"""Stand-alone: HEBO behind lines of JSON, run by the interpreter of an environment of its own.

HEBO wants NumPy below 1.25 and old versions of `cma` and others, so it cannot live beside the rest:

    python3.11 -m venv .venv-hebo
    .venv-hebo/bin/pip install HEBO==0.3.6 torch==2.13.0 numpy==1.24.4 'scipy<1.13' \
        'pandas<2.3' 'scikit-learn<1.5' 'matplotlib<3.9' 'GPy<1.14' 'gpytorch<1.15' \
        'autograd<1.7' 'contourpy<1.3' 'setuptools<80'
    export NEUROBO_HEBO_PYTHON=$PWD/.venv-hebo/bin/python

Nothing of neurobo may be imported here. Each request line gets one reply line.
"""

import importlib.metadata
import json
import os
import random
import sys
import warnings
from typing import Any

PACKAGES = ("HEBO", "numpy", "torch", "gpytorch", "pymoo", "scikit-learn")
TYPES = {
    ("float", False): "num",
    ("float", True): "pow",
    ("int", False): "int",
    ("int", True): "pow_int",
}


def parameter(plain: dict[str, Any]) -> dict[str, Any]:
    if plain["kind"] == "choice":
        numbers = list(range(int(plain["high"]) + 1))
        return {"name": plain["name"], "type": "cat", "categories": numbers}
    kind = TYPES[plain["kind"], plain["log"]]
    return {"name": plain["name"], "type": kind, "lb": plain["low"], "ub": plain["high"]}


class Server:
    """One run of HEBO with its defaults; a request names the method to call."""

    def start(self, parameters: list[dict[str, Any]], seed: int, n_start: int) -> dict[str, str]:
        versions = {name: importlib.metadata.version(name) for name in PACKAGES}
        import numpy as np
        import pandas as pd
        import torch
        from hebo.design_space.design_space import DesignSpace
        from hebo.optimizers.hebo import HEBO

        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        torch.manual_seed(seed)
        self.frame, self.array = pd.DataFrame, np.array
        space = DesignSpace().parse([parameter(p) for p in parameters])
        # The start design takes the place of HEBO's own random points.
        self.hebo = HEBO(space, rand_sample=n_start, scramble_seed=seed)
        return versions

    def ask(self) -> dict[str, float]:
        row = self.hebo.suggest(n_suggestions=1).iloc[0]
        return {name: float(row[name]) for name in row.index}

    def tell(self, numbers: dict[str, float], value: float | None) -> None:
        # HEBO itself leaves out what is not finite.
        known = float("nan") if value is None else value
        self.hebo.observe(self.frame([numbers]), self.array([[known]]))


def main() -> None:
    # What libraries print must not get between the replies.
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    server = Server()
    for line in sys.stdin:
        request = json.loads(line)
        result = getattr(server, request.pop("do"))(**request)
        replies.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
