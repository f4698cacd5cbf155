"""The embedded, simulated data set."""
