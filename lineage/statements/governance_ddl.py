"""object_modified_by_ddl of policies, tags, UNDROP, SWAP, and of schemas that are cloned or renamed.

In: a command of lineage.sql.commands. Out: an `Access`; two for a SWAP, the second as `also` of the first.
Shapes are those of the access-history document: atomic properties `{"value": …}`, compound ones by name
with their subOperationType.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from lineage.catalog.object_ids import object_id
from lineage.catalog.protocol import schema_exists
from lineage.model import Access, AccessedObject, Column, Domain, Json, ModifiedObject, ObjectDdl, Relation
from lineage.names import qualify, quote_name
from lineage.resolve.context import Trace
from lineage.sql.commands.command import Change, Command
from lineage.sql.commands.governance.grant import GRANTS
from lineage.sql.statement import Statement
from lineage.statements.access_builder import build_access

Operation = Literal["ALTER", "CREATE", "DROP", "REPLACE", "UNDROP"]
_NAMED = frozenset(
    {
        Domain.MASKING_POLICY,
        Domain.ROW_ACCESS_POLICY,
        Domain.TAG,
        Domain.ROLE,
        # Of these two only GRANT and REVOKE come here: see `backup_ddl`.
        Domain.BACKUP_POLICY,
        Domain.BACKUP_SET,
    }
)
_GROUPS = {
    Domain.MASKING_POLICY: "maskingPolicies",
    Domain.ROW_ACCESS_POLICY: "rowAccessPolicies",
    Domain.TAG: "tags",
    None: "allowedValues",
}


def is_governance(command: Command) -> bool:
    """Whether a DDL command is one of this file's."""
    schema = command.domain is Domain.SCHEMA and bool(command.source or command.new_name)
    verb = command.kind.partition("_")[0]
    own = command.kind in GRANTS or verb in ("SWAP", "UNDROP")
    return command.domain in _NAMED or bool(command.changes) or own or schema


def trace_governance(trace: Trace, statement: Statement, command: Command, *, existed: bool | None) -> Access:
    """What such a command makes, changes, drops or brings back."""
    kind = statement.statement_type
    ddl = _object(trace, command)
    verb = kind.partition("_")[0]
    if verb == "UNDROP":
        return build_access(trace, kind, ddl=replace(ddl, operation_type="UNDROP"))
    if command.kind in GRANTS:
        fields = {key: {"value": value} for key, value in command.properties}
        return build_access(trace, kind, ddl=replace(ddl, properties=fields))
    there = existed if existed is not None else _exists(trace, command, ddl)
    # IF NOT EXISTS of what is there, IF EXISTS of what is not: nothing has been done.
    if command.if_clause and there == (verb == "CREATE"):
        return build_access(trace, kind)
    if command.swap:
        return _swapped(trace, kind, command)
    if command.source:
        return _cloned_schema(trace, kind, command, ddl)
    operations: dict[str, Operation] = {"CREATE": "REPLACE" if command.replace else "CREATE", "DROP": "DROP"}
    properties = {} if verb == "DROP" else _properties(trace, command)
    return build_access(
        trace, kind, ddl=replace(ddl, operation_type=operations.get(verb, "ALTER"), properties=properties)
    )


# -- objects -----------------------------------------------------------------------------------


def _current_schema(trace: Trace) -> tuple[str, str]:
    return trace.current or trace.catalog.current


def _object(trace: Trace, command: Command) -> ObjectDdl:
    """The object that a command is about, without its operation and properties."""
    domain = command.domain or Domain.TABLE
    if domain in _NAMED:
        # A role belongs to no schema.
        current_schema = _current_schema(trace)
        name = quote_name(
            command.target if domain is Domain.ROLE else qualify(command.target, current_schema)
        )
        if command.on:
            # A row access policy of BigQuery belongs to a table, whose name comes before its own.
            name = quote_name((*qualify(command.on, current_schema), *command.target))
        return ObjectDdl(name, domain, "ALTER", _id(trace, domain, name))
    # The account has no name: its domain stands for it.
    if domain is Domain.ACCOUNT:
        return ObjectDdl(domain.value, domain, "ALTER", object_id(domain.value, domain.value))
    function = trace.function(command.target) if domain is Domain.FUNCTION else None
    if function is not None:
        return ObjectDdl(function.name, domain, "ALTER", function.object_id)
    relation = _relation(trace, command.target, domain)
    return ObjectDdl(relation.name, relation.domain, "ALTER", relation.object_id)


def _relation(trace: Trace, parts: tuple[str, ...], domain: Domain) -> Relation:
    current_schema = _current_schema(trace)
    if domain is Domain.SCHEMA:
        name = _schema_name(parts, current_schema)
        return Relation(name, domain, object_id(domain.value, name))
    known = trace.lookup(parts)
    return known if known is not None else Relation(quote_name(qualify(parts, current_schema)), domain)


def _schema_name(parts: tuple[str, ...], current_schema: tuple[str, str]) -> str:
    return quote_name((current_schema[0], *parts) if len(parts) == 1 else parts)


def _id(trace: Trace, domain: Domain, name: str) -> int:
    known = trace.governance.governance_id(domain, name) if trace.governance is not None else None
    return object_id(domain.value, name) if known is None else known


def _exists(trace: Trace, command: Command, ddl: ObjectDdl) -> bool:
    if ddl.domain in _NAMED:
        governance = trace.governance
        return governance is not None and governance.governance_id(ddl.domain, ddl.name) is not None
    if ddl.domain is Domain.SCHEMA:
        known = schema_exists(trace.catalog, command.target)
        # Where nobody can tell, the statement is taken to have done something.
        return known if known is not None else command.kind.partition("_")[0] != "CREATE"
    return trace.lookup(command.target) is not None


