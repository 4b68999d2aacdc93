"""The benchmark cases, one file each.

A file defines ``CASE``, a `depl.benchmarks.runner.registry.Case`; nothing else has to be edited to add one.
"""
