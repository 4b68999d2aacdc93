"""What is fast: choosing datasets, models and resources without a proof of optimality.

Stands on `depl.models` alone; every plan made here is judged by the verifier there.
"""
