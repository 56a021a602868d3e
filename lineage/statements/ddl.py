"""CREATE, REPLACE, ALTER, RENAME and DROP: object_modified_by_ddl (and what a CTAS reads and writes).

In: a tree or a command. Out: the DDL operation with the properties that the access-history document names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sqlglot import exp

from lineage.catalog.object_ids import object_id
from lineage.catalog.protocol import schema_exists
from lineage.model import Access, Column, Domain, Json, ObjectDdl, Relation, ViewDefinition
from lineage.names import qualify, quote_name
from lineage.resolve.context import Ledger, Trace
from lineage.resolve.query import read_query
from lineage.resolve.scope import Frame, Refs, SourceSet
from lineage.sql.targets import parts_of
from lineage.sqlglot_log import spark_sql
from lineage.statements.access_builder import build_access, modified_object, view_definition

if TYPE_CHECKING:
    from lineage.sql.commands.command import Command
    from lineage.sql.statement import Statement

Node = exp.Expr


def trace_create(trace: Trace, statement: Statement, tree: exp.Create, *, existed: bool | None) -> Access:  # noqa: PLR0911
    """CREATE [OR REPLACE] TABLE | VIEW | SCHEMA | FUNCTION."""
    kind, noun = statement.statement_type, tree.args["kind"].upper()
    parts = parts_of(tree.args["this"])
    if kind == "CREATE_FUNCTION" or (statement.temporary and noun == "VIEW"):
        return _unrecorded(trace, statement, tree)
    if kind == "CREATE_SCHEMA":
        if tree.args.get("exists") and _schema_exists(trace, parts, existed=existed):
            return build_access(trace, kind)
        return build_access(trace, kind, ddl=_schema(trace, parts, "CREATE"))
    before = trace.lookup(parts)
    if tree.args.get("exists") and _exists(before, existed=existed):
        return build_access(trace, kind)
    relation = _created(trace, parts, before, _domain(tree, noun))
    operation = "REPLACE" if tree.args.get("replace") and existed is not False else "CREATE"
    if noun == "VIEW":
        query = tree.args.get("expression")
        frame, ledger = _view_frame(trace, query)
        names = _defined(tree) or _with_table_names(relation, [Column(o.name) for o in frame.columns])
        frame = _with_names(names, frame)
        return build_access(
            trace,
            kind,
            frame=frame,
            ddl=_ddl(relation, operation, _columns(names, relation)),
            defines=_definition(trace, relation, names, frame, ledger),
        )
    if tree.args.get("expression") is not None:
        return _as_select(trace, statement, tree, relation, operation)
    source = _like(tree)
    if source is not None:
        return _copied(trace, kind, relation, operation, source, "LIKE")
    return build_access(trace, kind, ddl=_ddl(relation, operation, _columns(_defined(tree), relation)))


def _domain(tree: exp.Create, noun: str) -> Domain:
    if noun != "VIEW":
        return Domain.TABLE
    properties = tree.args.get("properties")
    # Spark 4.2 has no materialized views, but `lineage.analyze` takes texts of systems that have.
    materialized = properties is not None and properties.find(exp.MaterializedProperty) is not None
    return Domain.MATERIALIZED_VIEW if materialized else Domain.VIEW


def _as_select(
    trace: Trace, statement: Statement, tree: exp.Create, relation: Relation, operation: str
) -> Access:
    frame = read_query(trace, tree.args["expression"], None, {})
    names = _defined(tree) or _with_table_names(relation, [Column(o.name) for o in frame.columns])
    names = [_known(relation, c) for c in names]
    pairs = list(zip(names, frame.columns, strict=False))
    modified = modified_object(trace, relation, pairs, frame.indirect, overwrites=True)
    return build_access(
        trace,
        statement.statement_type,
        modified=[modified],
        ddl=_ddl(relation, operation, _columns(names, relation)),
    )


def _with_table_names(relation: Relation, names: list[Column]) -> list[Column]:
    """The table's own names where it has none of ours: expressions without an alias are named by Spark.

    A name that is an identifier is that of a column or an alias: where the table has another one there, it is
    the table that is replaced.
    """
    if len(names) != len(relation.columns):
        return names
    keys = {column.name.lower() for column in relation.columns}
    pairs = zip(names, relation.columns, strict=True)
    return [name if name.name.lower() in keys or name.name.isidentifier() else made for name, made in pairs]


def _view_frame(trace: Trace, query: Node | None) -> tuple[Frame, Ledger]:
    # Defining a view reads no data: its query is walked for its columns, and what it reads set aside.
    with trace.separate_ledger() as ledger:
        if query is None:
            trace.mark_partial("CREATE VIEW without a query")
            return Frame([]), ledger
        return read_query(trace, query, None, {}), ledger


def _definition(
    trace: Trace, relation: Relation, names: list[Column], frame: Frame, ledger: Ledger
) -> ViewDefinition:
    return view_definition(trace, relation, [_known(relation, c) for c in names], frame, ledger)


def _with_names(names: list[Column], frame: Frame) -> Frame:
    if len(names) != len(frame.columns):
        return frame
    outs = [out.renamed(column.name) for column, out in zip(names, frame.columns, strict=True)]
    return Frame(outs, frame.indirect, open_=frame.open)


def _unrecorded(trace: Trace, statement: Statement, tree: exp.Create) -> Access:
    # Temporary views and functions are no objects of the record.
    query = tree.args.get("expression") if statement.statement_type == "CREATE_VIEW" else None
    return _redefined(trace, statement.statement_type, query, _defined(tree))


def _redefined(trace: Trace, kind: str, query: Node | None, names: list[Column]) -> Access:
    """A temporary view: its columns, and nothing recorded."""
    if not isinstance(query, (exp.Query, exp.Values)):
        return build_access(trace, kind)
    with trace.separate_ledger():
        frame = _with_names(names, read_query(trace, query, None, {}))
    return build_access(trace, kind, frame=frame)


def trace_drop(trace: Trace, statement: Statement, tree: exp.Drop, *, existed: bool | None) -> Access:
    """DROP TABLE | VIEW | SCHEMA: no properties are recorded."""
    kind = statement.statement_type
    if kind == "DROP_FUNCTION" or statement.temporary:
        return build_access(trace, kind)
    parts = parts_of((tree.args.get("tables") or [None])[0])
    if kind == "DROP_SCHEMA":
        if tree.args.get("exists") and _schema_exists(trace, parts, existed=existed) is False:
            return build_access(trace, kind)
        return build_access(trace, kind, ddl=_schema(trace, parts, "DROP"))
    before = trace.lookup(parts)
    # A temporary view is no object of a record.
    if before is not None and before.temporary:
        return build_access(trace, kind)
    if tree.args.get("exists") and not _exists(before, existed=existed):
        return build_access(trace, kind)
    relation = _created(trace, parts, before, Domain.VIEW if kind == "DROP_VIEW" else Domain.TABLE)
    return build_access(trace, kind, ddl=_ddl(before or relation, "DROP", {}))


def trace_alter(trace: Trace, statement: Statement, tree: exp.Alter, *, existed: bool | None) -> Access:
    """ALTER TABLE | VIEW: columns with their subOperationType, new names, properties."""
    kind = statement.statement_type
    parts = parts_of(tree.args["this"])
    before = trace.lookup(parts)
    if tree.args.get("exists") and not _exists(before, existed=existed):
        return build_access(trace, kind)
    if before is not None and before.temporary:
        (query, *_) = tree.args.get("actions") or [None]
        return _redefined(trace, kind, query, [])
    domain = Domain.VIEW if kind.endswith("VIEW") else Domain.TABLE
    relation = _created(trace, parts, before, domain)
    properties: Json = {}
    frame = defines = None
    for action in tree.args.get("actions") or ():
        if isinstance(action, (exp.Query, exp.Values)):
            frame, ledger = _view_frame(trace, action)
            names = [Column(o.name) for o in frame.columns]
            properties = {**properties, **_columns(names, relation)}
            defines = _definition(trace, relation, names, frame, ledger)
        else:
            _action(trace, action, relation, parts, properties)
    return build_access(trace, kind, frame=frame, ddl=_ddl(relation, "ALTER", properties), defines=defines)


def trace_ddl_command(
    trace: Trace, statement: Statement, command: Command, *, existed: bool | None
) -> Access:
    """DDL that a reader of our own took from the tokens."""
    kind, domain = statement.statement_type, command.domain or Domain.TABLE
    if domain is Domain.SCHEMA:
        return build_access(trace, kind, ddl=_schema(trace, command.target, "ALTER", _pairs(command)))
    before = trace.lookup(command.target)
    if command.source:
        if command.if_clause and _exists(before, existed=existed):
            return build_access(trace, kind)
        relation = _created(trace, command.target, before, domain)
        operation = "REPLACE" if command.replace and existed is not False else "CREATE"
        return _copied(trace, kind, relation, operation, command.source, "CLONE", command.version)
    if before is not None and before.temporary:
        return build_access(trace, kind)
    if command.if_clause and not _exists(before, existed=existed):
        return build_access(trace, kind)
    relation = before or _created(trace, command.target, before, domain)
    properties = _pairs(command)
    if command.columns:
        properties["columns"] = {
            _known(relation, Column(name)).name: _column(relation, name, operation)
            for name, operation in command.columns
        }
    if command.new_name:
        properties["objectName"] = {"value": _renamed(trace, relation, command.target, command.new_name)}
    return build_access(trace, kind, ddl=_ddl(relation, "ALTER", properties))


# -- columns and properties --------------------------------------------------------------------


def _action(trace: Trace, action: Node, relation: Relation, parts: tuple[str, ...], properties: Json) -> None:
    if isinstance(action, exp.AlterRename):
        new_name = _renamed(trace, relation, parts, parts_of(action.args["this"]))
        properties["objectName"] = {"value": new_name}
        return
    change = _COLUMN_CHANGES.get(type(action))
    if change is not None:
        columns = change(action, relation)
        if columns:
            properties.setdefault("columns", {}).update(columns)
    # These change no column and no name.
    elif not isinstance(action, (exp.AlterSet, exp.ClusterProperty, exp.AddPartition, exp.DropPartition)):
        trace.mark_partial(f"ALTER with {type(action).__name__}")


def _added_column(action: Node, relation: Relation) -> Json:
    return {action.name: _column(relation, action.name, "ADD")}


def _added_columns(action: Node, relation: Relation) -> Json:
    return {column.name: _column(relation, column.name, "ADD") for column in action.expressions}


def _dropped_columns(action: Node, relation: Relation) -> Json:
    # IF EXISTS drops what is there: of a known table, none but its own columns.
    own = {column.name.lower() for column in relation.columns} if action.args.get("exists") else set()
    names = [name for name in _dropped(action) if not own or name.lower() in own]
    return {_known(relation, Column(name)).name: _column(relation, name, "DROP") for name in names}


def _renamed_column(action: Node, relation: Relation) -> Json:
    name = action.args["this"].name
    change = {**_column(relation, name, "ALTER"), "objectName": {"value": action.args["to"].name}}
    return {name: change}


def _altered_column(action: Node, relation: Relation) -> Json:
    name = action.args["this"].name
    change = _column(relation, name, "ALTER")
    new = action.args.get("rename_to")
    if isinstance(new, exp.Expr) and new.name.lower() != name.lower():
        change["objectName"] = {"value": new.name}
    return {name: change}


def _replaced_columns(action: Node, relation: Relation) -> Json:
    # REPLACE COLUMNS drops all columns and adds those listed (Spark 4.2).
    gone = {column.name: _column(relation, column.name, "DROP") for column in relation.columns}
    return gone | _added_columns(action, relation)


_COLUMN_CHANGES: dict[type, Callable[[Node, Relation], Json]] = {
    exp.ColumnDef: _added_column,
    exp.Schema: _added_columns,
    exp.Drop: _dropped_columns,
    exp.RenameColumn: _renamed_column,
    exp.AlterColumn: _altered_column,
    exp.ReplaceColumns: _replaced_columns,
}


def _dropped(action: Node) -> list[str]:
    names: list[str] = []
    for item in action.args.get("tables") or ():
        names += [i.name for i in item.expressions] if isinstance(item, exp.Schema) else [item.name]
    return names


def _column(relation: Relation, name: str, operation: str) -> Json:
    column = _known(relation, Column(name))
    entry: Json = {"subOperationType": operation}
    return entry if column.column_id is None else {"objectId": {"value": column.column_id}, **entry}


def _columns(columns: list[Column], relation: Relation) -> Json:
    if not columns:
        return {}
    return {"columns": {c.name: _column(relation, c.name, "ADD") for c in columns}}


def _known(relation: Relation, column: Column) -> Column:
    key = column.name.lower()
    return next((c for c in relation.columns if c.name.lower() == key), column)


def _pairs(command: Command) -> Json:
    values = {key: value for key, value in command.properties if key != "creationMode"}
    return {"properties": {k: {"value": v} for k, v in values.items()}} if values else {}


def _defined(tree: exp.Create) -> list[Column]:
    schema = tree.args["this"]
    if not isinstance(schema, exp.Schema):
        return []
    properties = tree.args.get("properties")
    partitions = properties.find(exp.PartitionedByProperty) if properties is not None else None
    more = partitions.args["this"] if partitions is not None else None
    # PARTITIONED BY (c INT) defines c, PARTITIONED BY (c) names a column that is defined already.
    typed = [c for c in more.expressions if isinstance(c, exp.ColumnDef)] if more is not None else []
    found: list[Column] = []
    for item in (*schema.expressions, *typed):
        if isinstance(item, exp.ColumnDef):
            kind = item.args.get("kind")
            found.append(Column(item.name, spark_sql(kind) if kind is not None else ""))
        elif isinstance(item, exp.Identifier):
            found.append(Column(item.name))
    return found


def _like(tree: exp.Create) -> tuple[str, ...] | None:
    properties = tree.args.get("properties")
    like = properties.find(exp.LikeProperty) if properties is not None else None
    return None if like is None else parts_of(like.args["this"])


def _copied(
    trace: Trace,
    kind: str,
    relation: Relation,
    operation: str,
    source: tuple[str, ...],
    mode: str,
    version: int | str | None = None,
) -> Access:
    """LIKE and CLONE record their creation source; a CLONE reads it (document: Read query notes)."""
    entry = trace.entry(source, version)
    origin = entry.relation
    # The names of the source, the ids that these columns have in the new object.
    properties = _columns(list(origin.columns), relation)
    made_from = {"objectName": origin.name, "objectDomain": origin.domain.value, "objectId": origin.object_id}
    properties["creationMode"] = {"value": mode}
    properties["creationSource"] = {k: v for k, v in made_from.items() if v is not None}
    modified = []
    if mode == "CLONE":
        trace.ledger.direct_entries.setdefault(entry)
        trace.ledger.base_entries.setdefault(entry)
        sinks = {column: {entry.ref(column): None} for column in origin.columns}
        trace.ledger.direct.update({ref: None for refs in sinks.values() for ref in refs})
        trace.ledger.base.update({ref: None for refs in sinks.values() for ref in refs})
        pairs = [(_known(relation, Column(c.name)), _sink(refs)) for c, refs in sinks.items()]
        modified = [modified_object(trace, relation, pairs, overwrites=True)]
    return build_access(trace, kind, modified=modified, ddl=_ddl(relation, operation, properties))


def _sink(refs: Refs) -> SourceSet:
    sink = SourceSet()
    sink.direct = sink.base = refs
    return sink


# -- objects -------------------------------------------------------------------------------------


def _exists(before: Relation | None, *, existed: bool | None) -> bool:
    return existed if existed is not None else before is not None


def _schema_exists(trace: Trace, parts: tuple[str, ...], *, existed: bool | None) -> bool | None:
    return existed if existed is not None else schema_exists(trace.catalog, parts)


def _created(trace: Trace, parts: tuple[str, ...], before: Relation | None, domain: Domain) -> Relation:
    if before is not None and not before.temporary:
        return before
    current_schema = trace.current or trace.catalog.current
    # delta.`/path`: the first part is the format.
    if parts[1:] and "/" in parts[-1]:
        return trace.catalog.path(parts[0], parts[1])
    return Relation(quote_name(qualify(parts, current_schema)), domain)


def _renamed(trace: Trace, relation: Relation, old: tuple[str, ...], new: tuple[str, ...]) -> str:
    # ALTER TABLE s.t RENAME TO u: in the session catalog the new name stays in the old schema.
    current_schema = trace.current or trace.catalog.current
    full = qualify(old, current_schema)
    del relation
    return quote_name((*full[:-1], new[0]) if len(new) == 1 else qualify(new, current_schema))


def _schema(
    trace: Trace, parts: tuple[str, ...], operation: str, properties: Json | None = None
) -> ObjectDdl:
    current_schema = trace.current or trace.catalog.current
    full = (current_schema[0], *parts) if len(parts) == 1 else parts
    name = quote_name(full)
    identity = object_id(Domain.SCHEMA.value, name)
    return ObjectDdl(name, Domain.SCHEMA, operation, identity, properties or {})  # type: ignore[arg-type]


def _ddl(relation: Relation, operation: str, properties: Json) -> ObjectDdl:
    return ObjectDdl(relation.name, relation.domain, operation, relation.object_id, properties)  # type: ignore[arg-type]
