"""What nobody uses, without Spark: dormant privileges, unused tables, objects that have no owner."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from audit.policies.model.events import GovernanceEvent
from audit.query.tables import opened
from lineage.catalog.object_ids import object_id

from .roots import add_catalog, add_governance, add_storage, make_root

NOW = datetime.now(timezone.utc).replace(tzinfo=None)
NAMES = {
    name: object_id("Table", name)
    for name in ("c.s.fresh", "c.s.stale", "c.s.never", "c.s.moved", "c.quoted.`a.b`")
}


GIVEN = object_id("Table", "given")


def ago(days):
    """So many days before now, and a minute."""
    return NOW - timedelta(days=days, minutes=1)


def micros(at):
    """UTC microseconds."""
    return int(at.replace(tzinfo=timezone.utc).timestamp() * 1_000_000)


def thing(name, number):
    """An object of a record."""
    columns = [{"columnId": number, "columnName": "a"}]
    return {"objectDomain": "Table", "objectId": number, "objectName": name, "columns": columns}


def statement(query_id, at, user, read=(), written=()):
    """A row of both tables of statements: what a user read and wrote."""
    read, written = ([thing(name, NAMES[name]) for name in names] for names in (read, written))
    who = {"query_id": query_id, "user_name": user}
    accessed = {
        "direct_objects_accessed": read,
        "base_objects_accessed": read,
        "objects_modified": written,
    }
    return {**who, "start_time": at}, {**who, "query_start_time": at, **accessed}


def grant(number, days, privilege, of, to, grantee, domain="Table"):
    """A privilege that was granted so many days ago."""
    granted = {
        "privileges": [privilege], "to": to, "grantee": grantee, "domain": domain, "option": False,
        "as_whom": ["ROLE", "ACCOUNTADMIN"],
    }  # fmt: skip
    key = f"delta:{of}" if domain == "Table" else f"name:{of}"
    return GovernanceEvent(
        micros(ago(days)), "GRANT_PRIVILEGES", f"g{number}", None, key, of, details=granted
    )


def owner(number, of, grantee, to="USER"):
    """A GRANT OWNERSHIP of 290 days ago."""
    details = {
        "to": to, "grantee": grantee, "domain": "Table", "current": "COPY",
        "as_whom": ["ROLE", "ACCOUNTADMIN"],
    }  # fmt: skip
    return GovernanceEvent(
        micros(ago(290)), "GRANT_OWNERSHIP", f"g{number}", None, f"delta:{of}", of, details=details
    )


def role(number, name, *held_by):
    """A role of 300 days ago, and who holds it."""
    at = micros(ago(300))
    yield GovernanceEvent(at, "CREATE_ROLE", f"r{number}", name=name, details={"comment": None})
    for to, grantee in held_by:
        details = {"to": to, "grantee": grantee, "as_whom": ["ROLE", "ACCOUNTADMIN"], "option": False}
        yield GovernanceEvent(at, "GRANT_ROLE", f"r{number}{grantee}", name=name, details=details)


def relation(name, number, made_ago, deleted=None):
    """A table of the catalog."""
    schema, table = name.removeprefix("c.").split(".", 1)
    found = (
        name,
        schema,
        "Table",
        number,
        "c",
        table,
        None,
        None,
        "ann",
        None,
        ago(made_ago),
        deleted,
        None,
        None,
    )
    return ("RELATION", found, *[None] * 3, NOW)


def column(name, table, known_as):
    """A column of a table."""
    place = known_as.removeprefix("c.").split(".", 1)
    found = (1, name, table, place[1], place[0], "c", 1, None, "YES", "int", *[None] * 3)
    return ("ATTRIBUTE", None, found, *[None] * 2, NOW)


def defined(query_id, at, user, name, domain="Table", number=77):
    """A row of both tables of statements: what a user created."""
    ddl = {
        "objectDomain": domain,
        "objectId": number,
        "objectName": name,
        "operationType": "CREATE",
        "properties": "{}",
    }
    who = {"query_id": query_id, "user_name": user}
    return {**who, "start_time": at}, {**who, "query_start_time": at, "object_modified_by_ddl": ddl}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A year of ann and bob: what was read 29, 30 and 200 days ago, what was never."""
    rows = [
        statement("q0", ago(365), "ann", written=["c.s.never"]),
        statement("q1", ago(200), "ann", read=["c.s.moved"]),
        statement("q2", ago(30), "bob", read=["c.s.stale"]),
        statement("q3", ago(29), "bob", read=["c.s.fresh"]),
        statement("q5", ago(100), "ann", read=["c.quoted.`a.b`"]),
        statement("q4", ago(0), "ann", written=["c.s.stale"]),
        defined("q6", ago(50), "bob", "c.made.v", "VIEW"),
        defined("q7", ago(45), "bob", "c.`d.e`", "SCHEMA", 78),
        defined("q8", ago(364), "ann", "c.s.given", number=GIVEN),
    ]
    made = make_root(
        tmp_path_factory.mktemp("root"),
        {"query_history": [one for one, _ in rows], "access_history": [one for _, one in rows]},
    )
    # One was renamed after it was read; what was dropped is no unused table.
    known = {("c.s.renamed" if name.endswith("moved") else name): number for name, number in NAMES.items()}
    relations = [relation(name, number, made_ago=400) for name, number in known.items()]
    relations += [relation("c.s.young", 9, made_ago=3), relation("c.s.gone", 8, made_ago=400, deleted=ago(1))]
    relations += [relation("c.s.created", 77, made_ago=400), relation("c.s.given", GIVEN, made_ago=400)]
    columns = [
        column(name, NAMES[of], of) for of in ("c.s.fresh", "c.s.stale", "c.s.never") for name in ("A", "z")
    ]
    add_catalog(made, [*relations, *columns])
    never = {"table_id": NAMES["c.s.never"], "table_schema": "s", "table_name": "never", "bytes": 7}
    add_storage(made, [{**never, "last_altered": ago(365)}, {**never, "table_name": "elsewhere", "bytes": 8}])
    add_governance(made, [
        *role(1, "STAFF", ("USER", "bob")), *role(2, "READERS", ("ROLE", "STAFF"), ("USER", "carol")),
        *role(3, "NOBODY"),
        grant(1, 290, "SELECT", "c.s.stale", "ROLE", "READERS"),
        grant(2, 290, "SELECT", "c.s.fresh", "ROLE", "READERS"),
        grant(3, 290, "INSERT", "c.s.stale", "USER", "ann"),
        grant(4, 40, "DELETE", "c.s.stale", "USER", "bob"),
        grant(5, 290, "SELECT", "c.s.moved", "USER", "ann"),
        grant(6, 2, "SELECT", "c.s.never", "ROLE", "NOBODY"),
        grant(7, 290, "USAGE", "c.s", "ROLE", "PUBLIC", "SCHEMA"),
        grant(8, 290, "USAGE", "c.other", "ROLE", "PUBLIC", "SCHEMA"),
        grant(10, 290, "USAGE", "c.quoted", "ROLE", "PUBLIC", "SCHEMA"),
        owner(9, "c.s.fresh", "zoe"), owner(11, "given", "ACCOUNTADMIN", "ROLE"),
        # A use of before it was granted is none: of 200 days ago, and of 5.
        grant(12, 1, "SELECT", "c.quoted.`a.b`", "USER", "ann"),
        grant(13, 20, "SELECT", "c.s.fresh", "USER", "bob"),
        grant(14, 290, "CREATE VIEW", "c.made", "USER", "bob", "SCHEMA"),
        grant(15, 290, "MODIFY", "c.`d.e`", "USER", "bob", "SCHEMA"),
    ])  # fmt: skip
    return made


