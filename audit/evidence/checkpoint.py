"""Checkpoints: what a log of digests holds at one moment, in three lines that anybody can keep.

In: a name, a number of entries, the root over them. Out: a signed note in the format of C2SP tlog-checkpoint,
which a witness, a git repository or a mail holds; and a checkpoint again.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass

from audit.evidence.errors import EvidenceError
from audit.evidence.signed_note import Signer, Verifier

_ROOT_BYTES = 32


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A state of a log.

    Attributes:
        origin: the log's name, the same in all of them.
        size: how many entries it has.
        root: of the Merkle tree over these, 32 bytes.
    """

    origin: str
    size: int
    root: bytes

    def signed(self, signer: Signer) -> str:
        """The note.

        >>> print(Checkpoint("example.org/log", 0, bytes(32)).signed(Signer.generate("k")).partition("=")[0])
        example.org/log
        0
        AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
        """
        return signer.sign(f"{self.origin}\n{self.size}\n{base64.b64encode(self.root).decode()}\n")

    @classmethod
    def parse(cls, note: str, verifier: Verifier) -> Checkpoint:
        """The checkpoint of a note that a key has signed.

        Raises:
            EvidenceError: it has not, or it is no checkpoint.
        """
        lines = verifier.signed(note).splitlines()
        try:
            origin, size, root = lines[0], int(lines[1]), base64.b64decode(lines[2], validate=True)
        except (IndexError, ValueError, binascii.Error) as error:
            raise _broken(note) from error
        if not origin or lines[1] != str(size) or size < 0 or len(root) != _ROOT_BYTES:
            raise _broken(note)
        return cls(origin, size, root)


def _broken(note: str) -> EvidenceError:
    return EvidenceError(
        f"{note[:200]!r} is no checkpoint",
        "its lines are the log's name, a number of entries, a root in base64",
    )
