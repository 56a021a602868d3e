"""Tags go with the data: the rules, every way to write, and what cannot carry a tag."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace

import pytest

import audit
from audit.core.actor import Actor
from audit.core.errors import TagsNotPropagatedWarning
from audit.policies.model.apply_events import state_after
from audit.policies.model.events import GovernanceEvent
from audit.policies.statements.propagate_tags import tag_values, tags_to_propagate
from audit.policies.statements.set_tag import column_of, tag_set
from lineage.catalog.object_ids import column_id
from lineage.model import ColumnRef, Domain, ModifiedColumn, ModifiedObject

from .test_tags import TABLE, _after, _found

ATTACH = {"propagate_tags": True}

# -- the rules ---------------------------------------------------------------------------------

OTHER = TABLE + 1


def _wanted(statements, *sources, target="c.o.x", object_id=OTHER):
    """The values, by tag, that a column made of columns of c.s.t gets."""
    state = _after(*statements)
    refs = tuple(ColumnRef("c.s.t", name, Domain.TABLE, TABLE, column_id(TABLE, name)) for name in sources)
    column = ModifiedColumn("a", column_id(object_id, "ssn"), base_sources=refs[1:], direct_sources=refs[:1])
    found = tags_to_propagate([ModifiedObject(target, Domain.TABLE, object_id, (column,))], state)
    return {state.tags[tag].name.rpartition(".")[2]: value for tag, value in found.get("a", {}).items()}


TAG = "CREATE TAG pii"
SSN = "ALTER TABLE t ALTER COLUMN ssn SET TAG pii = 'high'"
MAIL = "ALTER TABLE t ALTER COLUMN mail SET TAG pii = 'low'"
ON_TABLE = "ALTER TABLE t SET TAG pii = 'low'"
RULES = {
    "of one source": ([TAG, SSN], ("ssn",), {"pii": "high"}),
    "of a base source": ([TAG, SSN], ("mail", "ssn"), {"pii": "high"}),
    "of none": ([TAG, SSN], ("mail",), {}),
    "of the table": ([TAG, ON_TABLE], ("mail",), {"pii": "low"}),
    "of the schema": ([TAG, "ALTER SCHEMA s SET TAG pii = 'low'"], ("mail",), {"pii": "low"}),
    "the nearest": ([TAG, ON_TABLE, SSN], ("ssn",), {"pii": "high"}),
    "several": (
        [TAG, "CREATE TAG z", SSN, "ALTER TABLE t SET TAG z = '1'"], ("ssn",), {"pii": "high", "z": "1"}),
    "the same twice": ([TAG, SSN], ("ssn", "ssn"), {"pii": "high"}),
    "different": ([TAG, SSN, MAIL], ("mail", "ssn"), {"pii": "CONFLICT"}),
    "different, allowed": (
        [f"{TAG} ALLOWED_VALUES 'low', 'high', 'CONFLICT'", SSN, MAIL], ("mail", "ssn"), {"pii": "CONFLICT"}),
    "different, not allowed": (
        [f"{TAG} ALLOWED_VALUES 'low', 'high'", SSN, MAIL], ("mail", "ssn"), {"pii": "high"}),
    "taken no longer": ([TAG, SSN, "ALTER TAG pii ADD ALLOWED_VALUES 'new'"], ("ssn",), {"pii": "high"}),
    "dropped": ([TAG, SSN, "DROP TAG pii"], ("ssn",), {}),
    "unset": ([TAG, SSN, "ALTER TABLE t ALTER COLUMN ssn UNSET TAG pii"], ("ssn",), {}),
    "there by its schema": ([TAG, SSN, "ALTER SCHEMA o SET TAG pii = 'low'"], ("ssn",), {}),
}  # fmt: skip


@pytest.mark.parametrize(("statements", "sources", "expected"), RULES.values(), ids=RULES)
def test_what_a_column_gets(statements, sources, expected):
    """Of its sources, and of what they lie in; nothing that it carries already."""
    assert _wanted(statements, *sources) == expected


@pytest.mark.parametrize(("tagged", "expected"), [([SSN], {}), ([ON_TABLE], {}), ([], {"pii": "low"})])
def test_what_the_target_carries_stays(tagged, expected):
    """By itself or by its table; a tag of another of its columns is none of its own."""
    assert _wanted([TAG, MAIL, *tagged], "mail", target="c.s.t", object_id=TABLE) == expected


def test_a_clone_hands_on_what_its_source_would():
    """The state knows the clone's columns by the ids of the source's."""
    details = {"source": "delta:u-1", "object_id": OTHER}
    copied = GovernanceEvent(9, "COPY_POLICIES", "e", None, "delta:u-2", "c.s.t", details=details)
    state = state_after([copied], _after(TAG, SSN))
    names = {"ssn": {"pii": "high"}, "mail": {}}
    for name, expected in names.items():
        column = ColumnRef("c.s.clone", name, Domain.TABLE, OTHER, column_id(OTHER, name))
        assert {
            state.tags[tag].name[4:]: value for tag, value in tag_values(column, state).items()
        } == expected


def test_a_table_is_not_the_view_that_had_its_name():
    """What a view is known by is its name: a table that is made under it later carries none of its tags."""
    view = _found("name:c.s.u")
    state = _after(TAG, SSN)
    tag = next(iter(state.tags))
    actor = Actor(5, "ann", None, lambda: "e")
    new = tag_set(tag, column_of(view, "ssn"), "x", view, lambda _policy: frozenset(), actor, state)
    new = replace(new, details={**new.details, "object_domain": "VIEW", "object_id": 5})
    state = state_after([new], state)
    seen = [
        tag_values(ColumnRef("c.s.u", "ssn", domain, object_id, None), state)
        for domain, object_id in ((Domain.VIEW, 5), (Domain.VIEW, 6), (Domain.TABLE, 7))
    ]
    assert seen == [{tag: "x"}, {tag: "x"}, {}]


# -- in a session ------------------------------------------------------------------------------


@pytest.fixture
def source(session, schema):
    """A table whose columns b and c are tagged."""
    session.sql("CREATE TABLE src AS SELECT 1 AS a, 'x' AS b, 'y' AS c")
    session.sql("CREATE TAG pii")
    session.sql("ALTER TABLE src ALTER COLUMN b SET TAG pii = 'high', COLUMN c SET TAG pii = 'low'")
    return schema


def _tags(session, *name):
    """The values of a target's tags by column."""
    policies = session._audit.services.policies
    known = policies._event_log.state().objects.get(policies.enforcer.describe(session, name).key)
    columns = {} if known is None else known.column_tags
    return {known.columns[key][0]: next(iter(tags.values())) for key, tags in columns.items()}