def ask(root, text):
    """The rows."""
    with opened(root) as tables:
        return tables.ask(text, {}).rows


def test_unused_tables(root):
    """From 30 days on, or never: since the history began, or since it was made."""
    found = ask(
        root, "SELECT object_name, days_unread, last_read IS NULL, bytes, last_altered FROM"
        " account_usage.unused_tables ORDER BY days_unread DESC, object_name",
    )  # fmt: skip
    assert found == [
        ("c.s.created", 365, True, None, None),
        ("c.s.given", 365, True, None, None),
        ("c.s.never", 365, True, 7, ago(365)),
        ("c.s.renamed", 200, False, None, None),
        ("c.quoted.`a.b`", 100, False, None, None),
        ("c.s.stale", 30, False, None, None),
        ("c.s.young", 3, True, None, None),
    ]


def test_unused_columns(root):
    """From 30 days on, or never, whatever their case; the reads of the table are told."""
    found = ask(
        root, "SELECT object_name, column_name, days_unread, last_read, table_last_read FROM"
        " account_usage.unused_columns ORDER BY object_name, column_name",
    )  # fmt: skip
    assert found == [
        ("c.s.fresh", "z", 365, None, ago(29)),
        ("c.s.never", "A", 365, None, None),
        ("c.s.never", "z", 365, None, None),
        ("c.s.stale", "A", 30, ago(30), ago(30)),
        ("c.s.stale", "z", 365, None, ago(30)),
    ]


def test_dormant_privileges(root):
    """By name and through roles of roles: from 30 days on, or never; a write uses no SELECT, a DDL others."""
    found = ask(
        root, "SELECT grantee_name, privilege, object_name, users, days_unused, last_used IS NULL"
        " FROM account_usage.dormant_privileges ORDER BY days_unused, object_name",
    )  # fmt: skip
    assert found == [
        ("ann", "SELECT", "c.quoted.`a.b`", 1, 1, True),
        ("NOBODY", "SELECT", "c.s.never", 0, 2, True),
        ("bob", "SELECT", "c.s.fresh", 1, 20, True),
        ("READERS", "SELECT", "c.s.stale", 2, 30, False),
        ("bob", "DELETE", "c.s.stale", 1, 40, True),
        ("bob", "MODIFY", "c.`d.e`", 1, 45, False),
        ("bob", "CREATE VIEW", "c.made", 1, 50, False),
        ("PUBLIC", "USAGE", "c.quoted", 4, 100, False),
        ("ann", "SELECT", "c.s.moved", 1, 200, False),
        ("PUBLIC", "USAGE", "c.other", 4, 290, True),
    ]


def test_objects_without_owner(root):
    """One is owned, of one the creation is on record; one was created, and given to the administrators."""
    found = ask(
        root, "SELECT object_name, owner_in_catalog FROM account_usage.objects_without_owner ORDER BY 1"
    )
    assert found == [
        ("c.quoted.`a.b`", "ann"),
        *((f"c.s.{name}", "ann") for name in ("given", "never", "renamed", "stale", "young")),
    ]


def test_without_a_history(tmp_path):
    """Nothing on record yet: what is there is unread, and nobody knows for how long."""
    made = make_root(tmp_path, {})
    relation = ("c.s.t", "s", "Table", 1, *[None] * 6, ago(2), None, None, None)
    add_catalog(made, [("RELATION", relation, *[None] * 3, NOW)])
    add_storage(made, [])
    query = "SELECT object_name, days_unread FROM account_usage.unused_tables"
    assert ask(made, query) == [("c.s.t", 2)]
