"""Compressed files: what is written is read back, what is hostile or broken is refused, soon and in words."""

import gzip
import io
import struct
import zipfile

import numpy as np
import pytest

from depl.models.foundation import archives
from depl.models.foundation.archives import inflated, read_npz_arrays
from depl.models.foundation.errors import InvalidInputError

ARRAYS = {
    "whole": np.arange(6).reshape(2, 3),
    "by_columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "texts": np.array(["a", "größer", ""]),
    "other_end": np.array([1.5, 2.5], dtype=">f8"),
    "other_texts": np.array(["ab"], dtype=">U2"),
    "scalar": np.array("depl"),
    "none": np.zeros((0, 3)),
}


def spoilt(content):
    """Every file that ends before a byte of this one, or has another byte there."""
    for place in range(len(content)):
        yield content[:place]
        yield content[:place] + bytes([content[place] ^ 255]) + content[place + 1 :]


def npz(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return path


def npy(header, data=b""):
    text = header.encode("latin1") + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


def plain(shape="(2,)", kind="<f8", data=bytes(16)):
    return npy(f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}}}", data)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_are_read_as_numpy_wrote_them(tmp_path, save):
    save(tmp_path / "a.npz", **ARRAYS)
    found = read_npz_arrays(tmp_path / "a.npz")
    assert found.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert found[name].dtype == array.dtype
        assert found[name].tolist() == array.tolist()


@pytest.mark.parametrize(
    ("member", "message"),
    [
        (plain("(1099511627776, 1099511627776)"), "is no npz file of columns"),
        (plain("(1,)"), "or more bytes than it announces"),
        (plain("(4611686018427387904,)", "<U0", b""), "or more bytes than it announces"),
        (plain("(2,)", "<U2", b"\xff" * 16), "holds what is no text"),
        (plain("(2,)", "O"), "Object arrays cannot be loaded"),
        (plain("(2,)", "<M8"), "neither numbers nor text"),
        (npy("(" * 9000), "is no npz file of columns"),
        (npy("[" * 150 + "]" * 150), "is no npz file of columns"),
    ],
)
def test_a_header_that_lies_or_is_broken_is_refused_at_once(tmp_path, member, message):
    with pytest.raises(InvalidInputError, match=message) as caught:
        read_npz_arrays(npz(tmp_path / "a.npz", [("loss.npy", member)]))
    assert caught.value.path == str(tmp_path / "a.npz")


def test_a_member_that_is_no_array_or_there_twice_is_refused(tmp_path):
    with pytest.raises(InvalidInputError, match=r"'notes.txt' is no array"):
        read_npz_arrays(npz(tmp_path / "a.npz", [("notes.txt", b"")]))
    with (
        pytest.warns(UserWarning, match="Duplicate"),
        pytest.raises(InvalidInputError, match="or there twice"),
    ):
        read_npz_arrays(npz(tmp_path / "a.npz", [("a.npy", plain())] * 2))


def test_any_byte_of_an_archive_may_be_wrong_or_the_rest_missing(tmp_path):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, loss=[1.0, 2.0])
    content = path.read_bytes()
    refused = 0
    for wrong in spoilt(content):
        path.write_bytes(wrong)
        try:
            read_npz_arrays(path)
        except InvalidInputError:
            refused += 1
    assert refused > len(content)


def test_more_than_the_most_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "LARGEST_FILE", 2**20)
    np.savez_compressed(tmp_path / "a.npz", a=np.zeros(2**16), b=np.zeros(2**16))
    with pytest.raises(InvalidInputError, match="announces more than 1 MiB of arrays"):
        read_npz_arrays(tmp_path / "a.npz")


def test_gzip_is_read_up_to_its_most_and_in_parts():
    content = gzip.compress(b"one") + gzip.compress(b"two")
    assert inflated(content, "there") == b"onetwo"
    assert inflated(content, "there", 6) == b"onetwo"
    with pytest.raises(InvalidInputError, match="there: holds more than 0 MiB"):
        inflated(content, "there", 5)


def test_a_gzip_bomb_takes_no_more_memory_than_the_most(monkeypatch):
    """The parts read are counted: 64 MiB are there, and not many more than 1 MiB may be unpacked."""
    page = io.BytesIO()
    with gzip.GzipFile(fileobj=page, mode="wb", compresslevel=1) as stream:
        for _ in range(64):
            stream.write(bytes(2**20))
    counted = []
    read = gzip.GzipFile.read
    monkeypatch.setattr(gzip.GzipFile, "read", lambda self, size=-1: counted.append(size) or read(self, size))
    with pytest.raises(InvalidInputError, match="holds more than 1 MiB, the most that is read"):
        inflated(page.getvalue(), "there", 2**20)
    assert 0 < sum(counted) <= 2**20 + 1


def test_any_byte_of_a_gzip_file_may_be_wrong_or_the_rest_missing():
    content = gzip.compress(b"attempts of yesterday " * 20, mtime=0)
    refused = 0
    for wrong in spoilt(content):
        try:
            inflated(wrong, "there")
        except InvalidInputError:
            refused += 1
    assert refused > 1.5 * len(content)
