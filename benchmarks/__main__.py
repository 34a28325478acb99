"""
Run a benchmark: `python -m benchmarks NAME`, or `make bench-NAME`.

To list the options of a benchmark, run `python -m benchmarks NAME --help`.
"""

import sys

from benchmarks import registry
from benchmarks.harness.benchmark import run


def main() -> int:
    """Run the benchmark that the first argument names, and return its exit status."""
    name, *arguments = sys.argv[1:] or ["--help"]
    if name in {"-h", "--help"}:
        print(f"{__doc__}\nNAME is one of {', '.join(registry.MODULES)}.")
        return 0
    if name not in registry.MODULES:
        print(f"error: {name!r} is not a benchmark; use one of {', '.join(registry.MODULES)}", file=sys.stderr)
        return 2
    return run(name, registry.load(name), arguments)


if __name__ == "__main__":
    sys.exit(main())
