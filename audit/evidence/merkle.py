"""Merkle trees of RFC 6962, section 2.1: roots, and proofs that a leaf or an older tree is in one.

In: hashes of leaves, in their order. Out: roots of 32 bytes; proofs, which whoever has the root checks
without the leaves. RFC 9162, section 2.1, says how.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

EMPTY = sha256(b"").digest()
"""The root of a tree without leaves."""


def leaf_hash(data: bytes) -> bytes:
    """The hash of a leaf: no inner node has it."""
    return sha256(b"\0" + data).digest()


def root(leaves: Sequence[bytes]) -> bytes:
    """The root over the hashes of leaves.

    >>> root([leaf_hash(b"")]).hex()[:16], root([]) == EMPTY
    ('6e340b9cffb37a98', True)
    """
    *_, last = _levels(leaves)
    return last[0]


def inclusion_proof(leaves: Sequence[bytes], index: int) -> list[bytes]:
    """What `is_included` needs to see that a leaf is in the tree.

    Raises:
        IndexError: there is no such leaf.
    """
    if not 0 <= index < len(leaves):
        raise IndexError(f"there is no leaf {index} of {len(leaves)}")
    proof = []
    for level in _levels(leaves):
        if index ^ 1 < len(level):
            proof.append(level[index ^ 1])
        index //= 2
    return proof


def is_included(leaf: bytes, index: int, size: int, proof: Sequence[bytes], of: bytes) -> bool:
    """Whether a proof shows that a leaf is in a tree.

    Args:
        leaf: its hash.
        index: its place, from 0.
        size: leaves of the tree.
        proof: as `inclusion_proof` gives it.
        of: the root of the tree.
    """
    if not 0 <= index < size:
        return False
    found, last, rest = leaf, size - 1, list(proof)
    while last:
        if index % 2 or index < last:
            if not rest:
                return False
            other = rest.pop(0)
            found = _node(other, found) if index % 2 else _node(found, other)
        index, last = index // 2, last // 2
    return not rest and found == of


def consistency_proof(leaves: Sequence[bytes], size: int) -> list[bytes]:
    """What `is_consistent` needs to see that the tree of the first `size` leaves has grown into this one.

    Raises:
        IndexError: there are not as many leaves.
    """
    if not 0 <= size <= len(leaves):
        raise IndexError(f"there are no {size} leaves, but {len(leaves)}")
    return list(_subproof(leaves, size, whole=True)) if 0 < size < len(leaves) else []


def is_consistent(size: int, old: bytes, new_size: int, new: bytes, proof: Sequence[bytes]) -> bool:
    """Whether a proof shows that a tree has grown out of another one.

    Args:
        size: leaves of the older tree.
        old: its root.
        new_size: leaves of the newer tree.
        new: its root.
        proof: as `consistency_proof` gives it.
    """
    if size > new_size or size < 0:
        return False
    if size in {0, new_size}:
        return not proof and old == (new if size else EMPTY)
    rest = list(proof)
    at, last = size - 1, new_size - 1
    while at % 2:
        at, last = at // 2, last // 2
    if at and not rest:
        return False
    # A tree of a power of two is a node of the newer one: the proof need not name it.
    before = after = rest.pop(0) if at else old
    while last:
        if at % 2 or at < last:
            if not rest:
                return False
            other = rest.pop(0)
            before = _node(other, before) if at % 2 else before
            after = _node(other, after) if at % 2 else _node(after, other)
        at, last = at // 2, last // 2
    return not rest and (before, after) == (old, new)


def _node(left: bytes, right: bytes) -> bytes:
    return sha256(b"\1" + left + right).digest()


def _levels(leaves: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    """The nodes from the leaves to the root; a last one without a sibling stands for its parent."""
    level = leaves or [EMPTY]
    yield level
    while len(level) > 1:
        above = [_node(level[at], level[at + 1]) for at in range(0, len(level) - 1, 2)]
        level = [*above, level[-1]] if len(level) % 2 else above
        yield level


def _subproof(leaves: Sequence[bytes], size: int, *, whole: bool) -> Iterator[bytes]:
    """SUBPROOF of RFC 6962; `whole`: the older tree's root is known to whoever checks."""
    if size == len(leaves):
        if not whole:
            yield root(leaves)
        return
    half = 1 << (len(leaves) - 1).bit_length() - 1
    if size <= half:
        yield from _subproof(leaves[:half], size, whole=whole)
        yield root(leaves[half:])
    else:
        yield from _subproof(leaves[half:], size - half, whole=False)
        yield root(leaves[:half])


@dataclass(frozen=True, slots=True)
class Frontier:
    """A tree that grows: its size, and the roots of its complete subtrees, the largest first.

    >>> tree = Frontier()
    >>> for leaf in (b"a", b"b", b"c"):
    ...     tree = tree.with_leaf(leaf_hash(leaf))
    >>> tree.root == root([leaf_hash(b"a"), leaf_hash(b"b"), leaf_hash(b"c")])
    True
    """

    size: int = 0
    nodes: tuple[bytes, ...] = ()

    def with_leaf(self, leaf: bytes) -> Frontier:
        """The tree with one more leaf; the leaf's hash is given."""
        nodes, size, node = list(self.nodes), self.size, leaf
        while size % 2:
            node, size = _node(nodes.pop(), node), size // 2
        return Frontier(self.size + 1, (*nodes, node))

    @property
    def root(self) -> bytes:
        """The root over all leaves."""
        if not self.nodes:
            return EMPTY
        *rest, found = self.nodes
        for node in reversed(rest):
            found = _node(node, found)
        return found
