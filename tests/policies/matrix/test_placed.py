"""Whatever the libraries offer has its place in the matrix, so that no way is forgotten."""

from __future__ import annotations

from typing import get_args

import pytest

from lineage.sql.own_statements import Governs
from lineage.sql.parse import parse
from lineage.sql.typed import OfTimeTravel
from tests.policies.matrix.libraries import public_methods, statement_alternatives
from tests.policies.matrix.methods import METHODS
from tests.policies.matrix.own_statements import OWN_STATEMENTS
from tests.policies.matrix.statements import STATEMENTS


@pytest.mark.parametrize("owner", METHODS)
def test_every_method_is_placed(owner):
    """A method that a new version of a library adds fails here until a way is written for it."""
    assert set(METHODS[owner]) == public_methods(owner)


def test_every_statement_is_placed():
    """So does a new alternative of `statement` in one of the grammars."""
    assert set(STATEMENTS) == statement_alternatives()
    assert all(STATEMENTS.values())


def test_every_statement_of_our_own_is_placed():
    """So does a new type of statement of this project; each text is read as the type that it stands under."""
    types = {one.__name__ for one in (*get_args(Governs), *get_args(OfTimeTravel))}
    assert set(OWN_STATEMENTS) == types | {"COPY", "UNLOAD"}
    named = dict.fromkeys(("t", "own", "new"), "x.x") | dict.fromkeys(("place", "above", "out"), "/x")
    for kind, texts in OWN_STATEMENTS.items():
        for text in texts:
            found = parse(text.partition(" ;; ")[0].format(bare="x", schema="x", **named))
            assert kind in (type(found.typed).__name__, found.statement_type), text