def _merged(session):
    from delta.tables import DeltaTable

    frame = session.table("src").alias("s")
    merging = DeltaTable.forName(session, "t").alias("t").merge(frame, "t.k = s.a")
    merging.whenNotMatchedInsert(values={"k": "s.a", "v": "s.b"}).execute()


def _streamed(session, place):
    writer = session.readStream.table("src").selectExpr("a AS k", "b AS v").writeStream
    writer = writer.option("checkpointLocation", str(place)).trigger(availableNow=True)
    writer.toTable("t").awaitTermination()
    assert session._audit.recorder.worker.drain()


def _each_batch(session, place):
    def take(batch, _number):
        batch.write.insertInto("t")

    writer = session.readStream.table("src").selectExpr("a AS k", "b AS v").writeStream.foreachBatch(take)
    writer.option("checkpointLocation", str(place)).trigger(availableNow=True).start().awaitTermination()


def _stored(session):
    session.table("src").select("a", "b").localCheckpoint().write.insertInto("t")


QUERY = "SELECT a AS k, upper(b) AS v FROM src"
WAYS = {
    "CTAS": f"CREATE TABLE u AS {QUERY}",
    "VIEW": f"CREATE VIEW u AS {QUERY}",
    "INSERT": f"INSERT INTO t {QUERY}",
    "MERGE": f"MERGE INTO t USING ({QUERY}) s ON t.k = s.k WHEN NOT MATCHED THEN INSERT *",
    "UPDATE": "UPDATE t SET v = (SELECT max(b) FROM src)",
    "saveAsTable": lambda session, _: session.sql(QUERY).write.saveAsTable("u"),
    "insertInto": lambda session, _: session.table("src").select("a", "b").write.insertInto("t"),
    "append": lambda session, _: session.sql(QUERY).writeTo("t").append(),
    "create": lambda session, _: session.sql(QUERY).writeTo("u").using("delta").create(),
    "DeltaTable": lambda session, _: _merged(session),
    "EXECUTE IMMEDIATE": f"EXECUTE IMMEDIATE 'INSERT INTO t {QUERY}'",
    "script": f"BEGIN INSERT INTO t {QUERY}; END",
    "stream": _streamed,
    "foreachBatch": _each_batch,
    "checkpoint": lambda session, _: _stored(session),
}


