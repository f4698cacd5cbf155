"""The partition track: split a network into pipeline stages, and prove how good the split is."""
