"""Rankers: the protocol, the registry and the baselines."""
