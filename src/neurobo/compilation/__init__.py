"""Functions that JAX compiles, and the files that keep what it has compiled."""

from neurobo.compilation.programs import compiled as compiled
