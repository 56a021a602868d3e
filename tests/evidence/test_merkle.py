"""Merkle trees: the vectors of Certificate Transparency, and proofs that hold and that do not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.evidence.merkle import (
    EMPTY,
    consistency_proof,
    inclusion_proof,
    is_consistent,
    is_included,
    leaf_hash,
    root,
)

# testdata of Certificate Transparency (merkle/testonly).
LEAVES = [
    leaf_hash(bytes.fromhex(text))
    for text in (
        "", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f",
    )
]  # fmt: skip
ROOTS = (
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
)
SIZES = st.integers(1, 70)


def leaves(size):
    """Hashes of different leaves."""
    return [leaf_hash(str(number).encode()) for number in range(size)]


@pytest.mark.parametrize("size", range(1, 9))
def test_known_roots(size):
    """Those that every implementation has."""
    assert root(LEAVES[:size]).hex() == ROOTS[size - 1]


@given(SIZES, st.data())
def test_a_leaf_is_included(size, data):
    """At its place and in its tree; nowhere else, and no other leaf."""
    made, index = leaves(size), data.draw(st.integers(0, size - 1))
    proof, top = inclusion_proof(made, index), root(made)
    assert is_included(made[index], index, size, proof, top)
    other = data.draw(st.integers(-1, size + 1).filter(lambda at: at != index))
    assert not is_included(made[index], other, size, proof, top)
    assert not is_included(leaf_hash(b"x"), index, size, proof, top)
    assert not is_included(made[index], index, size, [*proof, top], top)
    assert not is_included(made[index], index, size, proof[:-1], top) or not proof


@given(SIZES, st.data())
def test_a_tree_grows_out_of_another_one(size, data):
    """The proof holds for these two trees alone; a changed, or missing, older leaf is found."""
    old_size = data.draw(st.integers(0, size))
    made = leaves(size)
    old, new, proof = root(made[:old_size]), root(made), consistency_proof(made, old_size)
    assert is_consistent(old_size, old, size, new, proof)
    if old_size:
        changed = [*made]
        changed[data.draw(st.integers(0, old_size - 1))] = leaf_hash(b"x")
        forged = consistency_proof(changed, old_size)
        assert not is_consistent(old_size, old, size, root(changed), forged)
    assert not is_consistent(old_size, leaf_hash(b"x"), size, new, proof)
    assert not is_consistent(size + 1, new, size, new, [])
    assert not is_consistent(old_size, old, size, new, [*proof, new])


def test_nothing():
    """A tree without leaves, and leaves that are not there."""
    assert root([]) == EMPTY
    assert is_consistent(0, EMPTY, 3, root(leaves(3)), [])
    with pytest.raises(IndexError, match="no leaf 3 of 3"):
        inclusion_proof(leaves(3), 3)
    with pytest.raises(IndexError, match="no 4 leaves, but 3"):
        consistency_proof(leaves(3), 4)
