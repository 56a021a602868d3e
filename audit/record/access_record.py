"""The record of one statement: what the caller's thread notes, what the spool keeps, what the tables hold.

In: what is known when a statement starts and when it ends, and its `Access`. Out: `Row`, a dict with
`query` (a row of query_history), `access` (rows of access_history: none for a statement that
did not succeed, one otherwise, two for a SWAP) and, where it made something of something, `edges`
(what column_lineage and table_lineage hold of it, by target).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

import lineage
from audit.core.clock import to_iso
from audit.core.guard import attempt
from audit.core.json_text import to_json
from audit.record.lineage_edges import edges
from audit.record.record_hash import record_hash
from lineage.model import Access, Analysis, Domain
from lineage.names import qualify, quote_name
from lineage.sql.commands.backups.statements import CreateBackupSet, CreateFromBackup

if TYPE_CHECKING:
    from audit.core.identity import Tagging
    from audit.core.origin import Origin

_LOG = logging.getLogger("audit")

Status = Literal["SUCCESS", "FAIL", "DENIED", "RUNNING", "INCOMPLETE"]
CapturedBy = Literal["text", "plan", "listener"]


@dataclass(frozen=True, slots=True)
class Started:
    """The facts about a statement before it runs. Times are UTC microseconds since the epoch.

    Hashes and objects of SQL text (`is_sql`) are read off it by `build_row`, and nobody waits for that
    before a statement runs.
    """

    query_id: str
    start_time: int
    user_name: str
    query_text: str
    query_type: str
    action: str
    is_sql: bool = False
    role_name: str | None = None
    database_name: str | None = None
    schema_name: str | None = None
    parent_query_id: str | None = None
    root_query_id: str | None = None
    session_id: str | None = None
    application_id: str | None = None
    query_hash: str | None = None
    query_parameterized_hash: str | None = None
    objects_tried: tuple[str, ...] = ()
    query_tag: str | None = None
    purpose: str | None = None
    client_address: str | None = None
    client_host: str | None = None
    client_program: str | None = None
    client_version: str | None = None
    os_user: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The payload of a START entry, without what nobody has said."""
        # None, False and () are the defaults: leaving them out keeps the START entry short.
        fields = ((name, getattr(self, name)) for name in _STARTED)
        return {
            name: value for name, value in fields if value is not None and value is not False and value != ()
        }

    @staticmethod
    def from_dict(payload: Mapping[str, Any]) -> Started:
        """Read a START entry back."""
        # JSON has no tuples.
        return Started(**{**payload, "objects_tried": tuple(payload.get("objects_tried") or ())})


def issued(started: Started, origin: Origin, tagging: Tagging) -> Started:
    """The same, with where it came from, what it is called and what it is for."""
    return replace(
        started,
        query_tag=tagging.query_tag,
        purpose=tagging.purpose,
        client_address=origin.client_address,
        client_host=origin.client_host,
        client_program=origin.client_program,
        client_version=origin.client_version,
        os_user=origin.os_user,
    )


_STARTED = tuple(one.name for one in fields(Started))


@dataclass(frozen=True, slots=True)
class Ended:
    """How a statement ended. `end_time` is None when the driver died before it knew."""

    status: Status
    end_time: int | None = None
    error_code: str | None = None
    error_message: str | None = None
    rows_produced: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The payload of an END entry, without what is None."""
        return {name: value for name in _ENDED if (value := getattr(self, name)) is not None}

    @staticmethod
    def from_dict(payload: Mapping[str, Any]) -> Ended:
        """Read an END entry back."""
        # The spool puts `query_id` into every payload (`audit.spool.entry`).
        return Ended(**{k: v for k, v in payload.items() if k != "query_id"})


_ENDED = tuple(one.name for one in fields(Ended))


@dataclass(frozen=True, slots=True)
class ObjectVersion:
    """The Delta version of an object that a statement read or wrote."""

    object_name: str
    access: Literal["read", "write"]
    version: int
    object_id: int | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of the worker's analysis."""

    access: Access
    captured_by: CapturedBy
    versions: tuple[ObjectVersion, ...] = ()
    rows_produced: int | None = None
    bytes_scanned: int | None = None
    bytes_written: int | None = None
    query_text: str | None = None
    query_type: str | None = None
    query_hash: str | None = None

    def doubted(self, reasons: Sequence[str]) -> Finding:
        """The same, no longer full and with more reasons; as it is where there are none."""
        if not reasons:
            return self
        analysis: Analysis = "partial" if self.access.analysis == "full" else self.access.analysis
        known = [self.access.reason] if self.access.reason else []
        reason = "; ".join(dict.fromkeys([*known, *reasons]))
        return replace(self, access=replace(self.access, analysis=analysis, reason=reason))


