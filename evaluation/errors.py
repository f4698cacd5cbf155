"""The one kind of error for what a user did wrong; programmer errors stay ordinary exceptions."""


class InputError(Exception):
    """Something the user gave is wrong.

    The message says what is wrong, where, and how to mend it; the command line prints it without a
    traceback and ends with exit status 1.
    """


class InvalidSubmission(InputError):
    """A submission file cannot be scored as it is."""
