"""Mathematical programming for dependable distributed training.

Plans which data, which model at which epoch and which cluster to train on, so that the final loss meets a
target with a target probability at minimum cost, and proves how good its plans are.
"""
