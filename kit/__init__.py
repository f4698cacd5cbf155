"""What a competitor uses and changes: reading graphs, features, rankers, submissions, the partition track."""

__version__ = "0.1.0"
