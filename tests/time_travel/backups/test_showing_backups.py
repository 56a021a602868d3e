"""What SHOW, DESCRIBE and the views say of backup policies, backup sets and backups."""

from __future__ import annotations

import pytest

from audit import attached_sessions
from audit.core.clock import to_datetime
from audit.query.tables import opened
from tests.sessions import NO_TABLES

pytestmark = pytest.mark.spark

ATTACH = NO_TABLES
LEDGER = "moving_session"


@pytest.fixture
def session(moving_session):
    """On a clock that moves."""
    return moving_session


@pytest.fixture
def kept(session, schema):
    """Two policies, three sets and a backup under a legal hold; the id of the backup."""
    session.sql("CREATE TABLE sales AS SELECT 1 AS a")
    session.sql("CREATE BACKUP POLICY daily SCHEDULE = '24 HOUR' EXPIRE_AFTER_DAYS = 90 COMMENT = 'each day'")
    session.sql("CREATE BACKUP POLICY locked WITH RETENTION LOCK EXPIRE_AFTER_DAYS = 30")
    session.sql("CREATE BACKUP SET a_sales FOR TABLE sales WITH BACKUP POLICY daily COMMENT = 'of sales'")
    session.sql(f"CREATE BACKUP SET b_all FOR SCHEMA {schema} WITH BACKUP POLICY locked")
    session.sql("CREATE BACKUP SET c_free FOR TABLE sales")
    session.sql("ALTER BACKUP SET b_all SUSPEND BACKUP CREATION POLICY")
    session.sql("ALTER BACKUP SET a_sales ADD BACKUP")
    ((backup,),) = told(session, "SHOW BACKUPS IN BACKUP SET a_sales", ["backup_id"])
    hold = f"ALTER BACKUP SET a_sales MODIFY BACKUP IDENTIFIER '{backup}'"
    session.sql(f"{hold} ADD LEGAL HOLD")
    yield backup
    session.sql(f"{hold} REMOVE LEGAL HOLD")


def told(session, text, columns):
    """Some columns of what a statement answers."""
    return [tuple(row[name] for name in columns) for row in session.sql(text).collect()]


def test_policies(session, schema, kept):
    """Snowflake's columns; LIKE, STARTS WITH, LIMIT … FROM and IN choose."""
    columns = (
        "name", "database_name", "schema_name", "owner", "comment", "schedule", "expire_after_days",
        "has_retention_lock",
    )  # fmt: skip
    daily = ("daily", "spark_catalog", schema, "ann", "each day", "24 HOUR", 90, "N")
    locked = ("locked", "spark_catalog", schema, "ann", None, None, 30, "Y")
    here = f"IN SCHEMA {schema}"
    assert told(session, f"SHOW BACKUP POLICIES {here}", columns) == [daily, locked]
    assert told(session, "DESCRIBE BACKUP POLICY daily", columns) == [daily]
    assert told(session, f"SHOW BACKUP POLICIES LIKE 'DAI%' {here}", columns) == [daily]
    assert told(session, f"SHOW BACKUP POLICIES {here} STARTS WITH 'lo'", columns) == [locked]
    assert told(session, f"SHOW BACKUP POLICIES {here} LIMIT 1", columns) == [daily]
    assert told(session, f"SHOW BACKUP POLICIES {here} LIMIT 5 FROM 'locked'", columns) == [locked]
    assert told(session, "SHOW BACKUP POLICIES IN SCHEMA default", columns) == []


def test_sets(session, schema, kept):
    """Of what each is, by which policy, and what of it is suspended."""
    columns = (
        "name", "schema_name", "object_kind", "object_name", "object_schema_name", "owner", "comment",
        "backup_policy_name", "backup_policy_schema_name", "backup_creation_policy_state",
        "backup_expiration_policy_state",
    )  # fmt: skip
    of_table, of_schema = (schema, "TABLE", "sales", schema), (schema, "SCHEMA", schema, schema)
    a = ("a_sales", *of_table, "ann", "of sales", "daily", schema, "STARTED", "STARTED")
    b = ("b_all", *of_schema, "ann", None, "locked", schema, "SUSPENDED", "STARTED")
    c = ("c_free", *of_table, "ann", None, None, None, None, None)
    here = f"IN SCHEMA {schema}"
    assert told(session, f"SHOW BACKUP SETS {here}", columns) == [a, b, c]
    assert told(session, "DESCRIBE BACKUP SET b_all", columns) == [b]
    assert told(session, f"SHOW BACKUP SETS LIKE '%FREE' {here}", columns) == [c]
    assert told(session, f"SHOW BACKUP SETS {here} STARTS WITH 'B'", columns) == []


