"""``python -m depl.benchmarks.behaviour`` is ``depl bench behaviour``."""

import sys

from depl.cli import main

if __name__ == "__main__":
    sys.exit(main(["bench", "behaviour", *sys.argv[1:]]))
