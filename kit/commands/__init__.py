"""The verbs of ``python -m kit``: a module each, with ``arguments(parser)`` and ``run(args)``."""
