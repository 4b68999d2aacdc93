"""Mathematical programs of the sampled problem in Pyomo, and the one place that calls HiGHS."""
