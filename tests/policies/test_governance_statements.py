"""Each statement about governance has a handler, and each type of one a form that the tests know."""

from __future__ import annotations

from types import SimpleNamespace
from typing import get_args

from audit.policies.governance_statements import GovernanceStatements
from lineage.sql.own_statements import Governs
from lineage.sql.parse import parse
from tests.lineage.sql.forms import FORMS

STATEMENTS = GovernanceStatements(SimpleNamespace(enforces=False), None, None, None)
PARSED = [parse(text) for text in FORMS]


def test_every_statement_has_a_handler():
    """A type without one would go to Spark, which has no such statement."""
    governs = [statement for statement in PARSED if isinstance(statement.typed, Governs)]
    assert [one.text for one in governs if STATEMENTS.handler_for(one) is None] == []
    assert {type(one.typed) for one in governs} == set(get_args(Governs))


def test_other_statements_have_none():
    """Unless they set policies as they create, or touch a function that a policy may call."""
    for statement in PARSED:
        if statement.statement_type in ("SELECT", "INSERT", "VACUUM", "RESTORE", "SHOW", "EXPLAIN"):
            governs = isinstance(statement.typed, Governs)
            assert (STATEMENTS.handler_for(statement) is not None) == governs, statement.text