class Secrets(Protocol):
    """Takes secrets out of the parts of a record, see `audit.record.redaction`."""

    def reason(self, text: str, /) -> str:
        """Of `analysis_reason`."""
        ...

    def properties(self, found: Any, /) -> Any:
        """Of the properties of object_modified_by_ddl."""
        ...

    def names(self, found: Any, /) -> Any:
        """Of all names, in dicts and lists."""
        ...


def build_row(
    started: Started,
    ended: Ended,
    finding: Finding | None,
    statement: lineage.Statement | None = None,
    secrets: Secrets | None = None,
) -> dict[str, Any]:
    """The complete rows of one statement; `Redaction.row` calls it for all that goes on record.

    Args:
        started: what was known before it ran.
        ended: how it ended.
        finding: what it accessed, None where it did not succeed.
        statement: its text as parsed, where the caller has it.
        secrets: takes them out; None where `started` has lost them already and nothing was analysed.
    """
    started = _with_finding(_with_text(started, statement), finding)
    row: dict[str, Any] = {"query": _query_row(started, ended, finding), "access": []}
    if secrets is not None and "objects_tried" in row["query"]:
        row["query"]["objects_tried"] = secrets.names([*row["query"]["objects_tried"]])
    if finding and ended.status == "SUCCESS":
        # A SWAP is one statement with two records, one for each object.
        accesses = (finding.access, *finding.access.also)
        row["access"] = [_access_row(started, finding, one, secrets) for one in accesses]
        made = [target for one in accesses for target in edges(one)]
        if made:
            row["edges"] = made if secrets is None else secrets.names(made)
    return row


def _with_text(started: Started, statement: lineage.Statement | None) -> Started:
    """With what the text alone says: the objects that it names, and its hashes, unless it is redacted."""
    if not started.is_sql:
        return started

    def read() -> Started:
        read = statement or lineage.parse(started.query_text)
        return replace(
            started,
            query_hash=started.query_hash or read.query_hash,
            query_parameterized_hash=started.query_parameterized_hash or read.query_parameterized_hash,
            objects_tried=names_in(read, started.database_name or "", started.schema_name or ""),
        )

    def failed(error: Exception) -> Started:
        # Its type alone: the message may quote the text.
        kind = type(error).__name__
        _LOG.warning("neither hashes nor names could be read off the text of %s: %s", started.query_id, kind)
        return started

    return attempt(read, failed)


def names_in(statement: lineage.Statement, catalog: str, schema: str) -> tuple[str, ...]:
    """The qualified names of what a statement uses, each once, in order: tables, schemas, roles and so on.

    >>> names_in(lineage.parse("SELECT * FROM t JOIN s2.`a.b`"), "spark_catalog", "s")
    ('spark_catalog.s.t', 'spark_catalog.s2.`a.b`')
    >>> names_in(lineage.parse("CREATE SCHEMA hr"), "spark_catalog", "s")
    ('spark_catalog.hr',)
    """
    domains = {target.parts: target.domain for target in statement.targets}
    command, typed = statement.command, statement.typed
    if isinstance(typed, CreateBackupSet):
        domains[typed.of] = typed.domain
    elif isinstance(typed, CreateFromBackup):
        domains.setdefault(typed.backup_set, Domain.BACKUP_SET)
    elif command is not None and command.domain is Domain.SCHEMA:
        domains[command.source] = Domain.SCHEMA  # of CREATE SCHEMA … CLONE
    full = (_qualified(parts, domains.get(parts), (catalog, schema)) for parts in statement.references)
    # Of a session that is not audited the current catalog and schema are unknown ("").
    return tuple(dict.fromkeys(quote_name([part for part in parts if part]) for parts in full))