def test_every_way_to_write(session, source, tmp_path):
    """When the write returns, the column that was made of a tagged one has its tag, and no other has."""
    found = {}
    for way, how in WAYS.items():
        session.sql("CREATE TABLE t (k INT, v STRING)")
        if isinstance(how, str):
            session.sql(how)
        else:
            how(session, tmp_path / way)
        found[way] = _tags(session, "u" if session.catalog.tableExists("u") else "t")
        session.sql("DROP TABLE t")
        session.sql("DROP VIEW u" if way == "VIEW" else "DROP TABLE IF EXISTS u")
    assert found == {way: {"v": "high"} for way in WAYS}
    session.createDataFrame([(1, "x")], "k INT, v STRING").write.saveAsTable("made_of_nothing")
    assert _tags(session, "made_of_nothing") == {}
    session.sql(QUERY).write.save(f"{tmp_path}/by_path")
    assert _tags(session, "delta", f"{tmp_path}/by_path") == {"v": "high"}


def test_with_the_tag_comes_the_mask(session, source):
    """Through views and tables between; whoever reads what was made sees what the source shows them."""
    session.sql("CREATE MASKING POLICY m AS (v STRING) RETURNS STRING ->"
                " CASE WHEN is_role_in_session('HR') THEN v ELSE '***' END")  # fmt: skip
    session.sql("ALTER TAG pii SET MASKING POLICY m")
    asked = "SELECT x, y, z, n FROM t1, t2"
    with audit.as_user(session, "bob", roles=["hr"]):
        session.sql("CREATE VIEW v1 AS SELECT concat(b, '!') AS one, concat(b, c) AS two FROM src")
        grouped = "SELECT two AS x, max(one) AS y, count(*) AS n FROM v1 WHERE one <> '' GROUP BY two"
        session.sql(f"CREATE TABLE t1 AS {grouped}")
        session.sql("CREATE TABLE t2 AS SELECT lower(y) AS z FROM t1")
        assert tuple(session.sql(asked).first()) == ("xy", "x!", "x!", 1)
    assert _tags(session, "t1") == {"x": "CONFLICT", "y": "high"}
    with audit.as_user(session, "bob", roles=["other"]):
        assert tuple(session.sql(asked).first()) == ("***", "***", "***", 1)
    with audit.as_user(session, "bob", roles=["hr"]):
        session.sql("INSERT OVERWRITE t2 SELECT 'free'")
    assert _tags(session, "t2") == {"z": "high"}
    session.sql("ALTER TAG pii UNSET MASKING POLICY m")


