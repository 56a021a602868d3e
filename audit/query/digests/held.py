"""What this machine, and whoever asks, holds of a log of digests.

In: the folder that holds `spool/`, a key, files of checkpoints. Out: a `Held`. The folder may be of another
user, or on another machine: then a check knows less, and says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import orjson

from audit.core.errors import AuditError
from audit.evidence import keys
from audit.evidence.errors import EvidenceError
from audit.evidence.head import FILE as HEAD
from audit.evidence.head import Head
from audit.evidence.signed_note import Verifier
from audit.query.digests.check_log import Anchor
from audit.query.digests.check_tables import IN_FLIGHT, Held
from audit.spool.layout import spools_under

_NOTE = re.compile(r"[^\n]+\n\d+\n[A-Za-z0-9+/=]+\n(?:[^\n]+\n)*\n(?:\u2014 [^\n]+\n)+")


def held_by(
    home: Path, now: int, key: str = "", files: Sequence[Path] = (), *, has_all_spools: bool = False
) -> Held:
    """What is held of the log of a root.

    Args:
        home: the folder that holds `spool/`.
        now: UTC microseconds.
        has_all_spools: all drivers of the root have their spools there.
        key: the text of a public key, or a file with it; "" for that of this machine, where it is there.
        files: with checkpoints, one behind the other.

    Raises:
        EvidenceError: the text is no key, or a file holds no checkpoint.
    """
    anchors = [anchor for file in files for anchor in anchors_in(file)]
    head = _head(home)
    if head.checkpoint:
        anchors.append(Anchor(str(home / HEAD), head.checkpoint))
    in_flight = 0 if has_all_spools else IN_FLIGHT
    return Held(_key(home, key), anchors, frozenset(_begun(home)), now, in_flight)


def anchors_in(file: Path) -> list[Anchor]:
    """The checkpoints that a file holds, one behind the other; what stands between them is left out.

    Raises:
        EvidenceError: there is none, or the file cannot be read.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise EvidenceError(
            f"{file} cannot be read ({error})", "name a file of `audit digest anchor`"
        ) from error
    found = [Anchor(str(file), note) for note in _NOTE.findall(text)]
    if not found:
        raise EvidenceError(f"{file} holds no checkpoint", "name a file of `audit digest anchor`")
    return found


def _key(home: Path, text: str) -> Verifier | None:
    if text:
        file = Path(text)
        with suppress(OSError, UnicodeDecodeError):
            text = file.read_text(encoding="utf-8") if file.is_file() else text
        return Verifier.parse(text)
    # Another user's key, or one of another machine, is not known here.
    with suppress(AuditError, OSError):
        if (home / keys.FILE).is_file():
            return keys.signer_of(home).verifier
    return None


def _head(home: Path) -> Head:
    with suppress(AuditError):
        return Head.load(home)
    return Head()


def _begun(home: Path) -> Iterator[str]:
    """The batches that an ingest has begun and not ended."""
    folder = spools_under(home)
    for file in folder.glob("*/batch.json") if folder.is_dir() else ():
        with suppress(OSError, orjson.JSONDecodeError, KeyError, IndexError):
            noted = orjson.loads(file.read_bytes())
            if not noted["is_committed"]:
                yield f"{file.parent.name}/{noted['segments'][0]}"
