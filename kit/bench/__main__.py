"""``python -m kit.bench [NAME ...]``: run benchmarks and print one table."""

import argparse
import importlib
import os
import platform

BENCHES = {"reading": "kit.bench.reading", "hlo": "kit.bench.hlo", "unpacking": "kit.bench.unpacking",
           "prediction": "kit.bench.prediction", "partition": "kit.bench.partition", "cluster": "kit.bench.cluster",
           "growth": "kit.bench.growth", "learning": "kit.bench.learning", "whole": "kit.bench.whole",
           "peers": "kit.bench.peers", "store": "kit.bench.store", "plan": "kit.bench.plan",
           "scoring": "evaluation.bench"}


def main():
    """Run the benchmarks named on the command line, or all."""
    parser = argparse.ArgumentParser(prog="python -m kit.bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHES)} (default: all)")
    names = parser.parse_args().names or list(BENCHES)
    unknown = set(names) - set(BENCHES)
    if unknown:
        parser.error(f"unknown benchmark {', '.join(sorted(unknown))}; there are {', '.join(BENCHES)}")
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}\n")
    print("| what | figure | note |\n| --- | --- | --- |")
    for name in names:
        for row in importlib.import_module(BENCHES[name]).rows():
            print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
