"""What belongs to a session: temporary views and cached tables are no objects of a record."""

from __future__ import annotations

import pytest

from lineage import MemoryCatalog, analyze, analyze_script

CATALOG = MemoryCatalog(
    {"s.t": {"a": "int", "b": "int"}, "s.w": {"id": "int", "v": "int"}},
    {"s.kept": "SELECT a, b FROM t WHERE b > 0"},
    temp_views={
        "q": "SELECT a AS id, b AS v FROM t",
        "over_q": "SELECT id FROM q",
        "over_view": "SELECT a FROM kept",
    },
    current_schema="s",
)


def objects(access):
    """The names of all objects of a record."""
    ddl = access.object_modified_by_ddl
    return {
        *(o.name.removeprefix("spark_catalog.") for o in access.direct_objects_accessed),
        *(o.name.removeprefix("spark_catalog.") for o in access.base_objects_accessed),
        *(o.name.removeprefix("spark_catalog.") for o in access.objects_modified),
        *([ddl.name.removeprefix("spark_catalog.")] if ddl else []),
    }


@pytest.mark.parametrize(
    ("sql", "named"),
    [
        ("SELECT * FROM q", {"s.t"}),
        ("SELECT count(*) FROM q", {"s.t"}),
        ("SELECT 1 FROM w WHERE EXISTS (SELECT 1 FROM over_q WHERE over_q.id = w.id)", {"s.t", "s.w"}),
        ("SELECT a FROM over_view", {"s.kept", "s.t"}),
        ("WITH c AS (TABLE q) SELECT * FROM c JOIN q USING (id)", {"s.t"}),
        ("INSERT INTO w SELECT * FROM q", {"s.t", "s.w"}),
        ("CREATE TABLE n AS SELECT id FROM over_q", {"s.t", "s.n"}),
        ("MERGE INTO w USING q ON w.id = q.id WHEN MATCHED THEN UPDATE SET *", {"s.t", "s.w"}),
        ("CACHE TABLE q", {"s.t"}),
        ("CREATE OR REPLACE TEMPORARY VIEW q AS SELECT 1 AS one", set()),
        ("CREATE TEMPORARY VIEW r (x) AS SELECT id FROM q", set()),
        ("ALTER VIEW q AS SELECT id FROM w", set()),
        ("DROP VIEW q", set()),
        ("DROP VIEW IF EXISTS over_q", set()),
    ],
)
def test_a_temporary_view_is_opened_and_never_named(sql, named):
    """What it reads stands in its place, down to the next view that is an object."""
    access = analyze(sql, CATALOG)
    assert (access.analysis, objects(access)) == ("full", named)


@pytest.mark.parametrize(
    ("sql", "written"),
    [
        ("DELETE FROM q WHERE id > 1", set()),
        ("DELETE FROM over_q", set()),
        ("UPDATE q SET v = id WHERE id > 1", {("b", ("a",))}),
        ("UPDATE over_q AS o SET o.id = 3", {("a", ())}),
        (
            "MERGE INTO q USING w ON q.id = w.id WHEN MATCHED THEN UPDATE SET *",
            {("a", ("id",)), ("b", ("v",))},
        ),
    ],
)
def test_what_is_written_through_a_temporary_view_is_written_to_its_table(sql, written):
    """Delta (4.4) changes the table below; the view is no object of a record, its columns are the table's."""
    access = analyze(sql, CATALOG)
    assert access.analysis == "full"
    (changed,) = access.objects_modified
    assert changed.name == "spark_catalog.s.t"
    assert {(c.name, tuple(r.column_name for r in c.base_sources)) for c in changed.columns} == written
    assert objects(access) <= {"s.t", "s.w"}


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO q VALUES (1, 2)",
        "DELETE FROM joined",
        "UPDATE joined SET v = 1",
        "FROM w INSERT INTO q SELECT id, v",
    ],
)
def test_a_temporary_view_that_cannot_be_written_through_is_not_named(sql):
    """Spark refuses it. It is no object of the failed statement's record either."""
    catalog = MemoryCatalog(
        {"s.t": {"a": "int", "b": "int"}, "s.w": {"id": "int", "v": "int"}},
        temp_views={
            "q": "SELECT a AS id, b AS v FROM t",
            "joined": "SELECT t.a, w.v FROM t JOIN w ON a = id",
        },
        current_schema="s",
    )
    access = analyze(sql, catalog)
    assert (access.analysis, access.objects_modified) == ("partial", ())
    assert objects(access) <= {"s.t", "s.w"}


@pytest.mark.parametrize(
    ("sql", "named"),
    [
        ("CACHE TABLE t", {"s.t"}),
        ("CACHE TABLE c AS SELECT a FROM t", {"s.t"}),
        ("CACHE TABLE kept", {"s.kept", "s.t"}),
        ("UNCACHE TABLE t", set()),
        ("UNCACHE TABLE IF EXISTS c", set()),
        ("CLEAR CACHE", set()),
        ("REFRESH TABLE t", set()),
    ],
)
def test_what_is_cached_is_read_at_once(sql, named):
    """To forget it reads nothing."""
    access = analyze(sql, CATALOG)
    assert (access.analysis, objects(access)) == ("full", named)


@pytest.mark.parametrize(
    "sql",
    [
        "CACHE LAZY TABLE t",
        "CACHE LAZY TABLE c AS SELECT a FROM t",
        "CACHE LAZY TABLE c OPTIONS ('storageLevel' = 'DISK_ONLY') SELECT a FROM t",
    ],
)
def test_what_is_cached_lazily_is_read_when_it_is_first_used(sql):
    """Spark SQL reference, CACHE TABLE: LAZY caches when the table is first used, not at once."""
    assert objects(analyze(sql, CATALOG)) == set()


def test_a_temporary_view_of_a_script_hides_a_table_until_it_is_dropped():
    """Later statements that name it read what it read."""
    accesses = analyze_script(
        "CREATE TEMP VIEW w AS SELECT a AS id FROM t; SELECT id FROM w; SELECT id FROM s.w; DROP VIEW w;"
        "SELECT id FROM w",
        CATALOG,
    )
    assert [objects(access) for access in accesses] == [set(), {"s.t"}, {"s.w"}, set(), {"s.w"}]


@pytest.mark.parametrize("name", ["q", "Q", "over_q"])
def test_a_temporary_view_of_the_session_is_gone_for_the_rest_of_a_script(name):
    """After DROP VIEW its name means a table of the schema, and there is none."""
    before, _, after, again = analyze_script(
        f"SELECT id FROM {name}; DROP VIEW {name}; SELECT id FROM {name}; DROP VIEW IF EXISTS {name}", CATALOG
    )
    assert (before.analysis, objects(before)) == ("full", {"s.t"})
    assert (after.analysis, after.reason) == ("partial", f"unknown table {name}")
    assert objects(again) == set()


def test_a_dropped_temporary_view_may_be_made_again():
    """And a global one is dropped from its own schema."""
    *_, made = analyze_script("DROP VIEW q; CREATE TEMP VIEW q AS SELECT v FROM w; SELECT v FROM q", CATALOG)
    assert (made.analysis, objects(made)) == ("full", {"s.w"})
    *_, gone = analyze_script(
        "CREATE GLOBAL TEMPORARY VIEW g AS SELECT 1; DROP VIEW global_temp.g; SELECT * FROM global_temp.g",
        CATALOG,
    )
    assert gone.analysis == "partial"
    assert gone.reason.startswith("unknown table global_temp.g")
