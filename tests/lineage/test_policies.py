"""Policies against whatever a statement does: no way around, no error, no endless loop."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage import MemoryCatalog, analyze, parse

STARS = "CREATE MASKING POLICY stars AS (val STRING) RETURNS STRING -> '*'"


def masked() -> MemoryCatalog:
    """`t.a` shows nothing of itself, through views and temporary views neither; `t` has a row filter on b."""
    return MemoryCatalog(
        {"s.t": {"a": "STRING", "b": "INT"}, "s.u": {"x": "STRING"}},
        {"s.v": "SELECT a, b FROM t", "s.vv": "SELECT a AS x, b FROM v WHERE b > 0"},
        {"s.g": "CREATE FUNCTION g(n STRING) RETURNS STRING RETURN n || (SELECT max(a) FROM t)"},
        {"s.stars": STARS, "s.few": "CREATE ROW ACCESS POLICY few AS (n INT) RETURNS BOOLEAN -> n > 1"},
        "s",
        temp_views={"tv": "SELECT * FROM v"},
        attached=[
            "ALTER TABLE t ALTER COLUMN a SET MASKING POLICY stars",
            "ALTER TABLE t ADD ROW ACCESS POLICY few ON (b)",
        ],
    )


ITEMS = st.sampled_from(
    [
        "*", "a", "upper(a)", "max(a)", "count(a)", "a || b", "(SELECT max(a) FROM t)", "g('x')", "g(a)",
        "CASE WHEN a = 'x' THEN a END", "max(a) OVER (PARTITION BY a ORDER BY b)", "struct(a, b)",
        "struct(*)", "named_struct('k', a).k", "array(a)[0]", "transform(array(a), q -> q || a)", "t.a",
        "q.*", "explode(array(a))", "a AS b", "first(a) FILTER (WHERE a > 'x')", "a IN (SELECT x FROM u)",
        "b",
    ]
)  # fmt: skip
FROMS = st.sampled_from(
    [
        "t", "v", "vv", "tv", "S.T AS q", "t VERSION AS OF 3", "(SELECT * FROM t) q", "(TABLE v) q",
        "t q JOIN u ON q.a = u.x", "t JOIN v USING (a)", "t NATURAL JOIN v", "u, LATERAL (SELECT a FROM t) q",
        "t LATERAL VIEW explode(array(a)) e AS k", "(SELECT a, b FROM t UNION SELECT x, 1 FROM u) q",
        "t TABLESAMPLE (10 PERCENT)",
        "(VALUES ((SELECT max(a) FROM t))) AS q(a)", "t AS q(a, b)",
        "(SELECT b, max(a) AS a FROM t GROUP BY b) q", "t PIVOT (max(a) FOR b IN (1))", "spark_catalog.s.t",
        "(FROM t |> EXTEND a AS c |> SELECT c AS a) q", "(SELECT (SELECT a) AS a FROM t) q",
    ]
)  # fmt: skip
SHELLS = st.sampled_from(
    [
        "SELECT {i} FROM {f}",
        "WITH q AS (SELECT {i} FROM {f}) SELECT * FROM q",
        "INSERT INTO u SELECT {i} FROM {f}",
        "CREATE TABLE n AS SELECT {i} FROM {f}",
        "SELECT * FROM (SELECT {i} FROM {f}) q1 ORDER BY 1",
        "FROM {f} INSERT INTO u SELECT {i}",
        "COPY INTO '/out/x' FROM (SELECT {i} FROM {f})",
        "CACHE TABLE c AS SELECT {i} FROM {f}",
        "EXECUTE IMMEDIATE 'SELECT {i} FROM {f}'",
        "MERGE INTO u USING (SELECT {i} FROM {f}) q1 ON u.x = q1.a WHEN MATCHED THEN UPDATE SET x = q1.a",
    ]
)


def sources(access):
    """Every base source that a record names."""
    for column in access.columns:
        yield from column.base_sources
        yield from column.indirect_sources
    for item in access.objects_modified:
        for column in item.columns:
            yield from column.base_sources


@settings(max_examples=300, deadline=None)
@given(st.lists(ITEMS, min_size=1, max_size=3), FROMS, SHELLS)
def test_no_statement_gets_behind_a_mask_of_stars(items, source, shell):
    """A constant policy leaves its column in no base source, and who reads the table meets both policies."""
    sql = shell.format(i=", ".join(items), f=source)
    if "EXECUTE" in shell:
        sql = "EXECUTE IMMEDIATE '" + sql[len("EXECUTE IMMEDIATE '") : -1].replace("'", "\\'") + "'"
    access = analyze(sql, masked())
    assert not [r for r in sources(access) if (r.object_name, r.column_name) == ("spark_catalog.s.t", "a")]
    read = [o for o in access.base_objects_accessed if o.name == "spark_catalog.s.t"]
    if not read:
        return
    [referenced] = [p for p in access.policies_referenced if p["objectName"] == "spark_catalog.s.t"]
    assert [p["policyName"] for p in referenced["policies"]] == ["spark_catalog.s.few"]
    assert ("a" in {c.name for o in read for c in o.columns}) == ("columns" in referenced)


WORDS = st.sampled_from(
    [
        "ALTER", "CREATE", "DROP", "UNDROP", "TABLE", "VIEW", "SCHEMA", "t", "s.t", "`a.b`", "COLUMN", "a",
        "SET", "UNSET", "MASKING", "ROW", "ACCESS", "POLICY", "POLICIES", "ALL", "ADD", "ON", "USING", "(",
        ")", ",", "TAG", "=", "'x'", "SWAP", "WITH", "IF", "EXISTS", "NOT", "AS", "RETURNS", "STRING",
        "->", "val",
        "CASE", "RENAME", "TO", "BODY", "ALLOWED_VALUES", "COMMENT", "CLONE", "REPLACE", "OR", "FORCE",
        "1", ";",
    ]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(["ALTER TABLE t", "CREATE", "ALTER", "DROP", "UNDROP"]), st.lists(WORDS, max_size=12))
def test_any_words_are_read_without_an_error(start, words):
    """DDL on policies and tags, torn and shuffled, is a record or a reason."""
    access = analyze(" ".join([start, *words]), masked())
    assert access.analysis == "full" or access.reason


@pytest.mark.parametrize(
    "body",
    ["(SELECT max(a) FROM t)", "(SELECT max(a) FROM v)", "(SELECT max(x) FROM vv)", "g(val)"],
    ids=["table", "view", "view of a view", "function"],
)
def test_a_policy_that_reads_its_own_table_ends(body):
    """The body reads with its owner's rights, behind no policy: its own table is a mapping table."""
    catalog = MemoryCatalog(
        {"s.t": {"a": "STRING"}},
        {"s.v": "SELECT a FROM t", "s.vv": "SELECT a AS x FROM v"},
        {"s.g": "CREATE FUNCTION g(n STRING) RETURNS STRING RETURN (SELECT max(a) FROM t)"},
        {"s.own": f"CREATE MASKING POLICY own AS (val STRING) RETURNS STRING -> {body}"},
        "s",
        attached=["ALTER TABLE t ALTER COLUMN a SET MASKING POLICY own"],
    )
    for sql in ("SELECT a FROM t", "SELECT x FROM vv, t", "SELECT x, t.a FROM t, vv"):
        access = analyze(sql, catalog)
        assert access.analysis == "full"
        assert [r.column_name for r in access.columns[0].base_sources] == ["a"]
        assert len(access.policies_referenced) == 1


