"""A page in headless Chromium, without a network."""

import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
WIDTHS = (390, 1280)
PROBE = (Path(__file__).parents[1] / "benchmarks" / "report" / "report_probe.js").read_text(encoding="utf-8")
FRAME = """<!DOCTYPE html><title>frame</title><pre id="found"></pre>
<iframe src="page.html" style="width: {width}px; height: 900px; border: 0"></iframe>
<script>
addEventListener("message", (event) => document.getElementById("found").textContent = event.data);
</script>
"""


QUIET = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run")
OFFLINE = "--host-resolver-rules=MAP * ~NOTFOUND"


def chromium():
    """The program, by the variable CHROMIUM or by its usual names."""
    for name in (os.environ.get("CHROMIUM", ""), *NAMES):
        found = shutil.which(name) if name else None
        if found:
            return found
    pytest.fail(
        "there is no Chromium: install it (Debian, Ubuntu: apt-get install chromium), "
        "or set CHROMIUM to the program"
    )


def seen(page, width, folder, probe=PROBE, *further):
    """What the probe tells of a page in a frame of that width."""
    text = page.replace("<head>", f"<head><script>{probe}</script>", 1)
    assert text != page
    (folder / "page.html").write_text(text, encoding="utf-8")
    frame = folder / "frame.html"
    frame.write_text(FRAME.format(width=width), encoding="utf-8")
    command = [
        chromium(),
        *QUIET,
        OFFLINE,
        f"--user-data-dir={folder / 'profile'}",
        "--window-size=1400,1000",
    ]
    command += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    command += ["--virtual-time-budget=20000", *further, "--dump-dom", frame.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    told = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.DOTALL)
    assert told, done.stdout[:2000]
    assert told[1], f"the page did not load: {done.stderr[-2000:]}"
    return json.loads(html.unescape(told[1]))


def print_out(source, printed):
    """Print a page to a PDF as a user would, on the sheet that its style names."""
    command = [chromium(), *QUIET, OFFLINE, f"--user-data-dir={printed.parent / 'profile'}"]
    command += ["--no-pdf-header-footer", f"--print-to-pdf={printed}", source.as_uri()]
    subprocess.run(command, capture_output=True, check=True, timeout=120)
