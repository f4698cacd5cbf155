"""Amounts as people write them: ``16GiB/s``, ``64MiB``, ``50%``."""

import re

from evaluation.errors import InputError

FACTORS = {"": 1, "B": 1} | {f"{prefix}{infix}B": base ** (1 + index) for infix, base in (("", 1000), ("i", 1024))
                             for index, prefix in enumerate("KMGTP")} | {"kB": 1000}
AMOUNT = re.compile(r"\s*([0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?)\s*([A-Za-z]*)\s*")


def parse_bytes(text, what="amount"):
    """Bytes from ``64MiB``, ``1.5GB`` or a plain number.

    Raises
    ------
    InputError
        Naming the text and the units known.
    """
    match = AMOUNT.fullmatch(str(text))
    if not match or match[2] not in FACTORS:
        raise InputError(f"{what} {text!r} is not understood; write a number with B, KB, MB, GB, TB (powers of 1000) "
                         "or KiB, MiB, GiB, TiB (powers of 1024), for example 64MiB")
    return float(match[1]) * FACTORS[match[2]]


def parse_bandwidth(text):
    """Bytes a second from ``16GiB/s``; the ``/s`` may be left out."""
    value = parse_bytes(str(text).removesuffix("/s"), "bandwidth")
    if value <= 0:
        raise InputError(f"bandwidth {text!r} is not positive; write for example 16GiB/s")
    return value


def parse_memory(text):
    """A function (parameter bytes of a graph, k) -> bytes of fast memory of a stage, None = unlimited.

    Parameters
    ----------
    text : str or None
        ``64MiB``; ``50%`` is half of the graph's parameter bytes divided by k; None or ``none`` is unlimited.
    """
    if text is None or str(text).lower() == "none":
        return lambda parameter_bytes, k: None
    if not str(text).endswith("%"):
        size = parse_bytes(text, "memory")
        return lambda parameter_bytes, k: size
    share = parse_bytes(str(text)[:-1], "memory") / 100
    return lambda parameter_bytes, k: share * parameter_bytes / k


def show_bytes(value):
    """``67108864`` -> ``64 MiB``: three digits with a binary unit."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.3g} {unit}"
        value /= 1024
    return f"{value:.4g} TiB"


def show_seconds(value):
    """``0.0123`` -> ``12.3 ms``: four digits with a fitting unit."""
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
        if value * factor >= 1:
            return f"{value * factor:.4g} {unit}"
    return f"{value * 1e9:.4g} ns"
