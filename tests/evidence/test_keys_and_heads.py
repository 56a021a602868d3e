"""The key, and the file of the log's end: made once, whole or told."""

from __future__ import annotations

import stat

import pytest

from audit.core.errors import SpoolUnavailableError
from audit.evidence import keys
from audit.evidence.errors import EvidenceError
from audit.evidence.head import FILE, Head, parse_frontier
from audit.evidence.merkle import Frontier, leaf_hash
from audit.evidence.signed_note import Verifier
from audit.query.digests.check_log import Anchor
from audit.query.digests.held import anchors_in, held_by


def test_the_key_is_made_once(tmp_path):
    """For its owner alone; a text holds it, as Go's notes have it."""
    made = keys.signer_of(tmp_path)
    assert keys.signer_of(tmp_path) == made
    path = tmp_path / keys.FILE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text().startswith(f"PRIVATE+KEY+{made.name}+{made.verifier.key_id.hex()}+")
    assert keys.verifier_of(tmp_path) == made.verifier == Verifier.parse(str(made.verifier))


@pytest.mark.parametrize("text", ["", "nothing", "PRIVATE+KEY+name+00000000+AAAA", "PRIVATE+KEY+name"])
def test_a_damaged_key_is_told(tmp_path, text):
    """No new one takes its place."""
    (tmp_path / keys.FILE).write_text(text)
    with pytest.raises(EvidenceError, match="holds no key"):
        keys.signer_of(tmp_path)
    assert (tmp_path / keys.FILE).read_text() == text


def test_a_key_with_another_id_is_damaged(tmp_path):
    """A digit of it was changed."""
    text = keys.signer_text(keys.signer_of(tmp_path))
    name, key_id, data = text.removeprefix("PRIVATE+KEY+").split("+", 2)
    (tmp_path / keys.FILE).write_text(f"PRIVATE+KEY+{name}+{int(key_id, 16) ^ 1:08x}+{data}")
    with pytest.raises(EvidenceError, match="is damaged"):
        keys.signer_of(tmp_path)


def test_a_key_that_cannot_be_read(tmp_path):
    """Nothing is signed with another one."""
    (tmp_path / keys.FILE).mkdir()
    with pytest.raises(SpoolUnavailableError):
        keys.signer_of(tmp_path)


def test_the_next_key_is_the_same_until_it_is_taken(tmp_path):
    """A killed rotation is run again."""
    old = keys.signer_of(tmp_path)
    new = keys.next_signer(tmp_path, old.name)
    assert keys.next_signer(tmp_path, old.name) == new != old
    keys.take_next(tmp_path)
    assert keys.signer_of(tmp_path) == new
    assert keys.next_signer(tmp_path, old.name) != new


def test_the_end_of_the_log(tmp_path):
    """It is read back; a damaged file is as none."""
    assert Head.load(tmp_path) == Head()
    tree = Frontier()
    for number in range(5):
        tree = tree.with_leaf(leaf_hash(bytes([number])))
    head = Head(7, tree, 123, "log", frozenset({"a"}), {"events": 3}, "note")
    head.save(tmp_path)
    assert Head.load(tmp_path) == head
    (tmp_path / FILE).write_bytes((tmp_path / FILE).read_bytes()[:-5])
    assert Head.load(tmp_path) == Head()
    (tmp_path / FILE).write_text('{"version": 1}')
    assert Head.load(tmp_path) == Head()
    with pytest.raises(ValueError, match="has not 1 nodes"):
        parse_frontier(2 + 1, "00" * 32)


def test_what_is_held(tmp_path):
    """A key by its text or file, checkpoints one behind the other, batches that have begun."""
    key = str(keys.signer_of(tmp_path).verifier)
    note = "log\n3\nAAAA\n\n\u2014 name AAAA\n"
    file = tmp_path / "kept"
    file.write_text(f"on Monday\n\n{note}\n{note}")
    assert anchors_in(file) == [Anchor(str(file), f"on Monday\n\n{note}".partition("\n\n")[2])] * 2
    spool = tmp_path / "spool" / "driver"
    spool.mkdir(parents=True)
    (spool / "batch.json").write_text('{"segments": ["1.jsonl"], "is_committed": false}')
    held = held_by(tmp_path, 5, files=[file])
    assert (str(held.key), held.batches, held.now, len(held.anchors)) == (key, {"driver/1.jsonl"}, 5, 2)
    (tmp_path / "key").write_text(key)
    assert held_by(tmp_path / "other", 5, str(tmp_path / "key")).key == held.key
    assert held_by(tmp_path / "other", 5).key is None
    with pytest.raises(EvidenceError, match="is no key"):
        held_by(tmp_path, 5, "none")
    (tmp_path / "empty").touch()
    with pytest.raises(EvidenceError, match="holds no checkpoint"):
        anchors_in(tmp_path / "empty")
    with pytest.raises(EvidenceError, match="cannot be read"):
        anchors_in(tmp_path / "none")
