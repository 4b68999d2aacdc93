"""Which cluster trains each epoch, and with how many resources, the models being given: stage 3 (Sec. IV-C).

Read `problem` (epochs grouped into classes, so that nothing grows with K), `dual` (the price of time, a lower
bound at any price), `program` (one program for HiGHS, relaxed or whole) and `place` (the method) in order.
"""
