"""A report that is asked to end half-way leaves nothing: no half file, no folder, no browser."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from audit.cli.signals import ended_by_signals
from tests.query.roots import make_root


@pytest.mark.skipif(sys.platform == "win32", reason="Windows ends a process without a signal")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_report_that_is_ended(tmp_path, number):
    """While the browser prints: its folder and itself are gone, and the file of before is there."""
    root = make_root(tmp_path / "root", {})
    out, temporary, started = tmp_path / "out", tmp_path / "tmp", tmp_path / "started"
    for folder in (out, temporary):
        folder.mkdir()
    (out / "a.pdf").write_text("old")
    browser = tmp_path / "browser"
    browser.write_text(
        f"#!{shutil.which('sh')}\necho $$ > {started}.new; mv {started}.new {started}; exec sleep 600\n"
    )
    browser.chmod(0o700)
    command = [
        sys.executable,
        "-m",
        "audit.cli",
        "report",
        "access",
        "--root",
        root,
        "-o",
        str(out / "a.pdf"),
    ]
    environ = {**os.environ, "CHROME_PATH": str(browser), "TMPDIR": str(temporary)}
    with subprocess.Popen(command, env=environ, stderr=subprocess.PIPE) as running:
        assert waited_for(started.exists)
        running.send_signal(number)
        _, said = running.communicate(timeout=60)
    assert (running.returncode, said) == (128 + number, b"")
    assert [one.name for one in temporary.iterdir()] == []
    assert [(one.name, one.read_text()) for one in out.iterdir()] == [("a.pdf", "old")]
    assert waited_for(lambda: not is_there(int(started.read_text())))


def waited_for(condition, seconds=60.0):
    """Whether a condition holds within some time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def is_there(process):
    """Whether a process runs."""
    return Path(f"/proc/{process}").exists() if Path("/proc/self").exists() else False


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="Windows has no such signal")
def test_a_block_gives_the_signals_back():
    """Whoever calls it has his own handlers again."""
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as caught, ended_by_signals():
        os.kill(os.getpid(), signal.SIGTERM)
    assert caught.value.code == 128 + signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) is before