def _qualified(parts: tuple[str, ...], domain: Domain | None, current: tuple[str, str]) -> tuple[str, ...]:
    """A full name; a schema lies in a catalog, and a role belongs to the account."""
    if domain is Domain.ROLE:
        return parts
    if domain is Domain.SCHEMA:
        return parts if len(parts) > 1 else (current[0], *parts)
    return qualify(parts, current)


def _with_finding(started: Started, finding: Finding | None) -> Started:
    if finding is None:
        return started
    tried = started.objects_tried or objects_named(finding.access)
    return replace(
        started,
        query_text=finding.query_text or started.query_text,
        query_type=finding.query_type or started.query_type,
        query_hash=started.query_hash or finding.query_hash,
        objects_tried=tried,
    )


def objects_named(access: Access) -> tuple[str, ...]:
    """The names of all objects that an analysis found, each once, in order."""
    names = [o.name for o in access.direct_objects_accessed] + [o.name for o in access.objects_modified]
    if access.object_modified_by_ddl:
        names.append(access.object_modified_by_ddl.name)
    return tuple(dict.fromkeys(names))


def _query_row(started: Started, ended: Ended, finding: Finding | None) -> dict[str, Any]:
    row = started.to_dict()
    # No column of query_history: it tells `build_row` whether there is a text to parse.
    row.pop("is_sql", None)
    row["start_time"] = to_iso(started.start_time)
    row["execution_status"] = ended.status
    if ended.end_time is not None:
        row["end_time"] = to_iso(ended.end_time)
        row["total_elapsed_time"] = (ended.end_time - started.start_time) // 1000
    row |= {"error_code": ended.error_code, "error_message": ended.error_message}
    row["rows_produced"] = ended.rows_produced
    if finding:
        row["bytes_scanned"] = finding.bytes_scanned
        row["bytes_written"] = finding.bytes_written
        if finding.rows_produced is not None:
            row["rows_produced"] = finding.rows_produced
    return {k: v for k, v in row.items() if v is not None}


def _access_row(
    started: Started, finding: Finding, access: Access, secrets: Secrets | None
) -> dict[str, Any]:
    row: dict[str, Any] = access.to_dict()
    ddl = row.pop("object_modified_by_ddl")
    if ddl:
        # As JSON text: the keys differ by operation, so that no STRUCT fits them.
        properties = ddl.get("properties", {})
        told = properties if secrets is None else secrets.properties(properties)
        row["object_modified_by_ddl"] = {**ddl, "properties": canonical_json(told)}
    row |= {
        "query_id": started.query_id,
        "query_start_time": to_iso(started.start_time),
        "user_name": started.user_name,
        "parent_query_id": started.parent_query_id,
        "root_query_id": started.root_query_id,
        "session_id": started.session_id,
        "application_id": started.application_id,
        "captured_by": finding.captured_by,
        "analysis": access.analysis,
        "analysis_reason": access.reason
        if secrets is None or access.reason is None
        else secrets.reason(access.reason),
        "object_versions": _versions(finding.versions),
    }
    row = {k: v for k, v in row.items() if v is not None}
    row = row if secrets is None else secrets.names(row)
    row["record_hash"] = record_hash(row)
    return row


def _versions(versions: Sequence[ObjectVersion]) -> list[dict[str, Any]]:
    rows = (
        {"objectName": v.object_name, "objectId": v.object_id, "access": v.access, "version": v.version}
        for v in versions
    )
    return [{k: value for k, value in row.items() if value is not None} for row in rows]


def canonical_json(value: Any) -> str:
    """JSON text with sorted keys and no white space.

    >>> canonical_json({"b": 1, "a": [True]})
    '{"a":[true],"b":1}'
    """
    return to_json(value, sort_keys=True).decode()
