"""The embedded, simulated data set."""

from kit.sample.writer import write

__all__ = ["write"]
