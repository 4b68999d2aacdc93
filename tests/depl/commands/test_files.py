"""Files that a user names: written whole, through links, pipes and devices, with the permissions they had."""

import contextlib
import os
import stat
import sys
import threading
from pathlib import Path

import pytest

import depl
from depl.cli import main

SOLVE = ("solve", "tiny", "--method", "exact", "--out")


def test_a_pipe_and_a_device_are_written_to_and_stay(ask, tmp_path, tiny):
    pipe, device = tmp_path / "pipe", tmp_path / "null"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text(encoding="utf-8")), daemon=True)
    reader.start()
    code, _, err = ask(*SOLVE, pipe)
    reader.join(timeout=60)
    depl.Plan.from_json(read[0]).check_names(tiny)
    assert (code, err, pipe.is_fifo()) == (0, f"plan written to {pipe}\n", True)
    try:  # root could replace the real one, so it gets one of its own
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        device = Path(os.devnull)  # which others than root cannot replace
        assert os.getuid() != 0
    assert ask(*SOLVE, device)[::2] == (0, f"plan written to {device}\n")
    assert device.is_char_device()


@contextlib.contextmanager
def standard_output(descriptor):
    """Standard output of this process, the descriptor and the stream, is what a shell would have opened."""
    kept, stream = os.dup(1), sys.stdout
    os.dup2(descriptor, 1)
    try:
        with open(1, "w", encoding="utf-8", closefd=False) as sys.stdout:
            yield
    finally:
        sys.stdout = stream
        os.dup2(kept, 1)
        os.close(kept)
        os.close(descriptor)


@pytest.mark.parametrize("to_file", [True, False])
def test_standard_output_holds_the_plan_and_then_the_summary(tmp_path, tiny, to_file):
    path = tmp_path / "both"
    reading, writing = (None, os.open(path, os.O_WRONLY | os.O_CREAT)) if to_file else os.pipe()
    with standard_output(writing):
        assert main([*SOLVE, "/dev/stdout"]) == 0
    if reading is not None:
        with open(reading, encoding="utf-8") as pipe:
            path.write_text(pipe.read(), encoding="utf-8")
    plan, brace, summary = path.read_text(encoding="utf-8").partition("\n}\n")
    depl.Plan.from_json(plan + brace).check_names(tiny)
    assert "proved cheapest" in summary
    assert Path("/dev/stdout").is_symlink()


def test_a_file_keeps_its_permissions_and_a_link_goes_on_pointing_to_it(ask, tmp_path):
    kept, link = tmp_path / "private.json", tmp_path / "link.json"
    kept.write_text("old", encoding="utf-8")
    kept.chmod(0o600)
    link.symlink_to(kept.name)
    assert ask(*SOLVE, link)[0] == 0
    assert link.is_symlink()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    depl.Plan.from_json(kept.read_text(encoding="utf-8"))
    assert len(list(tmp_path.iterdir())) == 2


def test_the_longest_name_of_the_file_system_can_be_written_and_a_longer_one_is_refused(ask, tmp_path):
    longest, longer = (tmp_path / ("n" * count + ".json") for count in (250, 251))
    assert ask(*SOLVE, longest)[0] == 0
    code, out, err = ask(*SOLVE, longer)
    assert (code, out, "cannot be written (File name too long)" in err) == (2, "", True)  # nothing was solved
    assert list(tmp_path.iterdir()) == [longest]
