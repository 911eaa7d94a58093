"""neurobo's sampler as an OptunaHub package; the code is in the package `neurobo`."""

from neurobo import NeuroSampler

__all__ = ["NeuroSampler"]
