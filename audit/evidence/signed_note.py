"""Signed notes: a text that people can read, with signatures of named keys below it.

In: a text, a key. Out: the note; the text of a note whose signature holds. The format is C2SP signed-note
with Ed25519, which Go's checksum database, transparency logs and their witnesses use.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from hashlib import sha256

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from audit.evidence.errors import EvidenceError

_ED25519 = b"\1"
_DASH = "\u2014 "  # the em dash that begins a signature
_NAME = re.compile(r"[^\s+]+")
_ID_BYTES = 4
_KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class Verifier:
    """A public key and its name.

    Attributes:
        name: without white space and `+`.
        key: 32 bytes.
    """

    name: str
    key: bytes

    @property
    def key_id(self) -> bytes:
        """Four bytes that a signature names the key by."""
        return sha256(self.name.encode() + b"\n" + _ED25519 + self.key).digest()[:_ID_BYTES]

    def __str__(self) -> str:
        """The text by which people hand the key on: `name+id+key`."""
        return f"{self.name}+{self.key_id.hex()}+{_to_base64(_ED25519 + self.key)}"

    @classmethod
    def parse(cls, text: str) -> Verifier:
        """The key of such a text.

        Raises:
            EvidenceError: it is none.
        """
        name, _, rest = text.strip().partition("+")
        key_id, _, data = rest.partition("+")
        found = _from_base64(data)
        if not (_NAME.fullmatch(name) and len(found) == _KEY_BYTES + 1 and found.startswith(_ED25519)):
            raise EvidenceError(
                f"{text[:200]!r} is no key", "a key reads name+id+key: audit digest key prints that of a root"
            )
        made = cls(name, found[1:])
        if made.key_id.hex() != key_id:
            raise EvidenceError(f"the key {text[:200]!r} is damaged: its id is another one", "copy it again")
        return made

    def signed(self, note: str) -> str:
        """The text of a note, which this key has signed; other keys may have as well.

        Raises:
            EvidenceError: it has not, or its signature is false.
        """
        text, signatures = _parts(note)
        mine = [
            data[_ID_BYTES:]
            for name, data in signatures
            if (name, data[:_ID_BYTES]) == (self.name, self.key_id)
        ]
        if not mine:
            others = ", ".join(name for name, _ in signatures) or "nobody"
            raise EvidenceError(
                f"the note is not signed by {self}, but by {others}",
                "was the key replaced? audit digest key prints that of the root",
            )
        if not all(self._has_signed(text, signature) for signature in mine):
            raise EvidenceError(
                f"the signature of {self.name} below a note is false",
                "the note, or the signature, was changed",
            )
        return text

    def _has_signed(self, text: str, signature: bytes) -> bool:
        try:
            Ed25519PublicKey.from_public_bytes(self.key).verify(signature, text.encode())
        except InvalidSignature:
            return False
        return True


@dataclass(frozen=True, slots=True)
class Signer:
    """A private key and its name.

    Attributes:
        name: as that of its `Verifier`.
        seed: 32 bytes; a secret.
    """

    name: str
    seed: bytes

    @classmethod
    def generate(cls, name: str) -> Signer:
        """A new key."""
        if not _NAME.fullmatch(name):
            raise ValueError(f"a key's name has neither white space nor +: {name!r}")
        return cls(name, Ed25519PrivateKey.generate().private_bytes_raw())

    @property
    def verifier(self) -> Verifier:
        """The public key."""
        return Verifier(
            self.name, Ed25519PrivateKey.from_private_bytes(self.seed).public_key().public_bytes_raw()
        )

    def __repr__(self) -> str:
        return f"Signer({self.name!r})"  # the seed is a secret

    def sign(self, text: str) -> str:
        """The note of a text, which ends with a line feed."""
        if not text.endswith("\n") or any(ord(one) < ord(" ") and one != "\n" for one in text):
            raise ValueError(
                f"a note's text has lines, each with a line feed, and no other controls: {text!r}"
            )
        signature = Ed25519PrivateKey.from_private_bytes(self.seed).sign(text.encode())
        return f"{text}\n{_DASH}{self.name} {_to_base64(self.verifier.key_id + signature)}\n"


def _parts(note: str) -> tuple[str, list[tuple[str, bytes]]]:
    text, mark, below = note.rpartition("\n\n")
    lines = below.splitlines()
    if not mark or not lines or not below.endswith("\n") or not all(line.startswith(_DASH) for line in lines):
        raise EvidenceError(
            f"{note[:200]!r} is no signed note", "its text ends with an empty line and signatures"
        )
    found = []
    for line in lines:
        name, _, data = line.removeprefix(_DASH).partition(" ")
        found.append((name, _from_base64(data)))
    return f"{text}\n", found


def _to_base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _from_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""
