"""Which columns leak, of lineage on record and a governance told in statements; no Spark."""

from __future__ import annotations

import pytest

from audit.graph.errors import LineageNameUnknown
from audit.policies.model.leaks import leaks_of
from lineage.catalog.object_ids import column_id
from tests.graph.story import Story

from .told_governance import Governance, table

CATALOG = "spark_catalog"
TYPES = {"ssn": "string", "mail": "string", "n": "int"}
MASK = "CREATE MASKING POLICY m AS (v STRING) RETURNS STRING -> '*'"
SSN = "ALTER TABLE t ALTER COLUMN ssn SET MASKING POLICY m"
TAG = "CREATE TAG pii"
TAGGED = "ALTER TABLE t ALTER COLUMN mail SET TAG pii = 'x'"


def named(name, story):
    """A table of the story as the governance knows it."""
    found = table(name, *(f"{column} {kind.upper()}" for column, kind in TYPES.items()))
    identity = story.id_of(f"s.{name}")
    columns = {
        column: (label, key, column_id(identity, label), kind)
        for column, (label, key, _, kind) in found.columns.items()
    }
    return type(found)(found.key, found.is_view, (CATALOG, "s", name), identity, columns)


def story_of(story):
    """The downstream of a column; None where no statement has moved it."""

    def downstream(name):
        try:
            return story.ask(name, "downstream")
        except LineageNameUnknown:
            return None

    return downstream


@pytest.fixture
def told():
    """A story of lineage, and a function from statements to the leaks: column, source, policy, tags, hops."""
    story = Story()

    def leaks(*statements):
        tables = [named(name, story) for name in ("t", "u", "w")]
        governance = Governance(*statements, tables=tables)
        found = leaks_of(governance.state, story_of(story), lambda _name: TYPES)
        cut = f"{CATALOG}.s."
        return [
            (one.column.removeprefix(cut), one.source.removeprefix(cut), one.policy and one.policy[4:],
             tuple(tag[4:] for tag in one.tags), one.hops)
            for one in found
        ]  # fmt: skip

    story.write("s.u", {"ssn": ["s.t.ssn"], "mail": ["s.t.mail"]}, user="bob")
    story.write("s.w", {"ssn": ["s.u.ssn"], "n": ["s.u.mail"]}, user="eve")
    return leaks


def test_nothing_leaks_where_nothing_is_protected(told):
    """Without a mask and without a tag there is no leak."""
    assert told(MASK, TAG) == []


def test_copies_of_masked_and_tagged_columns_leak_nearest_first(told):
    """Each copy has its source, the source's mask or tags, and the hops between them."""
    assert told(MASK, TAG, SSN, TAGGED) == [
        ("u.mail", "t.mail", None, ("pii",), 1),
        ("u.ssn", "t.ssn", "m", (), 1),
        ("w.n", "t.mail", None, ("pii",), 2),
        ("w.ssn", "t.ssn", "m", (), 2),
    ]


def test_a_mask_or_a_tag_of_its_own_ends_a_leak(told):
    """A copy with a mask is none, whoever it comes from; a copy of the copy is a leak of both."""
    masked = told(MASK, SSN, "ALTER TABLE u ALTER COLUMN ssn SET MASKING POLICY m")
    assert masked == [("w.ssn", "u.ssn", "m", (), 1), ("w.ssn", "t.ssn", "m", (), 2)]
    tagged = told(MASK, TAG, SSN, "ALTER TABLE u ALTER COLUMN ssn SET TAG pii = 'looked at'")
    assert ("u.ssn", "t.ssn", "m", (), 1) not in tagged


def test_a_dropped_tag_neither_makes_a_leak_nor_ends_one(told):
    """A column whose tag was dropped is not tagged until UNDROP TAG brings it back."""
    assert told(TAG, TAGGED, "DROP TAG pii") == []
    looked_at = (MASK, TAG, SSN, "ALTER TABLE u ALTER COLUMN ssn SET TAG pii = 'looked at'")
    leak = ("u.ssn", "t.ssn", "m", (), 1)
    assert leak not in told(*looked_at)
    assert leak in told(*looked_at, "DROP TAG pii")
    assert leak not in told(*looked_at, "DROP TAG pii", "UNDROP TAG pii")


def test_a_mask_by_a_tag_of_the_table_covers_the_columns_of_its_type(told):
    """Sources and copies are masked by the tags of their tables, for columns of the mask's type."""
    by_tag = (MASK, TAG, "ALTER TAG pii SET MASKING POLICY m", "ALTER TABLE t SET TAG pii = 'x'")
    assert told(*by_tag) == [
        ("u.mail", "t.mail", "m", (), 1), ("u.ssn", "t.ssn", "m", (), 1),
        ("w.n", "t.mail", "m", (), 2), ("w.ssn", "t.ssn", "m", (), 2),
    ]  # fmt: skip
    assert told(*by_tag, "ALTER TABLE u SET TAG pii = 'x'", "ALTER TABLE w SET TAG pii = 'x'") == [
        ("w.n", "u.mail", "m", (), 1), ("w.n", "t.mail", "m", (), 2)
    ]  # fmt: skip


def test_a_leak_names_its_statements_in_order_and_its_users():
    """Of a column that several wrote: the queries by time, the users by name; a filter passes nothing on."""
    story = Story()
    queries = [story.write("s.u", {"ssn": ["s.t.ssn"]}, user=user) for user in ("zoe", "bob", "zoe")]
    story.write("s.w", {"n": ["s.t.n"]}, indirect=["s.t.ssn"])
    story.view("s.v", {"ssn": ["s.t.ssn"]})
    state = Governance(MASK, SSN, tables=[named("t", story)]).state
    [leak] = leaks_of(state, story_of(story), lambda _name: TYPES)
    assert (leak.query_ids, leak.users) == (tuple(queries), ("bob", "zoe"))


def test_without_lineage_nothing_is_known_to_leak():
    """A masked column that no statement on record has read has no downstream."""
    state = Governance(MASK, SSN, tables=[named("t", Story())]).state
    assert leaks_of(state, lambda _name: None, lambda _name: {}) == []