def test_a_view_that_a_policy_reads_is_protected_where_the_statement_reads_it():
    """What a policy's body has opened without policies is not taken for what the statement reads."""
    catalog = MemoryCatalog(
        {"s.t": {"a": "STRING", "b": "STRING"}},
        {"s.v": "SELECT b FROM t"},
        {},
        {
            "s.by_v": "CREATE MASKING POLICY m AS (x STRING) RETURNS STRING -> (SELECT max(b) FROM v)",
            "s.stars": STARS,
        },
        "s",
        attached=[
            "ALTER TABLE t ALTER COLUMN a SET MASKING POLICY by_v",
            "ALTER TABLE t ALTER COLUMN b SET MASKING POLICY stars",
        ],
    )
    access = analyze("SELECT t.a, v.b FROM t, v", catalog)
    assert [r.column_name for r in access.columns[0].base_sources] == ["b"]
    assert access.columns[1].base_sources == ()
    said = {c["columnName"] for item in access.policies_referenced for c in item["columns"]}
    assert said == {"a", "b"}


def test_a_catalog_without_policies_needs_none():
    """The protocol's three methods are enough: `policies` is asked only of a catalog that has it."""

    class Plain:
        current = ("spark_catalog", "s")
        _inner = masked()

        def relation(self, parts, current=None):
            return self._inner.relation(parts, current)

        def path(self, provider, location):
            return self._inner.path(provider, location)

        def function(self, parts, current=None):
            return self._inner.function(parts, current)

    access = analyze("SELECT a FROM t", Plain())
    assert access.policies_referenced == ()
    assert [r.column_name for r in access.columns[0].base_sources] == ["a"]


