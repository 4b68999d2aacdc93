"""What is made for size: datasets, models and resources chosen in turn, with lower bounds that are proved.

The default method `auto`, the loop `depl`, each stage alone, and what they are compared with. Where a bound
meets a cost, the optimum is proved. Stands on `depl.models` alone, whose verifier judges every plan.
"""
