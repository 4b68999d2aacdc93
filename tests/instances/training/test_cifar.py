"""CIFAR-10 from a folder: both versions of its files, made here with the same layout, and what is refused."""

import os
import pickle

import numpy as np
import pytest

from depl.instances.training.cifar import cifar10
from depl.instances.training.families import cifar_family
from depl.instances.training.runs import Epoch, train_run
from depl.models.foundation.errors import InvalidInputError

IMAGES = 12
NAMES = [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]


def batches():
    """Pixels and labels of six files."""
    rng = np.random.default_rng(0)
    for name in NAMES:
        yield name, rng.integers(0, 256, (IMAGES, 3072), dtype=np.uint8), rng.integers(0, 10, IMAGES).tolist()


@pytest.fixture
def pickled(tmp_path):
    """As Python 2 wrote them: protocol 2, keys as bytes."""
    folder = tmp_path / "cifar-10-batches-py"
    folder.mkdir()
    for name, data, labels in batches():
        content = {
            b"batch_label": b"one of 5",
            b"labels": labels,
            b"data": data,
            b"filenames": [b"x.png"] * 12,
        }
        (folder / name).write_bytes(pickle.dumps(content, protocol=2))
    return folder


@pytest.fixture
def binary(tmp_path):
    folder = tmp_path / "cifar-10-batches-bin"
    folder.mkdir()
    for name, data, labels in batches():
        rows = np.column_stack([np.array(labels, dtype=np.uint8), data])
        (folder / f"{name}.bin").write_bytes(rows.tobytes())
    return folder


def same(one, other):
    pairs = zip((*one.train, *one.test), (*other.train, *other.test), strict=True)
    return all(np.array_equal(first, second) for first, second in pairs)


def test_both_versions_hold_the_same_images(pickled, binary):
    assert same(cifar10(pickled), cifar10(binary))


def test_the_images_are_those_of_the_files_in_order(pickled):
    material = cifar10(pickled)
    made = list(batches())
    assert material.train.inputs.shape == (3072, 5 * IMAGES)
    assert material.test.labels.tolist() == [made[-1][2]]
    pixels = (material.train.inputs[:, IMAGES] * 0.25 + 0.45) * 255
    assert np.abs(pixels - made[1][1][0]).max() < 1e-3
    assert material.example == (3, 1024)


def test_the_folder_around_it_will_do_and_few_images_need_few_files(pickled):
    (pickled / "data_batch_4").unlink()
    material = cifar10(pickled.parent, images=30)
    assert material.train.inputs.shape == (3072, 30)
    assert material.test.inputs.shape == (3072, 6)
    assert "30 training and 6 test images" in material.source
    with pytest.raises(InvalidInputError, match="cannot be read") as caught:
        cifar10(pickled)
    assert caught.value.path == str(pickled / "data_batch_4")


@pytest.mark.parametrize("name", ["cifar-alexnet", "cifar-mobilenet"])
def test_a_network_trains_on_them(binary, name):
    chosen = cifar_family(name, lambda: cifar10(binary))
    run = train_run(chosen.task(), [Epoch(0.5, "edge"), Epoch(0.75, "far-edge")], chosen.generator(0))
    assert np.isfinite(run.loss).all()


class Harmful:
    def __reduce__(self):
        return os.mkdir, ("made-by-a-pickle",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            pickle.dumps({"data": Harmful(), "labels": [0]}, protocol=2),
            "asks for .*mkdir, which no array needs",
        ),
        (pickle.dumps([1, 2]), "holds no mapping"),
        (pickle.dumps({"data": np.zeros((1, 3072), dtype=np.uint8)}), "there is no 'labels'"),
        (pickle.dumps({"data": np.zeros((1, 3072)), "labels": [0]}), "data must be bytes"),
        (pickle.dumps({"data": np.zeros((1, 99), dtype=np.uint8), "labels": [0]}), "data must be bytes"),
        (pickle.dumps({"data": np.zeros((1, 3072), dtype=np.uint8), "labels": [0, 1]}), "one whole number"),
        (pickle.dumps({"data": np.zeros((1, 3072), dtype=np.uint8), "labels": [10]}), "from 0 to 9"),
        (b"", "is no batch"),
        (b"\x80\x02junk", "is no batch"),
    ],
)
def test_a_file_that_is_no_batch_is_refused_and_runs_nothing(pickled, monkeypatch, content, message):
    monkeypatch.chdir(pickled)
    (pickled / "data_batch_2").write_bytes(content)
    with pytest.raises(InvalidInputError, match=message) as caught:
        cifar10(pickled)
    assert caught.value.path == str(pickled / "data_batch_2")
    assert not (pickled / "made-by-a-pickle").exists()


def test_a_binary_file_of_another_length_is_refused(binary):
    (binary / "data_batch_1.bin").write_bytes(b"\x00" * 3074)
    with pytest.raises(InvalidInputError, match="no multiple of 3073"):
        cifar10(binary)


def test_a_folder_without_it_is_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="holds no CIFAR-10"):
        cifar10(tmp_path)
