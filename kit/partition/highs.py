"""HiGHS without a word: its constructor prints a banner to standard output, where ``--json`` promises one object."""

import highspy


class Quiet(highspy.Highs):
    """A HiGHS that is silent from the start."""

    def enableCallbacks(self):
        """Silence the solver first: the constructor calls this, and this prints."""
        self.silent()
        super().enableCallbacks()
