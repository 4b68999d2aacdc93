"""``python -m depl.benchmarks`` is ``depl bench cases``: records from before name it as their command."""

import sys

from depl.cli import main

if __name__ == "__main__":
    sys.exit(main(["bench", "cases", *sys.argv[1:]]))
