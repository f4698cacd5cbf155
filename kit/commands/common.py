"""Argument types that several verbs share."""

import argparse
import os
from pathlib import Path


def cores():
    """Processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def last(path):
    """The last part of a path, for suggesting names."""
    return Path(path).resolve().name


def _number(kind, allowed, wanted):
    def parse(text):
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not allowed(value):
            raise argparse.ArgumentTypeError(f"{text!r} is not {wanted}")
        return value

    return parse


positive = _number(int, lambda n: n > 0, "a whole number above 0")
non_negative = _number(int, lambda n: n >= 0, "a whole number from 0")
positive_number = _number(float, lambda x: 0 < x < float("inf"), "a number above 0")
