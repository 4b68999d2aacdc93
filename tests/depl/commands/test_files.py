"""Files that a user names: no command replaces its own input or puts two answers into one file."""

import contextlib
import os
import stat
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import depl
from depl.cli import main
from depl.instances.setups import setup_template
from depl.models.problem.instance import Instance
from depl.models.solving.methods import Limits, Outcome, register

ITEMS = "3 10\n5 4\n4 3\n3 7\n"
RUNS = "run,epoch,model,cluster,loss\n" + "".join(
    f"{run},{epoch},net,site,{2.0 - 0.5 * epoch - 0.01 * run}\n" for run in range(9) for epoch in range(4)
)
STATE = '{"format": "depl-state", "version": 1, "epoch": 0, "loss": 10}'


def never(instance: Instance, limits: Limits) -> Outcome:
    """A method that must not be reached."""
    raise AssertionError("solved although an input would be replaced")


@pytest.fixture
def inputs(tmp_path: Path, tiny: Instance, tiny_optimum: depl.Plan) -> dict[str, Path]:
    """One file of every kind that commands read."""
    texts = {
        "instance.json": tiny.to_json(),
        "plan.json": tiny_optimum.to_json(),
        "state.json": STATE,
        "setup.json": setup_template(),
        "runs.csv": RUNS,
        "items.txt": ITEMS,
        "mine.py": "",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return {name: tmp_path / name for name in texts}


@pytest.mark.parametrize(
    ("words", "replaced"),
    [
        ("solve instance.json --method files-never --out instance.json", "instance.json"),
        ("replan instance.json plan.json state.json --method files-never --out plan.json", "plan.json"),
        ("replan instance.json plan.json state.json --method files-never --rest state.json", "state.json"),
        (
            "replan instance.json plan.json state.json --method files-never --out a.json --rest a.json",
            "a.json",
        ),
        ("front instance.json --against loss --out instance.json", "instance.json"),
        ("front instance.json --against loss --figure picture --out picture.svg", "picture.svg"),
        ("knapsack items.txt --out items.txt", "items.txt"),
        ("fit runs.csv --template setup.json --out setup.json", "setup.json"),
        ("fit runs.csv --template setup.json --out runs.csv", "runs.csv"),
        ("traces import runs.csv --loss loss --stages net@site --out runs.csv", "runs.csv"),
        ("train --family digits-alexnet --plan plan.json --out plan.json", "plan.json"),
        ("bench run paper --import mine.py --out mine.py", "mine.py"),
        ("bench report runs.csv --out runs.csv", "runs.csv"),
    ],
)
def test_an_output_that_is_an_input_or_another_output_is_refused_before_any_work(
    ask, inputs, tmp_path, monkeypatch, words, replaced
):
    register("files-never", never)
    monkeypatch.chdir(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    code, out, err = ask(*words.split())
    assert (code, out) == (2, "")
    assert err.startswith(f"depl: {replaced}: is ")
    # importing mine.py may leave a folder with its bytecode
    assert {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before


@pytest.mark.parametrize("link", [Path.symlink_to, Path.hardlink_to])
def test_an_input_is_known_by_the_file_and_not_by_its_name(ask, inputs, tmp_path, link):
    register("files-never", never)
    other = tmp_path / "other.json"
    link(other, inputs["instance.json"])
    code, _, err = ask("solve", inputs["instance.json"], "--method", "files-never", "--out", other)
    assert code == 2
    assert err == f"depl: {other}: is the file {inputs['instance.json']}, which is read; name another one\n"


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_a_figure_does_not_replace_the_input(ask, tmp_path, tiny, ending):
    path = tmp_path / f"front.{ending}"
    path.write_text(tiny.to_json(), encoding="utf-8")
    code, _, err = ask("front", path, "--against", "loss", "--figure", tmp_path / "front")
    assert code == 2
    assert "which is read" in err
    assert path.read_text(encoding="utf-8") == tiny.to_json()


def test_figures_of_a_diagnosis_do_not_replace_the_traces(ask, tmp_path):
    for name in ("loss.png", "loss.svg", "fits.png", "fits.svg"):
        path = tmp_path / f"d-{name}"
        path.write_text(RUNS, encoding="utf-8")
        code, _, err = ask("diagnose", path, "--figure", tmp_path / "d")
        assert (code, path.read_text(encoding="utf-8")) == (2, RUNS)
        assert "which is read" in err
        path.unlink()


def test_what_is_no_regular_file_is_written_to_and_stays(ask, tmp_path, tiny):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text(encoding="utf-8")), daemon=True)
    reader.start()
    code, _, err = ask("solve", "tiny", "--method", "exact", "--out", pipe)
    reader.join(timeout=60)
    assert code == 0
    depl.Plan.from_json(read[0]).check_names(tiny)
    assert pipe.is_fifo()
    assert f"plan written to {pipe}" in err


def test_a_device_stays_a_device(ask, tmp_path):
    device = tmp_path / "null"  # root could replace the real one, so it gets one of its own
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        device = Path(os.devnull)  # which others than root cannot replace
        assert os.getuid() != 0
    code, _, err = ask("solve", "tiny", "--method", "exact", "--out", device)
    assert (code, err) == (0, f"plan written to {device}\n")
    assert device.is_char_device()


@contextlib.contextmanager
def standard_output(descriptor: int) -> Iterator[None]:
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
        assert main(["solve", "tiny", "--method", "exact", "--out", "/dev/stdout"]) == 0
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
    assert ask("solve", "tiny", "--method", "exact", "--out", link)[0] == 0
    assert link.is_symlink()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    depl.Plan.from_json(kept.read_text(encoding="utf-8"))
    assert len(list(tmp_path.iterdir())) == 2


def test_the_longest_name_of_the_file_system_can_be_written_and_a_longer_one_is_refused(ask, tmp_path):
    longest = tmp_path / ("n" * 250 + ".json")
    assert ask("solve", "tiny", "--method", "exact", "--out", longest)[0] == 0
    assert longest.exists()
    register("files-never", never)
    longer = tmp_path / ("n" * 251 + ".json")
    code, _, err = ask("solve", "tiny", "--method", "files-never", "--out", longer)
    assert code == 2
    assert "cannot be written (File name too long)" in err
