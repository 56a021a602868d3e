"""`audit verify`, `digest` and `prove` as processes would run them, and the script that checks a proof."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from audit.cli import main
from audit.evidence import keys
from audit.evidence.digest_log import DigestLog
from audit.spark.file_lock import JvmFileLock

from .tampering import everywhere, newest, put_back

pytestmark = pytest.mark.spark

SCRIPT = Path(__file__).parents[2] / "examples" / "check_proof.py"


def run(root, *words):
    """A command: its exit code, stdout, stderr."""
    answer = CliRunner().invoke(main, [*words, "--root", str(root)], catch_exceptions=False)
    return answer.exit_code, answer.stdout, answer.stderr


def checked(tmp_path, text, key):
    """What the script says of a proof."""
    file = tmp_path / "proof.json"
    file.write_text(text, encoding="utf-8")
    words = [sys.executable, "-I", str(SCRIPT), str(file), key]
    return subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, check=False)


@pytest.mark.parametrize("which", [0, 5])
def test_a_proof_is_checked_without_this_project(root, ids, tmp_path, which):
    """Of a query, and of a statement with edges; by somebody with the key and the file alone."""
    code, key, _ = run(root, "digest", "key")
    code, text, _ = run(root, "prove", ids[1][which])
    assert code == 0
    done = checked(tmp_path, text, key.strip())
    assert (done.returncode, done.stdout.splitlines()[-1]) == (
        0, "The statement is in the log that the key has signed.",
    )  # fmt: skip
    assert len(done.stdout.splitlines()) == (3 if which == 0 else 5)


def test_a_forged_proof_is_refused(root, ids, tmp_path):
    """Another user, another key, another signature."""
    key = str(keys.signer_of(root).verifier)
    _, text, _ = run(root, "prove", ids[1][0])
    assert checked(tmp_path, text.replace("ann", "bob"), key).returncode == 1
    other = str(keys.parse_signer(keys.new_key(), tmp_path).verifier)
    assert checked(tmp_path, text, other).returncode == 1
    proof = json.loads(text)
    proof["checkpoint"] = proof["checkpoint"].replace("\n", "x\n", 1)
    assert checked(tmp_path, json.dumps(proof), key).returncode == 1


def test_no_proof(root, ids):
    """An unknown id, no id, and a row that was altered."""
    code, _, said = run(root, "prove", "01a220f1-6b55-745a-94d3-74d326b1e345")
    assert (code, "there is no statement" in said) == (2, True)
    assert run(root, "prove", "x' OR true")[0] == 2
    everywhere(root, "access_history", lambda row: {**row, "user_name": "bob"})
    code, _, said = run(root, "prove", ids[0][0])
    assert (code, "are not as they were signed" in said) == (2, True)


def test_checkpoints_are_kept_elsewhere(root, tmp_path):
    """A file of several; a log that was cut off is not appended, and verify finds it."""
    kept = tmp_path / "kept"
    assert run(root, "digest", "anchor", str(kept))[0] == 0
    assert run(root, "digest", "anchor", str(kept))[0] == 0
    assert kept.read_text() == run(root, "digest", "export")[1] + "\n"
    assert run(root, "verify", "--against", str(kept))[0] == 0
    put_back(root, "digests", newest(root, "digests") - 1)
    (root / "evidence.head").unlink()
    before = kept.read_bytes()
    code, said, _ = run(root, "digest", "anchor", str(kept), "--json")
    assert (code, kept.read_bytes()) == (1, before)
    assert "was cut off" in json.loads(said)[0]["fault"]
    code, said, _ = run(root, "verify", "--against", str(kept), "--json")
    assert code == 1
    assert "was cut off" in json.loads(said)[0]["fault"]


def test_what_verify_says(root, tmp_path):
    """How much is signed, and with which key; a key that was handed on."""
    code, said, _ = run(root, "verify", "--json")
    (row,) = json.loads(said)
    key = str(keys.signer_of(root).verifier)
    assert (code, row["faults"], row["key"], row["key_is_known"]) == (0, 0, key, True)
    (tmp_path / "key").write_text(f"{key}\n")
    (root / keys.FILE).rename(tmp_path / "secret")
    assert json.loads(run(root, "verify", "--json")[1])[0]["key_is_known"] is False
    assert json.loads(run(root, "verify", "--key", str(tmp_path / "key"), "--json")[1])[0]["key_is_known"]
    code, _, said = run(root, "verify", "--key", "none")
    assert (code, "is no key" in said) == (2, True)
    code, _, said = run(root, "digest", "key")
    assert (code, "there is no key in" in said) == (2, True)


def test_a_key_is_rotated(root, ids, tmp_path):
    """The old one vouches for it: who holds the old one verifies on."""
    old = str(keys.signer_of(root).verifier)
    code, said, _ = run(root, "digest", "rotate", "--json")
    new = json.loads(said)[0]["key"]
    assert (code, new == old, run(root, "digest", "key")[1]) == (0, False, f"{new}\n")
    assert run(root, "verify", "--key", old)[0] == 0
    code, said, _ = run(root, "verify", "--key", new, "--json")
    assert (code, "entry 0 of the log of digests has no valid signature" in said) == (1, True)
    (root / keys.FILE).unlink()
    assert run(root, "verify", "--key", old)[0] == 0


def test_no_driver_writes_while_leaves_are_deleted(spark, root, monkeypatch):
    """On a local disk two commits at once would be one: the root is locked."""
    could_write = []

    def forget(self, before):
        lock = JvmFileLock(spark, root / "commit.lock")
        could_write.append(lock.try_lock())
        lock.close()

    monkeypatch.setattr(DigestLog, "forget_leaves", forget)
    assert run(root, "retain", "--days", "9999")[0] == 0
    assert could_write == [False]