ROWS = (
    "SELECT query_id, analysis, analysis_reason FROM account_usage.access_history"
    " JOIN account_usage.query_history USING (query_id) WHERE schema_name = '{}' AND {} ORDER BY query_id"
)


def test_on_record(session, source):
    """The event has the statement's id and user, and says that nobody set it by hand; it is set once."""
    with audit.as_user(session, "bob"):
        session.sql(f"CREATE TABLE u AS {QUERY}")
        session.sql(f"INSERT INTO u {QUERY}")
    audit.flush(session)
    with audit.suppress():
        history = session.read.format("delta").load(session._audit.services.policies._event_log.location)
        rows = history.where(f"event = 'SET_TAG' AND name LIKE '%{source}.u'").collect()
    made = session.sql(ROWS.format(source, "query_text LIKE 'CREATE TABLE u%'")).first()
    assert [(row.query_id, row.user_name, json.loads(row.details)["propagated"]) for row in rows] == [
        (made.query_id, "bob", True)
    ]
    assert made.analysis == "full"


def test_what_cannot_carry_a_tag(session, source, tmp_path):
    """The write has its result, its user a warning, and the record the reason."""
    session.sql("CREATE TABLE files (k INT, v STRING) USING parquet")
    with pytest.warns(TagsNotPropagatedWarning, match="files carries no tags: it is no Delta table"):
        session.sql(f"INSERT INTO files {QUERY}")
    with pytest.warns(TagsNotPropagatedWarning, match="out carries no tags"):
        session.sql(QUERY).write.format("csv").save(f"{tmp_path}/out")
    session.sql("CREATE TABLE t (k INT, v STRING)")
    pairs = session.table("src").rdd.map(lambda row: (row.a, row.b))
    mapped = session.createDataFrame(pairs, "k INT, v STRING")
    with pytest.warns(TagsNotPropagatedWarning, match="its analysis is partial: .* a function over rows"):
        mapped.write.insertInto("t")
    session.sql("CREATE TABLE looked_up (v STRING)")
    session.sql("CREATE MASKING POLICY m2 AS (v STRING) RETURNS STRING -> (SELECT max(v) FROM looked_up)")
    session.sql("ALTER TAG pii SET MASKING POLICY m2")
    with pytest.warns(TagsNotPropagatedWarning, match="m2 of tag .* reads .*looked_up"):
        session.sql("INSERT INTO looked_up SELECT b FROM src")
    session.sql("ALTER TAG pii UNSET MASKING POLICY m2")
    assert [session.table(name).count() for name in ("files", "t", "looked_up")] == [1, 1, 1]
    audit.flush(session)
    rows = session.sql(ROWS.format(source, "analysis = 'partial'")).collect()
    reasons = ("no Delta table", "out carries no tags", "a function over rows", "looked_up")
    assert [reason in row[2] for reason, row in zip(reasons, rows, strict=True)] == [True] * 4


def test_a_failure_is_told(session, source, monkeypatch):
    """Whatever goes wrong with the tags: the write is done, its user is told, and coverage counts it."""
    services = session._audit.services

    def fail(_decide):
        raise RuntimeError("the disk is gone")

    monkeypatch.setattr(services.policies._event_log, "change", fail)
    with pytest.warns(TagsNotPropagatedWarning, match="the disk is gone"):
        session.sql(f"CREATE TABLE u AS {QUERY}")
    assert session.table("u").count() == 1
    assert services.failures.recent[-1][1] == "RuntimeError: the disk is gone"


def test_off(session, source, monkeypatch):
    """Without the setting nothing is tagged, and nothing waits; with it no query does."""
    recorder = session._audit.recorder
    waits = []
    monkeypatch.setattr(recorder.worker, "wait", waits.append)
    session.sql(QUERY).collect()
    monkeypatch.setattr(recorder.tags, "_enabled", False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        session.sql(f"CREATE TABLE u AS {QUERY}")
    assert recorder.worker.drain()
    assert (_tags(session, "u"), waits) == ({}, [])
