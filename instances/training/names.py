"""The names of the families of traces; `depl.instances.training.families` says what each of them trains."""

DIGITS_ALEXNET = "digits-alexnet"
DIGITS_MOBILENET = "digits-mobilenet"
DIGITS_ALEXNET_SLOW = "digits-alexnet-slow"
DIGITS_MOBILENET_SLOW = "digits-mobilenet-slow"
CELLS_PERCEPTRON = "cells-perceptron"

SHIPPED = (
    DIGITS_ALEXNET,
    DIGITS_MOBILENET,
    DIGITS_ALEXNET_SLOW,
    DIGITS_MOBILENET_SLOW,
    CELLS_PERCEPTRON,
)
"""Families that can be trained; their data comes with scikit-learn."""

RECORDED_ONLY = ("digits-adam", "digits-cosine", "zen-attention")
"""Families whose recorded traces are shipped, and which depl trained up to commit 7d4333a5."""
