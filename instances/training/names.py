"""The names of the families of traces; `depl.instances.training.families` says what each of them trains."""

DIGITS_ALEXNET = "digits-alexnet"
DIGITS_MOBILENET = "digits-mobilenet"
DIGITS_ALEXNET_SLOW = "digits-alexnet-slow"
DIGITS_MOBILENET_SLOW = "digits-mobilenet-slow"
DIGITS_ADAM = "digits-adam"
DIGITS_COSINE = "digits-cosine"
CELLS_PERCEPTRON = "cells-perceptron"
ZEN_ATTENTION = "zen-attention"
CIFAR_ALEXNET = "cifar-alexnet"
CIFAR_MOBILENET = "cifar-mobilenet"

SHIPPED = (
    DIGITS_ALEXNET,
    DIGITS_MOBILENET,
    DIGITS_ALEXNET_SLOW,
    DIGITS_MOBILENET_SLOW,
    DIGITS_ADAM,
    DIGITS_COSINE,
    CELLS_PERCEPTRON,
    ZEN_ATTENTION,
)
"""Families whose data comes with depl or scikit-learn."""

BROUGHT = (CIFAR_ALEXNET, CIFAR_MOBILENET)
"""Families whose data the user has to bring."""
