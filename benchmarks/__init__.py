"""What is measured: cases with written goals, the runner, and the committed records of its runs.

A case is one file in `depl.benchmarks.cases`; ``python -m depl.benchmarks`` lists, runs and tabulates them.
"""
