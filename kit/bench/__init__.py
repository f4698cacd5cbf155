"""Benchmarks: what the README claims, measured here; each prints medians and ratios of one run."""
