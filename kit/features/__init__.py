"""Polars pipelines from graphs to feature tables."""
