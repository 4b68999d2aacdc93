"""Run the command line: ``python -m depl``."""

from depl.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
