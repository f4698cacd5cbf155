"""Real architectures as plain JAX functions, for `kit.sample.trace` alone: nothing here is imported by the kit."""
