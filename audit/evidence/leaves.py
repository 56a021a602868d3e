"""The leaves of a digest: a hash for each statement, or event, of a table and day.

In: keys and texts of rows. Out: `Leaves`, ordered by key, with the root of the Merkle tree over them. A key
whose rows are several has one leaf, over all of them: see `leaf`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256

from audit.evidence.merkle import root
from audit.evidence.row_texts import Text, merged

HASH_BYTES = 32
_LEAF = sha256(b"\0")


@dataclass(frozen=True, slots=True)
class Leaves:
    """Of one table and day.

    Attributes:
        keys: in their order, none twice.
        hashes: of the leaves of these keys, one behind the other, 32 bytes each.
        rows: how many there are.
    """

    keys: tuple[str, ...]
    hashes: bytes
    rows: int

    @property
    def root(self) -> bytes:
        """Of the Merkle tree over the leaves."""
        return root(self.each())

    def each(self) -> list[bytes]:
        """The hashes, in the order of the keys."""
        return [self.hashes[at : at + HASH_BYTES] for at in range(0, len(self.hashes), HASH_BYTES)]


def leaves_of(keys: Sequence[str], texts: Iterable[Text], *, has_groups: bool = False) -> Leaves:
    r"""The leaves of rows, which have groups or not.

    >>> leaves_of(["b", "a", "a"], [b"{3}", b"{2}", b"{1}"]) == Leaves(
    ...     ("a", "b"), sha256(b"\0{1}\n{2}").digest() + sha256(b"\0{3}").digest(), 3
    ... )
    True
    """
    several = [key for key, count in Counter(keys).items() if count > 1] if len(set(keys)) < len(keys) else ()
    return leaves_of_parts([(keys, texts)], several, has_groups=has_groups)


def leaves_of_parts(
    parts: Iterable[tuple[Sequence[str], Iterable[Text]]], several: Collection[str], *, has_groups: bool
) -> Leaves:
    """The leaves of rows that come some thousand at a time: the texts of all would not stay in memory.

    Args:
        parts: keys, and a text for each.
        several: the keys that come more than once.
        has_groups: whether the columns that count have groups.
    """
    found: dict[str, bytes] = {}
    together: dict[str, list[bytes]] = {key: [] for key in several}
    rows, new = 0, _LEAF.copy
    for keys, texts in parts:
        rows += len(keys)
        # As `leaf` does it, without its calls: a year has a hundred million rows.
        for key, text in zip(keys, texts, strict=True):
            if key in together:
                together[key].append(bytes(text))
            else:
                made = new()
                made.update(text)
                found[key] = made.digest()
    found.update((key, leaf(some, has_groups=has_groups)) for key, some in together.items())
    ordered = tuple(sorted(found))
    return Leaves(ordered, b"".join([found[key] for key in ordered]), rows)


def leaf(texts: Sequence[Text], *, has_groups: bool) -> bytes:
    """The hash of the leaf for the texts of a key's rows.

    RFC 6962 over the texts, sorted, a line each. With groups those that differ in the last one alone are one
    text before (`audit.evidence.row_texts.merged`).
    """
    found = _LEAF.copy()
    found.update(b"\n".join(merged(texts) if has_groups else sorted(map(bytes, texts))))
    return found.digest()
