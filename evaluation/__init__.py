"""What judges: parsing, validating and scoring submissions, and the leaderboard. Imports nothing from ``kit``."""

__version__ = "0.1.0"
