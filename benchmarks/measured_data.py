"""What a session measures beside the year of `benchmarks.year_data`: catalog, storage, governance, backups.

In: the root of the year. Out: the tables below the views of what is measured, about the tables that the year
reads. People hold roles, roles hold privileges, columns have tags and masks, a schema in ten is backed up
daily.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from audit.core.clock import to_micros
from audit.policies.history.columns import COLUMNS as OF_GOVERNANCE
from audit.policies.history.rows import governance_rows
from audit.policies.model.events import COLUMNS as OF_EVENTS
from audit.policies.model.events import NAME as EVENTS
from audit.policies.model.events import GovernanceEvent, row_of
from audit.query import tables
from audit.store.measured.catalog_columns import COLUMNS as OF_CATALOG
from audit.store.measured.names import BACKUPS, CATALOG, GOVERNANCE
from audit.time_travel.backups.history import COLUMNS as OF_BACKUPS
from audit.time_travel.retention.storage_names import SCHEMATA, TABLES
from audit.time_travel.retention.storage_views import COLUMNS as OF_STORAGE
from benchmarks import year_data
from benchmarks.workload import COLUMNS, USERS
from lineage.catalog.object_ids import column_id
from lineage.model import Domain
from lineage.names import split_name
from lineage.types import struct_fields

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

ROLES = 60
_ROLES_OF_A_USER = 3
_PRIVILEGES_OF_A_ROLE = 50
_TAGGED = 200
_MASKS = 20
_FUNCTIONS = 100
_BACKED_UP = 10
_MIB = 1 << 20
_CHANGED = year_data.FIRST_DAY - timedelta(days=30)
_POLICIES = (
    (Domain.MASKING_POLICY, "mask", "'***'", "STRING"),
    (Domain.ROW_ACCESS_POLICY, "rows", "v = current_user()", "BOOLEAN"),
)
Columns = Iterable[tuple[str, str, str]]


def measured(spark: SparkSession, root: Path, days: int) -> dict[str, int]:
    """Write the tables, and count their rows; those of before are written over."""
    end = year_data.FIRST_DAY + timedelta(days=days)
    objects = _objects(root)
    events = list(_events(objects))
    written = {
        CATALOG: (OF_CATALOG, list(_catalog(objects, end))),
        TABLES: (OF_STORAGE[TABLES], [_named(OF_STORAGE[TABLES], one) for one in _storage(objects, end)]),
        SCHEMATA: (
            OF_STORAGE[SCHEMATA],
            [_named(OF_STORAGE[SCHEMATA], one) for one in _schemas(objects, end)],
        ),
        EVENTS: (OF_EVENTS, [row_of(number, event) for number, event in enumerate(events)]),
        GOVERNANCE: (OF_GOVERNANCE, governance_rows(events)),
        BACKUPS: (OF_BACKUPS, list(_backups(objects, days))),
    }
    for name, (columns, rows) in written.items():
        schema = ", ".join(f"{column} {kind}" for column, kind, _ in columns)
        frame = spark.createDataFrame(rows, schema)
        frame.coalesce(1).write.format("delta").mode("overwrite").save(str(root / name))
    return {name: len(rows) for name, (_, rows) in written.items()}


def _objects(root: Path) -> list[tuple[str, str, int]]:
    """Domain, name and id of all that the year reads."""
    text = (
        "SELECT object_domain, max(object_name), object_id FROM account_usage.top_readers"
        " GROUP BY object_domain, object_id ORDER BY 2"
    )
    with tables.opened(str(root)) as found:
        return [(domain, name, identity) for domain, name, identity in found.ask(text, {}).rows]


def _named(columns: Columns, values: Mapping[str, Any]) -> tuple[Any, ...]:
    """A row of columns; what has no value is NULL."""
    return tuple(values.get(name) for name, _, _ in columns)


def _of_kind(columns: Columns, kind: str, values: Mapping[str, Any], **common: Any) -> tuple[Any, ...]:
    """A row with the struct of its kind."""
    (inside,) = (struct_fields(type_) for name, type_, _ in columns if name == kind)
    named = {"backup_set": "SET"}.get(kind, kind.upper())
    return _named(columns, {**common, "kind": named, kind: tuple(values.get(field) for field, _ in inside)})


def _place(name: str) -> dict[str, str]:
    catalog, schema, table = split_name(name)
    return {"table_catalog": catalog, "table_schema": schema, "table_name": table}


def _catalog(objects: list[tuple[str, str, int]], end: datetime) -> Iterator[tuple[Any, ...]]:
    for domain, name, identity in objects:
        catalog, schema, table = split_name(name)
        relation = {
            "object_name": name, "schema_name": schema, "object_domain": domain, "object_id": identity,
            "catalog_name": catalog, "table_name": table, "table_type": "EXTERNAL", "provider": "delta",
            "owner": "user_1", "created": _CHANGED,
        }  # fmt: skip
        yield _of_kind(OF_CATALOG, "relation", relation, measured_at=end)
        for number in range(COLUMNS):
            called = f"column_{number}"
            column = {
                **_place(name), "column_id": column_id(identity, called), "column_name": called,
                "table_id": identity, "ordinal_position": number + 1, "is_nullable": "YES",
                "data_type": "string",
            }  # fmt: skip
            yield _of_kind(OF_CATALOG, "attribute", column, measured_at=end)
    for number in range(_FUNCTIONS):
        routine = {
            "function_id": number, "function_name": f"f_{number}", "function_schema": "g",
            "function_catalog": "spark_catalog", "argument_signature": "(x INT)", "data_type": "INT",
            "function_language": "SQL", "created": _CHANGED,
        }  # fmt: skip
        yield _of_kind(OF_CATALOG, "routine", routine, measured_at=end)
    views = [one for one in objects if one[0] == "VIEW"]
    of_tables = [one for one in objects if one[0] == "Table"]
    for (_, view, view_id), (_, table, table_id) in zip(views, of_tables, strict=False):
        (catalog, schema, name), of = split_name(view), split_name(table)
        dependency = {
            "referenced_database": of[0], "referenced_schema": of[1], "referenced_object_name": of[2],
            "referenced_object_id": table_id, "referenced_object_domain": "TABLE",
            "referencing_database": catalog, "referencing_schema": schema, "referencing_object_name": name,
            "referencing_object_id": view_id, "referencing_object_domain": "VIEW",
            "dependency_type": "BY_NAME",
        }  # fmt: skip
        yield _of_kind(OF_CATALOG, "dependency", dependency, measured_at=end)


def _storage(objects: list[tuple[str, str, int]], end: datetime) -> Iterator[dict[str, Any]]:
    for number, (domain, name, identity) in enumerate(objects):
        if domain == "Table":
            sizes = ("active", "time_travel", "fail_safe", "retained_for_clone", "purgeable")
            yield {
                **_place(name), "table_id": identity, "table_type": "BASE TABLE", "table_owner": "user_1",
                "is_transient": False, "created": _CHANGED, "last_altered": end, "retention_time": 7.0,
                "fail_safe_time": 7.0, "row_count": number * 1_000, "files": number, "bytes": number * _MIB,
                "logical_bytes": number * 3 * _MIB, "is_long_term": False, "schema_dropped": False,
                **{f"{size}_bytes": number * _MIB // (place + 1) for place, size in enumerate(sizes)},
                "clone_group_id": identity, "delta_version": number, "measured_at": end,
            }  # fmt: skip


def _schemas(objects: list[tuple[str, str, int]], end: datetime) -> Iterator[dict[str, Any]]:
    for number, name in enumerate(sorted({split_name(name)[1] for _, name, _ in objects})):
        yield {
            "schema_id": number, "catalog_name": "spark_catalog", "schema_name": name, "is_transient": False,
            "retention_time": 7.0, "created": _CHANGED, "measured_at": end,
        }  # fmt: skip


def _events(objects: list[tuple[str, str, int]]) -> Iterator[GovernanceEvent]:
    """Roles, who holds them, what they may; tags and masks on columns."""
    at, by = to_micros(_CHANGED), ["ROLE", "ACCOUNTADMIN"]
    of_tables = [one for one in objects if one[0] == "Table"]
    yield GovernanceEvent(at, "CREATE_TAG", "tag", name="spark_catalog.g.pii", details={"allowed": None})
    for number in range(ROLES):
        role = f"ROLE_{number}"
        yield GovernanceEvent(at, "CREATE_ROLE", role, name=role, details={})
        for one in range(_PRIVILEGES_OF_A_ROLE):
            _, name, _ = of_tables[(number * _PRIVILEGES_OF_A_ROLE + one) % len(of_tables)]
            details = {
                "privileges": ["SELECT"], "to": "ROLE", "grantee": role, "domain": "Table", "option": False,
                "as_whom": by,
            }  # fmt: skip
            yield GovernanceEvent(
                at, "GRANT_PRIVILEGES", f"g{number}-{one}", None, f"delta:{name}", name, details=details
            )
    for number in range(USERS):
        for one in range(_ROLES_OF_A_USER):
            held = f"ROLE_{(number + one) % ROLES}"
            details = {"to": "USER", "grantee": f"user_{number}", "as_whom": by, "option": False}
            yield GovernanceEvent(at, "GRANT_ROLE", f"h{number}-{one}", name=held, details=details)
    for number in range(_MASKS):
        for domain, kind, body, returns in _POLICIES:
            details = {
                "domain": domain.value, "body": body, "parameters": [["v", "STRING"]], "returns": returns,
            }  # fmt: skip
            name = f"spark_catalog.g.{kind}_{number}"
            yield GovernanceEvent(at, "CREATE_POLICY", f"{kind}{number}", name=name, details=details)
    for number, (_, name, identity) in enumerate(of_tables[:_TAGGED]):
        column = ["column_0", "column_0", column_id(identity, "column_0"), "STRING"]
        details = {"object_domain": "Table", "object_id": identity, "column": "column_0"}
        tagged = {**details, "columns": [column], "value": "high"}
        key = f"delta:{name}"
        yield GovernanceEvent(at, "SET_TAG", f"t{number}", "tag", key, name, details=tagged)
        masked = {**details, "columns": [column[:3]]}
        yield GovernanceEvent(
            at, "SET_MASKING_POLICY", f"s{number}", f"mask{number % _MASKS}", key, name, details=masked
        )


def _backups(objects: list[tuple[str, str, int]], days: int) -> Iterator[tuple[Any, ...]]:
    """A policy, and a backup of each day of some schemas."""
    place = {"schema_name": "g", "catalog_name": "spark_catalog"}
    policy = {
        **place, "id": "p", "name": "daily", "schedule": "24 HOUR", "expire_after_days": 90,
        "has_retention_lock": True,
    }  # fmt: skip
    yield _of_kind(OF_BACKUPS, "policy", policy, created=_CHANGED, last_altered=_CHANGED)
    schemas = sorted({split_name(name)[1] for _, name, _ in objects})
    for number, schema in enumerate(schemas[::_BACKED_UP]):
        of = {
            **place, "id": f"s{number}", "name": f"of_{schema}", "object_kind": "SCHEMA",
            "object_name": schema, "object_schema": schema, "object_catalog": "spark_catalog",
            "policy_id": "p", "policy_name": "daily", "policy_schema": "g", "policy_catalog": "spark_catalog",
            "is_creation_suspended": False, "is_expiration_suspended": False,
        }  # fmt: skip
        yield _of_kind(OF_BACKUPS, "backup_set", of, created=_CHANGED, last_altered=_CHANGED)
        for day in range(days):
            made = year_data.FIRST_DAY + timedelta(days=day)
            backup = {
                "id": f"b{number}-{day}", "set_id": f"s{number}", "set_name": f"of_{schema}",
                "set_schema": "g", "set_catalog": "spark_catalog",
                "expiration_scheduled_for": made + timedelta(days=90),
                "is_under_legal_hold": False, "is_scheduled": True, "bytes": day * _MIB, "files": day,
                "tables": 20,
            }  # fmt: skip
            gone = made + timedelta(days=90) if day < days - 90 else None
            yield _of_kind(OF_BACKUPS, "backup", backup, created=made, last_altered=made, deleted=gone)
