"""Which cluster trains each epoch, and with how many resources, the models being given: stage 3 (Sec. IV-C).

Read `problem` (epochs grouped into classes, so that nothing grows with K), `dual` (the price of time, a lower
bound at any price), `rounding` (one class rounded at most) and `place` (the method) in this order; `opening`
and `charging` treat transfers, `proof` closes the gap of small problems, `relaxation`, `compact` and `conic`
are the programs for HiGHS and cvxpy, `peers` and `service` what others do and the paper's mapping.
"""
