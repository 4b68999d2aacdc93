"""``python -m depl.benchmarks.behaviour`` is ``depl bench behaviour``."""

import sys
from collections.abc import Sequence

from depl import cli


def main(arguments: Sequence[str]) -> int:
    """Answer one command line; returns the exit code."""
    return cli.main(["bench", "behaviour", *arguments])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
