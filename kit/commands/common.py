"""Argument types that several verbs share."""

import argparse
import os
import re
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

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}


LEAST = 500_000_000  # bytes; nothing could be done within less


def memory(text):
    """Bytes, at least `LEAST`, of an amount such as ``8GB``, ``512MiB`` or ``2000000000``."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?I?)B?", text.strip().upper())
    size = int(float(match[1]) * _UNITS[match[2]]) if match and match[2] in _UNITS else 0
    if size <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no amount of memory; write for example 8GB or 512MiB")
    if size < LEAST:
        raise argparse.ArgumentTypeError(f"{text!r} is less than one process takes with its libraries; allow at least "
                                         "500MB")
    return size
