"""Train the digits classifier that the image problems are about, and store its weights.

    python benchmarks/make_digits_classifier.py

They are stored, rather than trained where they are needed, so that the problems are the same
functions on every machine. The images come with scikit-learn (UCI, CC BY 4.0).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

from neurobo.bench.problems.images import TRAINED_ON
from neurobo.bench.problems.stored import FOLDER

inputs, labels = load_digits(return_X_y=True)
inputs = inputs / 16
model = MLPClassifier(
    (32,), activation="tanh", alpha=0.1, solver="lbfgs", max_iter=1000, random_state=0
)
model.fit(inputs[:TRAINED_ON], labels[:TRAINED_ON])
names = ("first", "first_bias", "second", "second_bias")
weights = (model.coefs_[0], model.intercepts_[0], model.coefs_[1], model.intercepts_[1])
path = Path(str(FOLDER)) / "digits_classifier.npz"
np.savez_compressed(path, **{n: w.astype(np.float32) for n, w in zip(names, weights, strict=True)})
unseen = model.score(inputs[TRAINED_ON:], labels[TRAINED_ON:])
print(f"{path.name}: {path.stat().st_size} bytes, {unseen:.1%} right on unseen images")
