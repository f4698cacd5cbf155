"""The verbs of ``python -m evaluation``: each module has ``arguments(parser)`` and ``run(args)``."""
