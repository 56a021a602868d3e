"""SHOW and DESCRIBE of policies, tags and roles, read from text."""

from __future__ import annotations

import pytest

import lineage
from lineage import MemoryCatalog
from lineage.model import Domain
from lineage.sql.commands.command import CURRENT_SCHEMA, Shows

READ = [
    ("SHOW MASKING POLICIES", Shows(Domain.MASKING_POLICY)),
    ("show row access policies like 'a%' in account;", Shows(Domain.ROW_ACCESS_POLICY, "a%", None)),
    ("SHOW TAGS IN SCHEMA gov.tags", Shows(Domain.TAG, schema=("gov", "tags"))),
    ("SHOW TAGS IN gov", Shows(Domain.TAG, schema=("gov",))),
    ("SHOW TAGS IN SCHEMA", Shows(Domain.TAG, schema=CURRENT_SCHEMA)),
    ("SHOW TAGS IN DATABASE", Shows(Domain.TAG)),
    ("SHOW TAGS IN CATALOG c", Shows(Domain.TAG, schema=("c",))),
    ("SHOW ROLES LIKE 'it''s'", Shows(Domain.ROLE, "it's")),
    ("DESC MASKING POLICY g.p", Shows(Domain.MASKING_POLICY, name=("g", "p"))),
    ("DESCRIBE ROW ACCESS POLICY `a.b`", Shows(Domain.ROW_ACCESS_POLICY, name=("a.b",))),
]


@pytest.mark.parametrize(("text", "said"), READ)
def test_read(text, said):
    """What is asked for, and the kind that is on record."""
    statement = lineage.parse(text)
    assert statement.command.shows == said
    assert statement.statement_type == ("SHOW" if "show" in text.lower() else "DESCRIBE")
    assert not statement.is_ddl
    assert (statement.references, statement.targets) == ((), ())


@pytest.mark.parametrize(
    "text",
    [
        "SHOW TABLES",
        "SHOW MASKING POLICIES LIKE",
        "SHOW ROLES IN SCHEMA s",
        "SHOW MASKING POLICIES OF t",
        "DESCRIBE masking policy",
        "DESC tags",
        "DESCRIBE MASKING POLICY p q",
    ],
)
def test_other_statements_are_none_of_these(text):
    """Half a statement is Spark's to refuse; a table may be called masking."""
    assert lineage.parse(text).command.shows is None


def test_on_record():
    """They read metadata: nothing is accessed."""
    access = lineage.trace(lineage.parse("SHOW MASKING POLICIES IN ACCOUNT"), MemoryCatalog({}))
    assert (access.analysis, access.direct_objects_accessed) == ("full", ())
