"""Data to learn from: sizes, and what is held out."""

import numpy as np

from depl.instances.training.data import breast_cancer, digits


def test_every_fourth_digit_is_held_out():
    from sklearn.datasets import load_digits

    material = digits()
    assert material.train.inputs.shape == (64, 1348)
    assert material.test.inputs.shape == (64, 449)
    assert np.array_equal(material.test.labels[0], load_digits().target[3::4])
    assert np.abs(material.test.inputs[:, 0] * 0.375 + 0.3 - load_digits().data[3] / 16).max() < 1e-6
    assert sorted(set(material.train.groups)) == list(range(10))
    assert material.train.inputs.dtype == np.float32


def test_columns_of_the_table_are_standardised_by_the_training_rows():
    material = breast_cancer()
    assert material.train.inputs.shape == (30, 427)
    assert material.test.inputs.shape == (30, 142)
    assert np.abs(material.train.inputs.mean(axis=1)).max() < 1e-5
    assert np.abs(material.train.inputs.std(axis=1) - 1).max() < 1e-5
    assert material.classes == 2
