"""Checks what `audit prove` prints, without the project that printed it: check_proof.py PROOF.json KEY.

KEY is the public key that the signer handed on (`audit digest key`), not the one in the proof. Needs
`cryptography`. The trees are those of RFC 6962, the signature is a C2SP signed note with Ed25519.
"""

import base64
import hashlib
import json
import sys
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


def leaf(data: str) -> bytes:
    """The hash of a leaf."""
    return hashlib.sha256(b"\0" + data.encode()).digest()


def root(node: bytes, index: int, size: int, path: list[str]) -> bytes:
    """The root of a tree of a size, by the path from a leaf."""
    last, rest = size - 1, [bytes.fromhex(one) for one in path]
    while last:
        if index % 2 or index < last:
            node = hashlib.sha256(b"\1" + (rest.pop(0) + node if index % 2 else node + rest.pop(0))).digest()
        index, last = index // 2, last // 2
    return node


proof, key = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), sys.argv[2]
text, _, signature = proof["checkpoint"].rpartition("\n\n")
public = Ed25519PublicKey.from_public_bytes(base64.b64decode(key.split("+", 2)[2])[1:])
public.verify(base64.b64decode(signature.split()[2])[4:], f"{text}\n".encode())  # raises InvalidSignature
_, size, log_root = text.split("\n")[:3]
for one in proof["proofs"]:
    entry = json.loads(one["entry"])
    found = root(leaf("\n".join(one["rows"])), one["leaf"], one["leaves"], one["path"])
    is_in_entry = (one["table"], found.hex()) in [(part["table"], part["root"]) for part in entry["parts"]]
    place = root(leaf(one["entry"]), entry["sequence"], int(size), one["log_path"])
    is_whole = all(hashlib.sha256(text.encode()).hexdigest() == name for name, text in one["groups"].items())
    is_its = all(json.loads(row)["query_id"] == proof["query_id"] for row in one["rows"])
    if not (is_in_entry and is_whole and is_its and place == base64.b64decode(log_root)):
        sys.exit(f"{one['table']}: the rows are not those that were signed")
    print(f"{one['table']}: {len(one['rows'])} rows, signed at {entry['time']}")
print("The statement is in the log that the key has signed.")
