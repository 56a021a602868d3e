"""Whatever the libraries offer has its place in the matrix, so that no way is forgotten."""

from __future__ import annotations

import pytest

from tests.policies.matrix.libraries import public_methods, statement_alternatives
from tests.policies.matrix.methods import METHODS
from tests.policies.matrix.statements import STATEMENTS


@pytest.mark.parametrize("owner", METHODS)
def test_every_method_is_placed(owner):
    """A method that a new version of a library adds fails here until a way is written for it."""
    assert set(METHODS[owner]) == public_methods(owner)


def test_every_statement_is_placed():
    """So does a new alternative of `statement` in one of the grammars."""
    assert set(STATEMENTS) == statement_alternatives()
    assert all(STATEMENTS.values())
