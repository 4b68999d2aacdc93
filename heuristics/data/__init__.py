"""Which data to use: stage 1 of the paper, min of K^(D) T^(D) over nonempty sets (Sec. IV-A, eq. 7).

Read `epochs_needed` (K^), `problem` (T^, and how both follow from an instance), `conditions` (when the
product is submodular, and when that makes it trivial) and `select` (which rule proves what), in this order.
"""
