"""The key that signs the digests of a root.

In: the folder that holds `spool/`. Out: a `Signer`, made at the first call. Its file is its owner's alone:
who ingests signs. The text is that of Go's note package, `PRIVATE+KEY+name+id+key`, which other tools read.
"""

from __future__ import annotations

import base64
import secrets
from typing import TYPE_CHECKING

from audit.evidence.entries import ORIGIN
from audit.evidence.errors import EvidenceError
from audit.evidence.signed_note import Signer, Verifier
from audit.spool.failure import spool_errors
from audit.spool.home import secret

if TYPE_CHECKING:
    from pathlib import Path

FILE = "evidence.key"
_NEXT = "evidence.key.next"
_HEAD = "PRIVATE+KEY+"
_NAME_BYTES = 4
_SEED_BYTES = 32


def signer_of(home: Path) -> Signer:
    """The key of the spools of a root.

    Raises:
        EvidenceError: the file holds no key.
        SpoolUnavailableError: the file cannot be read or made.
    """
    return parse_signer(
        secret(home, FILE, lambda: new_key().encode()).decode("ascii", "replace"), home / FILE
    )


def verifier_of(home: Path) -> Verifier:
    """The public key of the spools of a root, which is not made here.

    Raises:
        EvidenceError: there is none, or the file holds no key.
        SpoolUnavailableError: the file cannot be read.
    """
    if not (home / FILE).is_file():
        raise EvidenceError(f"there is no key in {home}", "it comes with the first ingest on this machine")
    return signer_of(home).verifier


def next_signer(home: Path, name: str) -> Signer:
    """The key that will replace the one of the spools; the same one until `take_next`.

    Raises:
        EvidenceError: the file holds no key.
        SpoolUnavailableError: the file cannot be read or made.
    """
    text = secret(home, _NEXT, lambda: signer_text(Signer.generate(name)).encode())
    return parse_signer(text.decode("ascii", "replace"), home / _NEXT)


def take_next(home: Path) -> None:
    """Sign with the next key from now on.

    Raises:
        SpoolUnavailableError: the file cannot be replaced.
    """
    with spool_errors(home / FILE):
        (home / _NEXT).replace(home / FILE)


def new_key() -> str:
    """The text of a new key."""
    return signer_text(Signer.generate(f"{ORIGIN}/{secrets.token_hex(_NAME_BYTES)}"))


def signer_text(signer: Signer) -> str:
    """The text that holds a key."""
    data = base64.b64encode(b"\1" + signer.seed).decode()
    return f"{_HEAD}{signer.name}+{signer.verifier.key_id.hex()}+{data}\n"


def parse_signer(text: str, path: Path) -> Signer:
    """The key that a text holds.

    Args:
        text: as `signer_text` writes it.
        path: where it stands, for the message.

    Raises:
        EvidenceError: it holds none.
    """
    name, _, rest = text.strip().removeprefix(_HEAD).partition("+")
    key_id, _, data = rest.partition("+")
    try:
        seed = base64.b64decode(data, validate=True)[1:]
    except ValueError:
        seed = b""
    if not (text.startswith(_HEAD) and name and len(seed) == _SEED_BYTES):
        raise EvidenceError(
            f"{path} holds no key",
            "bring it back from a backup: nobody who has the old one knows a new one",
        )
    made = Signer(name, seed)
    if made.verifier.key_id.hex() != key_id:
        raise EvidenceError(f"the key in {path} is damaged", "bring it back from a backup")
    return made
