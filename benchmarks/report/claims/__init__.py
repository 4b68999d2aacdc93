"""The paper's claims, each a small function from evidence to readings; the verdict follows by one rule.

`catalogue` lists and numbers them; `depl.benchmarks.report.verdicts` has the rule.
"""
