"""What an experiment's records say, as markdown and as one HTML page."""

from neurobo.bench.report.build import build, write

__all__ = ["build", "write"]