def test_backups(session, schema, kept):
    """When each expires, and which is held."""
    (row,) = session.sql("SHOW BACKUPS IN BACKUP SET a_sales").collect()
    size = session.sql("DESCRIBE DETAIL sales").first().sizeInBytes
    expected = {
        "backup_id": kept, "backup_set_name": "a_sales", "database_name": "spark_catalog",
        "schema_name": schema, "is_under_legal_hold": "Y", "bytes": size,
    }  # fmt: skip
    assert {name: row[name] for name in expected} == expected
    assert (row.expiration_scheduled_for - row.created_on).days == 90
    assert session.sql("SHOW BACKUPS IN BACKUP SET c_free").collect() == []


VIEWS = {
    "backup_policies": ("name", "schedule", "expire_after_days", "has_retention_lock", "owner", "comment"),
    "backup_sets": (
        "name", "object_kind", "object_name", "object_schema_name", "backup_policy_name",
        "backup_policy_schema_name", "is_creation_suspended", "is_expiration_suspended", "owner", "comment",
    ),
    "backups": ("id", "backup_set_name", "deleted_by", "is_under_legal_hold", "is_scheduled", "tables"),
    "backup_storage_usage": ("backup_set_name", "backups", "held_backups", "bytes"),
}  # fmt: skip
SCHEMA_OF = {"backups": "backup_set_schema", "backup_storage_usage": "backup_set_schema"}


def test_the_views(session, schema, kept, moving_clock):
    """Each value, in Spark and in DuckDB; what is deleted keeps its row, with who deleted it."""
    size = session.sql("DESCRIBE DETAIL sales").first().sizeInBytes
    session.sql("ALTER BACKUP SET c_free ADD BACKUP")
    ((gone,),) = told(session, "SHOW BACKUPS IN BACKUP SET c_free", ["backup_id"])
    moving_clock.advance(hours=1)
    session.sql(f"ALTER BACKUP SET c_free DELETE BACKUP IDENTIFIER '{gone}'")
    session.sql("DROP BACKUP SET c_free")
    expected = {
        "backup_policies": [
            ("daily", "24 HOUR", 90, "N", "ann", "each day"), ("locked", None, 30, "Y", "ann", None),
        ],
        "backup_sets": [
            ("a_sales", "TABLE", "sales", schema, "daily", schema, "N", "N", "ann", "of sales"),
            ("b_all", "SCHEMA", schema, schema, "locked", schema, "Y", "N", "ann", None),
            ("c_free", "TABLE", "sales", schema, None, None, "N", "N", "ann", None),
        ],
        "backups": sorted([
            (kept, "a_sales", None, "Y", "N", 1), (gone, "c_free", "STATEMENT", "N", "N", 1),
        ]),
        "backup_storage_usage": [("a_sales", 1, 1, size)],
    }  # fmt: skip
    root = attached_sessions.find(session).services.config.root
    for view, columns in VIEWS.items():
        here = f"{SCHEMA_OF.get(view, 'schema_name')} = '{schema}'"
        query = f"SELECT {', '.join(columns)} FROM account_usage.{view} WHERE {here} ORDER BY 1"
        assert told(session, query, columns) == expected[view], view
        with opened(root) as tables:
            assert tables.ask(query, {}).rows == expected[view], view
    times = "SELECT created, deleted, expiration_scheduled_for FROM account_usage.backups"
    with opened(root) as tables:
        ((created, deleted, expires),) = tables.ask(f"{times} WHERE id = '{gone}'", {}).rows
        dropped = "SELECT name FROM account_usage.backup_sets WHERE deleted IS NOT NULL"
        assert tables.ask(f"{dropped} AND schema_name = '{schema}'", {}).rows == [("c_free",)]
    assert (deleted - created).seconds >= 3_600
    assert expires is None
    with opened(root) as tables:
        ((created, _, expires),) = tables.ask(f"{times} WHERE id = '{kept}'", {}).rows
    assert (expires - created).days == 90
    assert deleted <= to_datetime(moving_clock.now()).replace(tzinfo=None)
