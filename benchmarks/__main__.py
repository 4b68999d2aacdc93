"""``python -m depl.benchmarks`` is ``depl bench``: records from before name it as their command."""

import sys
from collections.abc import Sequence

from depl import cli


def main(arguments: Sequence[str]) -> int:
    """Answer one command line; returns the exit code."""
    return cli.main(["bench", *arguments])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
