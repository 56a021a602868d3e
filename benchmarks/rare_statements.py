"""The statements that are few in a warehouse: definitions, policies, grants, exports, denials.

In: a seed. Out: templates as of `benchmarks.workload`, each a statement of its kind as the audit records it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace

from audit.record.access_record import Status
from benchmarks.workload import COLUMNS, TABLES, USERS, Template, table_read
from lineage.catalog.object_ids import column_id, object_id
from lineage.model import (
    Access,
    AccessedObject,
    ColumnRef,
    Domain,
    Json,
    ModifiedColumn,
    ModifiedObject,
    ObjectDdl,
)

_EXPORT_FOLDERS = 50
_MASKS = 20


def rare_templates(count: int, seed: int = 11) -> Iterator[Template]:
    """Different statements, each kind as often as any other, always the same ones for a seed."""
    chance = random.Random(seed)  # noqa: S311 - data, no secret
    for number in range(count):
        yield _KINDS[number % len(_KINDS)](chance)


def _any_table(chance: random.Random) -> AccessedObject:
    return table_read(chance.randrange(TABLES), chance)


def _copied(source: AccessedObject, target: int | None) -> tuple[ModifiedColumn, ...]:
    """The columns of a target, each made of one of the source."""
    refs = (
        ColumnRef(source.name, one.name, source.domain, source.object_id, one.column_id)
        for one in source.columns
    )
    return tuple(
        ModifiedColumn(ref.column_name, target and column_id(target, ref.column_name), (ref,), (ref,))
        for ref in refs
    )


def _created(chance: random.Random) -> Template:
    """A table made of another one."""
    source, number = _any_table(chance), chance.randrange(TABLES)
    name = f"spark_catalog.scratch.made_{number}"
    made = object_id("TABLE", name)
    columns = _copied(source, made)
    properties = {
        "columns": {one.name: {"subOperationType": "ADD", "dataType": {"value": "string"}} for one in columns}
    }
    access = Access(
        "CREATE_TABLE_AS_SELECT",
        (source,),
        (source,),
        (ModifiedObject(name, Domain.TABLE, made, columns),),
        ObjectDdl(name, Domain.TABLE, "CREATE", made, properties),
    )
    text = f"CREATE TABLE {name} AS SELECT * FROM {source.name}"  # noqa: S608 - a text, and nobody runs it
    return Template(text, access, ())


def _altered(chance: random.Random) -> Template:
    table, column = _any_table(chance), f"added_{chance.randrange(COLUMNS)}"
    properties = {"columns": {column: {"subOperationType": "ADD", "dataType": {"value": "int"}}}}
    return _ddl("ALTER_TABLE", f"ALTER TABLE {table.name} ADD COLUMN {column} INT", table, properties)


def _dropped(chance: random.Random) -> Template:
    name = f"spark_catalog.scratch.made_{chance.randrange(TABLES)}"
    ddl = ObjectDdl(name, Domain.TABLE, "DROP", object_id("TABLE", name))
    return Template(f"DROP TABLE {name}", Access("DROP_TABLE", object_modified_by_ddl=ddl), ())


def _policy_changed(chance: random.Random) -> Template:
    name = f"spark_catalog.g.mask_{chance.randrange(_MASKS)}"
    body = f"'{'*' * chance.randrange(1, 9)}'"
    ddl = ObjectDdl(
        name, Domain.MASKING_POLICY, "ALTER", object_id("MASKING POLICY", name), {"body": {"value": body}}
    )
    access = Access("ALTER_MASKING_POLICY", object_modified_by_ddl=ddl)
    return Template(f"ALTER MASKING POLICY {name} SET BODY -> {body}", access, ())


def _granted(chance: random.Random) -> Template:
    table, role = _any_table(chance), f"ROLE_{chance.randrange(_MASKS)}"
    word, joined = chance.choice((("GRANT", "TO"), ("REVOKE", "FROM")))
    properties = {"grantee": {"value": role}, "privileges": {"value": "SELECT"}, "to": {"value": "ROLE"}}
    return _ddl(word, f"{word} SELECT ON TABLE {table.name} {joined} ROLE {role}", table, properties)


def _tagged(chance: random.Random) -> Template:
    table = _any_table(chance)
    column, value = table.columns[0], chance.choice(("low", "high"))
    said = {"objectId": {"value": 5}, "subOperationType": "ADD", "tagValue": {"value": value}}
    on_column = {"objectId": {"value": column.column_id}, "tags": {"spark_catalog.g.pii": said}}
    text = f"ALTER TABLE {table.name} ALTER COLUMN {column.name} SET TAG g.pii = '{value}'"
    return _ddl("ALTER_TABLE", text, table, {"columns": {column.name: on_column}})


def _ddl(kind: str, text: str, table: AccessedObject, properties: Json) -> Template:
    """A change of a table's definition, or of what is on it."""
    ddl = ObjectDdl(table.name, Domain.TABLE, "ALTER", table.object_id, properties)
    return Template(text, Access(kind, object_modified_by_ddl=ddl), ())


def _exported(chance: random.Random) -> Template:
    """Columns of a table written to files."""
    table = _any_table(chance)
    folder = f"s3://exports/folder_{chance.randrange(_EXPORT_FOLDERS)}"
    columns = _copied(table, None)
    stage = ModifiedObject(
        folder, Domain.STAGE, object_id("STAGE", folder), columns, folder, "External Named"
    )
    access = Access("UNLOAD", (table,), (table,), (stage,))
    return Template(f"COPY INTO '{folder}' FROM {table.name}", access, ())


def _masked(chance: random.Random) -> Template:
    """A read through a mask."""
    table, mask = _any_table(chance), f"spark_catalog.g.mask_{chance.randrange(_MASKS)}"
    policy = {
        "policyName": mask, "policyId": object_id("MASKING POLICY", mask), "policyKind": "MASKING_POLICY",
        "policyVersion": "1", "changedResult": True,
    }  # fmt: skip
    column = table.columns[0]
    referenced = {
        "objectDomain": table.domain.value, "objectId": table.object_id, "objectName": table.name,
        "columns": [{"columnId": column.column_id, "columnName": column.name, "policies": [policy]}],
    }  # fmt: skip
    access = Access("SELECT", (table,), (table,), policies_referenced=(referenced,))
    text = f"SELECT {column.name} FROM {table.name}"  # noqa: S608 - a text, and nobody runs it
    return Template(text, access, ())


def _refused(chance: random.Random) -> Template:
    table = _any_table(chance)
    status: Status = chance.choice(("DENIED", "FAIL"))
    text = f"SELECT * FROM {table.name}"  # noqa: S608 - a text, and nobody runs it
    return Template(text, Access("SELECT", (table,)), (), status)


def _of_an_administrator(chance: random.Random) -> Template:
    return replace(_masked(chance), role_name="ACCOUNTADMIN")


def _of_the_logging(chance: random.Random) -> Template:
    kind = chance.choice(("AUDIT_ATTACH", "AUDIT_DETACH", "AUDIT_INGEST"))
    return Template(f'{{"driver":{chance.randrange(USERS)}}}', Access(kind), (), is_event=True)


_KINDS: tuple[Callable[[random.Random], Template], ...] = (
    _created, _altered, _dropped, _policy_changed, _granted, _tagged, _exported, _masked, _refused,
    _of_an_administrator, _of_the_logging,
)  # fmt: skip