def test_kinds_of_governance_statements():
    """QUERY_TYPE of what Spark lacks; all of it is DDL."""
    kinds = {
        "CREATE OR REPLACE MASKING POLICY m AS (v INT) RETURNS INT -> v": "CREATE_MASKING_POLICY",
        "ALTER ROW ACCESS POLICY r RENAME TO q": "RENAME_ROW_ACCESS_POLICY",
        "DROP TAG g": "DROP_TAG",
        "UNDROP DATABASE d": "UNDROP_SCHEMA",
        "ALTER TABLE a SWAP WITH b": "SWAP_TABLE",
        "ALTER TABLE a SET TAG g = 'x'": "ALTER_TABLE",
        "CREATE SCHEMA a CLONE b": "CREATE_SCHEMA",
    }
    for sql, kind in kinds.items():
        statement = parse(sql)
        assert (statement.statement_type, statement.is_ddl) == (kind, True), sql
    assert [t.parts for t in parse("ALTER TABLE a SWAP WITH s.b").targets] == [("a",), ("s", "b")]


CLAUSES = [
    ("(a BOOLEAN DEFAULT 1 < 2, b STRING MASKING POLICY p)", [("b", "p")]),
    ("(mask STRING, tag STRING MASK f USING COLUMNS (mask) COMMENT 'MASKING POLICY p')", [("tag", "f")]),
    ("(a STRING) USING delta WITH ROW FILTER f ON () WITH TAG (g = 'x')", [(None, "f"), (None, "g")]),
    ("USING delta ROW ACCESS POLICY r ON (a) SELECT tag (a = 'x') FROM u", [(None, "r")]),
    ("USING delta AS WITH tag (a) AS (SELECT 1) SELECT tag(a = 'x') FROM tag", []),
    ("(a STRING MASKING POLICY p USING (a, 1))", []),
    ("(a STRUCT<b: STRING MASKING POLICY p>)", []),
    ("(a STRING) PARTITIONED BY (a MASKING POLICY p)", []),
    ("(a STRING) TBLPROPERTIES ('MASKING POLICY' = 'p') COMMENT 'WITH TAG (a = 1)'", []),
]


@pytest.mark.parametrize(("rest", "said"), CLAUSES, ids=[rest for rest, _ in CLAUSES])
def test_clauses_of_a_create(rest, said):
    """A clause is that of the column it stands behind; what is not read to its end is left to Spark."""
    found = parse(f"CREATE TABLE t {rest}").changes
    assert [(change.column, change.name[-1]) for change in found] == said
