"""What is measured: cases with written goals, the runner, and the committed records of its runs.

``depl bench`` lists and runs all of it: cases (one file each in `depl.benchmarks.studies`), suites and their
sweeps, and the behaviour record.
"""