def _swapped(trace: Trace, kind: str, command: Command) -> Access:
    """Two records of one statement, one for each object, each naming the other."""
    domain = command.domain or Domain.TABLE
    one, two = (_relation(trace, parts, domain) for parts in (command.target, command.source))
    first, second = (
        build_access(trace, kind, ddl=ObjectDdl(a.name, a.domain, "ALTER", a.object_id, _other(b)))
        for a, b in ((one, two), (two, one))
    )
    return replace(first, also=(second,))


def _other(relation: Relation) -> Json:
    fields = {
        "objectName": relation.name, "objectId": relation.object_id, "objectDomain": relation.domain.value,
    }  # fmt: skip
    return {key: {"value": value} for key, value in fields.items() if value is not None}


def _cloned_schema(trace: Trace, kind: str, command: Command, ddl: ObjectDdl) -> Access:
    # Which tables a schema holds no catalog is asked: the schemas themselves stand for them.
    if command.version is not None:
        trace.mark_partial("CLONE of a version")
    source = _schema_name(command.source, _current_schema(trace))
    identity = object_id(Domain.SCHEMA.value, source)
    made_from = {"objectName": source, "objectDomain": Domain.SCHEMA.value, "objectId": identity}
    operation: Operation = "REPLACE" if command.replace else "CREATE"
    properties = {"creationMode": {"value": "CLONE"}, "creationSource": made_from}
    access = build_access(
        trace,
        kind,
        modified=[ModifiedObject(ddl.name, ddl.domain, ddl.object_id)],
        ddl=replace(ddl, operation_type=operation, properties=properties),
    )
    read = (AccessedObject(source, Domain.SCHEMA, identity),)
    return replace(access, direct_objects_accessed=read, base_objects_accessed=read)


# -- properties --------------------------------------------------------------------------------


def _properties(trace: Trace, command: Command) -> Json:
    found: Json = {key: {"value": value} for key, value in command.properties}
    policy = command.policy
    if policy is not None:
        fields = {
            "argumentSignature": policy.argument_signature, "dataType": policy.data_type, "body": policy.body,
        }  # fmt: skip
        found = {**{key: {"value": value} for key, value in fields.items()}, **found}
    if command.grantees:
        found["grantees"] = {grantee: {"subOperationType": "ADD"} for grantee in command.grantees}
    if command.new_name:
        found["objectName"] = {"value": _new_name(trace, command)}
    relation = (
        None if command.domain in _NAMED else _relation(trace, command.target, command.domain or Domain.TABLE)
    )
    _add(trace, found, command.changes, relation)
    return found


def with_policies(trace: Trace, access: Access, changes: Sequence[Change]) -> Access:
    """What a CREATE defines, with the policies and tags that it sets at once."""
    ddl = access.object_modified_by_ddl
    if ddl is None:
        return access
    properties = dict(ddl.properties)
    _add(trace, properties, changes, None)
    return replace(access, object_modified_by_ddl=replace(ddl, properties=properties))


def _add(trace: Trace, found: Json, changes: Sequence[Change], relation: Relation | None) -> None:
    for change in changes:
        at = found if change.column is None else _column(found, relation, change.column)
        at.setdefault(_GROUPS[change.domain], {}).update(_changed(trace, change, relation))


def _new_name(trace: Trace, command: Command) -> str:
    current_schema = _current_schema(trace)
    if command.domain is Domain.SCHEMA:
        return _schema_name(command.new_name, current_schema)
    old = qualify(command.target, current_schema)
    new = command.new_name
    return quote_name((*old[:-1], new[0]) if len(new) == 1 else qualify(new, current_schema))


def _column(found: Json, relation: Relation | None, name: str) -> Json:
    columns: Json = found.setdefault("columns", {})
    known = next(
        (c for c in (relation.columns if relation else ()) if c.name.lower() == name.lower()), Column(name)
    )
    identity = {} if known.column_id is None else {"objectId": {"value": known.column_id}}
    entry: Json = columns.setdefault(known.name, {**identity, "subOperationType": "ALTER"})
    return entry


def _changed(trace: Trace, change: Change, relation: Relation | None) -> Json:
    if change.domain is None:
        # "… except for allowed tag values which do not have an identifier"
        return {} if change.value is None else {change.value: {"subOperationType": change.operation}}
    names = [quote_name(qualify(change.name, _current_schema(trace)))] if change.name else []
    found: Json = {}
    for name in names or _in_force(trace, change, relation):
        found[name] = {
            "objectId": {"value": _id(trace, change.domain, name)},
            "subOperationType": "ALTER" if _was_set(trace, change, relation, name) else change.operation,
        }
        if change.value is not None:
            found[name]["tagValue"] = {"value": change.value}
    return found


def _was_set(trace: Trace, change: Change, relation: Relation | None, tag: str) -> bool:
    """Whether a tag that is set has a value already, so that it is changed."""
    if change.domain is not Domain.TAG or change.operation != "ADD" or relation is None:
        return False
    return trace.governance is not None and trace.governance.tagged(relation, change.column, tag)


def _in_force(trace: Trace, change: Change, relation: Relation | None) -> list[str]:
    """The policies that a clause without a name takes off."""
    if trace.governance is None or relation is None:
        return []
    column = (change.column or "").lower()
    return [
        attached.policy.name
        for attached in trace.governance.policies(relation)
        if attached.policy.domain is change.domain and (not column or attached.columns[0].lower() == column)
    ]


__all__ = ["is_governance", "trace_governance", "with_policies"]
