"""Laws that the objective obeys: what users write them with, and surrogates that obey them."""

from neurobo.physics.pde import PDE, d2, directional, divergence, grad, laplacian, partial

__all__ = ["PDE", "d2", "directional", "divergence", "grad", "laplacian", "partial"]

PDE.__module__ = "neurobo"  # stored objects name the path that users have
