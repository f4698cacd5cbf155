"""The verbs of ``python -m kit``: each module has ``arguments(parser)`` and ``run(args)``, and no logic of its own."""
