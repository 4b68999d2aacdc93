"""The benchmark studies, one file each.

A file defines ``STUDY``, a `depl.benchmarks.measure.registry.Study`; nothing else has to be edited to add
one.
"""
