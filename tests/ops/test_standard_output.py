"""An answer is handed over whole, or the command says that it was not: full, closed, in another encoding."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.query.roots import make_root

USER = "zoë\u202e\x1b[31m表"
COMMANDS = {
    "status": ["status"],
    "status as JSON": ["status", "--json"],
    "coverage": ["coverage"],
    "a table": ["query", "SELECT user_name FROM account_usage.statements"],
    "long rows": ["query", "SELECT * FROM account_usage.statements"],
    "CSV": ["query", "SELECT user_name FROM account_usage.statements", "--format", "csv"],
    "a report": ["report", "access", "--json"],
}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Two hundred statements, whose answers do not fit into the buffer of a pipe."""
    rows = [
        {
            "query_id": f"q{n}", "start_time": "2026-11-20T12:00", "user_name": USER, "query_type": "SELECT",
            "query_text": f"SELECT {'x' * 900}", "execution_status": "FAIL",
        }
        for n in range(200)
    ]  # fmt: skip
    return make_root(tmp_path_factory.mktemp("root"), {"query_history": rows})


def run(root, name, **more):
    """A command in a process of its own: exit code, stdout, stderr."""
    command = [sys.executable, "-m", "audit.cli", *COMMANDS[name], "--root", root]
    environ = {**os.environ, **more.pop("env", {})}
    return subprocess.run(command, check=False, env=environ, stderr=subprocess.PIPE, timeout=120, **more)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has this device")
@pytest.mark.parametrize("name", COMMANDS)
def test_without_room(root, name):
    """One line and exit code 2, which no check means."""
    with Path("/dev/full").open("wb") as full:
        done = run(root, name, stdout=full)
    *_, last = done.stderr.decode().splitlines()
    assert (done.returncode, b"Traceback" in done.stderr) == (2, False), done.stderr
    assert last.startswith("audit: AUDIT_OUTPUT_UNWRITABLE: the answer cannot be written"), last
    assert "No space left on device" in last


@pytest.mark.parametrize("name", COMMANDS)
def test_a_closed_output(root, name):
    """As after `>&-`: an answer that nobody gets is no success."""
    done = run(root, name, stdout=None, preexec_fn=lambda: os.close(1))
    assert (done.returncode, b"the standard output is closed" in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize("name", ["long rows", "status as JSON", "a report"])
def test_a_reader_that_has_seen_enough(root, name):
    """As `| head -1`: nothing is said, and no exit code of a check is given."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        done = run(root, name, stdout=pipe)
    assert done.returncode == 2
    assert not any(word in done.stderr for word in (b"Traceback", b"Broken", b"Exception")), done.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
@pytest.mark.parametrize("name", ["status", "a table", "long rows", "CSV"])
def test_an_encoding_that_lacks_letters(root, name, encoding):
    """They are escapes; nothing that steers a terminal is among what is printed."""
    done = run(root, name, stdout=subprocess.PIPE, env={"PYTHONIOENCODING": encoding, "COLUMNS": "60"})
    text = done.stdout.decode(encoding)
    assert (done.returncode, done.stderr.count(b"\n") <= 1) == (0, True), done.stderr
    assert not {"\x1b", "\u202e", "\r"} & set(text)
    if name != "status":
        assert ("zo\\xeb" if encoding == "ascii" else "zoë") in text
        assert ("表" if encoding == "utf-8" else "\\u8868") in text.replace("\n", "")


def test_nobody_hears_progress(root):
    """A closed stderr costs no answer: that there are more rows is told there."""
    command = [sys.executable, "-m", "audit.cli", *COMMANDS["CSV"], "--limit", "1", "--root", root]
    with Path(os.devnull).open("wb") as nowhere:
        done = subprocess.run(
            command, check=False, stdout=subprocess.PIPE, stderr=nowhere, timeout=120,
            preexec_fn=lambda: os.close(2),
        )  # fmt: skip
    assert (done.returncode, done.stdout.count(b"\n")) == (0, 2)
