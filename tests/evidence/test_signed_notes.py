"""Signed notes and checkpoints: the vectors of Go's package note, and what a forger might try."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.evidence.checkpoint import Checkpoint
from audit.evidence.errors import EvidenceError
from audit.evidence.signed_note import Signer, Verifier

# From the documentation of golang.org/x/mod/sumdb/note.
PETER = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
SEED = base64.b64decode("AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz")[1:]
TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
SIGNATURE = (
    "\u2014 PeterNeumann "
    "x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM="
)
NOTE = f"{TEXT}\n{SIGNATURE}\n"
SIGNER = Signer.generate("example.org/log")
ROOT = bytes(range(32))


def test_the_known_note():
    """Ours signs as theirs, and reads theirs; the key's text is theirs, too."""
    signer = Signer("PeterNeumann", SEED)
    assert signer.sign(TEXT) == NOTE
    assert Verifier.parse(PETER) == signer.verifier
    assert str(signer.verifier) == PETER
    assert Verifier.parse(PETER).signed(NOTE) == TEXT


def test_other_signatures_are_beside_ours():
    """A witness adds its own line."""
    other = Signer.generate("witness")
    both = NOTE + other.sign(TEXT).rpartition("\n\n")[2]
    assert Verifier.parse(PETER).signed(both) == other.verifier.signed(both) == TEXT


@pytest.mark.parametrize(
    ("note", "said"),
    [
        (NOTE.replace("answer", "Answer"), "signature of PeterNeumann below a note is false"),
        (NOTE.replace("BwJnAM", "BwKnAM"), "is false"),
        (NOTE.replace("PeterNeumann x08", "PeterNeumann y08"), "not signed by PeterNeumann"),
        (SIGNER.sign(TEXT), "but by example.org/log"),
        (TEXT, "is no signed note"),
        (NOTE.removesuffix("\n"), "is no signed note"),
        (NOTE + "more\n", "is no signed note"),
        ("", "is no signed note"),
    ],
)
def test_a_false_note(note, said):
    """Each is refused with what is wrong."""
    with pytest.raises(EvidenceError, match=said):
        Verifier.parse(PETER).signed(note)


@pytest.mark.parametrize(
    "text", ["", "x", "a+b", PETER[:-4], PETER.replace("c74f", "c74e"), f"P {PETER}", "a+b+AA=="]
)
def test_no_key(text):
    """What is no key, or a damaged one, is named."""
    with pytest.raises(EvidenceError, match=r"no key|damaged"):
        Verifier.parse(text)


def test_a_seed_is_not_shown():
    """It would stand in tracebacks."""
    assert SIGNER.seed.hex() not in repr(SIGNER)
    assert repr(SIGNER) == "Signer('example.org/log')"


@pytest.mark.parametrize("text", ["", "no end", "a\rb\n", "\x00\n"])
def test_no_text_of_a_note(text):
    """The format has lines alone."""
    with pytest.raises(ValueError, match="a note's text"):
        SIGNER.sign(text)


@given(st.integers(0, 10**12), st.binary(min_size=32, max_size=32))
def test_checkpoints(size, root):
    """A signed one reads back as it was."""
    made = Checkpoint("example.org/log", size, root)
    assert Checkpoint.parse(made.signed(SIGNER), SIGNER.verifier) == made


@pytest.mark.parametrize(
    "text", ["o\n", "o\n1\n", "o\n01\nAA==\n", "o\n-1\n", "o\nx\nAA==\n", "o\n1\nAA==\n", "\n1\n"]
)
def test_no_checkpoint(text):
    """Signed, and no checkpoint all the same."""
    with pytest.raises(EvidenceError, match="is no checkpoint"):
        Checkpoint.parse(SIGNER.sign(text), SIGNER.verifier)
